"""How deep and how wide a document may ask, checked before anything is looked up."""

from dataclasses import dataclass, field
from typing import Final

from graphql import (
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    GraphQLError,
    InlineFragmentNode,
    OperationDefinitionNode,
    SelectionNode,
    SelectionSetNode,
    ValidationContext,
    ValidationRule,
)

MOST_DEPTH: Final = 16
MOST_ALIASES: Final = 50
MOST_TOKENS: Final = 5_000


@dataclass(frozen=True, slots=True)
class Extent:
    """Of a selection with its fragments spread out: fields above the deepest one, and aliases."""

    depth: int = 0
    aliases: int = 0


@dataclass(slots=True)
class Measure:
    """Measures each fragment once, however often it is spread: ten fragments can stand for millions of fields."""

    fragments: dict[str, FragmentDefinitionNode]
    known: dict[str, Extent] = field(default_factory=dict)

    def selections(self, selected: SelectionSetNode | None) -> Extent:
        extents = [self._selection(selection) for selection in (selected.selections if selected else ())]
        return Extent(max((one.depth for one in extents), default=0), sum(one.aliases for one in extents))

    def _selection(self, selection: SelectionNode) -> Extent:
        match selection:
            case FieldNode(name=name) if name.value.startswith("__"):
                return Extent()  # introspection, which a rule of its own keeps shallow
            case FieldNode(selection_set=selected, alias=alias):
                below = self.selections(selected)
                return Extent(below.depth + (selected is not None), below.aliases + (alias is not None))
            case InlineFragmentNode(selection_set=selected):
                return self.selections(selected)
            case FragmentSpreadNode(name=name):
                return self._fragment(name.value)
        raise TypeError(f"a selection of kind {selection.kind}")

    def _fragment(self, name: str) -> Extent:
        if name not in self.known:
            # Other rules refuse cycles and unknown fragments; here they add nothing.
            self.known[name] = Extent()
            fragment = self.fragments.get(name)
            self.known[name] = self.selections(fragment.selection_set if fragment else None)
        return self.known[name]


class LimitsRule(ValidationRule):
    """Refuses a document with an operation that is too deep, or with too many aliases."""

    def __init__(self, context: ValidationContext) -> None:
        super().__init__(context)
        definitions = context.document.definitions
        fragments = [one for one in definitions if isinstance(one, FragmentDefinitionNode)]
        measure = Measure({fragment.name.value: fragment for fragment in fragments})
        operations = [one for one in definitions if isinstance(one, OperationDefinitionNode)]
        extents = [measure.selections(operation.selection_set) for operation in operations]
        for operation, extent in zip(operations, extents, strict=True):
            if extent.depth > MOST_DEPTH:
                message = f"The operation is {extent.depth} levels deep; at most {MOST_DEPTH} are allowed."
                context.report_error(GraphQLError(message, operation))
        aliases = sum(extent.aliases for extent in extents)
        if aliases > MOST_ALIASES:
            message = f"The document has {aliases} aliases; at most {MOST_ALIASES} are allowed."
            context.report_error(GraphQLError(message))
