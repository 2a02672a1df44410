"""How much a document and its variables may ask, checked before anything is validated or looked up."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from graphql import (
    DocumentNode,
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    GraphQLError,
    InlineFragmentNode,
    Node,
    OperationDefinitionNode,
    SelectionNode,
    SelectionSetNode,
    Visitor,
    visit,
)

#: Of a document: GraphiQL asks for the whole graph with 180. Parsing so many takes 30 ms.
MOST_TOKENS: Final = 5_000
#: Fields above a leaf: down from an environment to the steps of a trial, through four connections, it is 14.
MOST_DEPTH: Final = 16
#: Of a document, fragments spread out: each asks for something once more, and some for a statement of their own.
MOST_ALIASES: Final = 50
#: Of a document: @skip and @include have their uses by the dozen, and a plan for each combination of their variables.
MOST_DIRECTIVES: Final = 50
#: Of a document: each may lead to the next, one level of recursion deeper.
MOST_FRAGMENTS: Final = 100
#: Side by side in one selection: validation compares each with each, which takes a second for 1,200.
MOST_SELECTIONS: Final = 300
#: Characters of a name: an error repeats it.
MOST_NAME: Final = 200
#: Lists and objects within each other, in variables and literals: a filter has 2 levels, a manifest 4.
MOST_NESTING: Final = 16
#: Objects that an operation may return (see schema/cost.py). A page of 500 runs with their trials and stages is 36,500,
#: two pages of 500 within each other 250,500. For 88,500 Strawberry's executor takes 5 s and 80 MB, the compiled 0.1 s.
MOST_NODES: Final = 100_000
#: Operations under way on one WebSocket, subscriptions above all: more than a page with many widgets has.
MOST_OPERATIONS: Final = 50
#: Bytes of a request, and of a message on a WebSocket: a manifest is the largest thing that one brings.
MOST_BYTES: Final = 2 * 1024 * 1024


def too_much(limit: str, found: int, allowed: int, message: str, node: Node | None = None) -> GraphQLError:
    """The refusal of what goes beyond a limit: in words, and in numbers for programs."""
    extensions: dict[str, Any] = {"code": "LIMIT_EXCEEDED", "limit": limit, "found": found, "allowed": allowed}
    return GraphQLError(message, node, extensions=extensions)


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
            case FieldNode(name=name, selection_set=selected, alias=alias) if name.value.startswith("__"):
                # A rule of its own keeps introspection shallow; what it costs are many of it.
                return Extent(0, self.selections(selected).aliases + (alias is not None))
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


class _Counts(Visitor):
    """What is counted wherever it stands in a document."""

    def __init__(self) -> None:
        super().__init__()
        self.directives = self.selections = self.name = self.nesting = self._open = 0

    def enter_directive(self, *_: object) -> None:
        self.directives += 1

    def enter_selection_set(self, node: SelectionSetNode, *_: object) -> None:
        self.selections = max(self.selections, len(node.selections))

    def enter_name(self, node: Any, *_: object) -> None:
        self.name = max(self.name, len(node.value))

    def enter_list_value(self, *_: object) -> None:
        self._open += 1
        self.nesting = max(self.nesting, self._open)

    def leave_list_value(self, *_: object) -> None:
        self._open -= 1

    enter_object_value, leave_object_value = enter_list_value, leave_list_value


def refusals_of_document(document: DocumentNode) -> list[GraphQLError]:
    """One error for each limit that the document goes beyond."""
    fragments = {one.name.value: one for one in document.definitions if isinstance(one, FragmentDefinitionNode)}
    counts = _Counts()
    visit(document, counts)
    refused = [*_refusals_of_counts(counts, len(fragments))]
    if len(fragments) <= MOST_FRAGMENTS:
        refused += _refusals_of_extents(document, fragments)
    return refused


def _refusals_of_counts(counts: _Counts, fragments: int) -> Iterator[GraphQLError]:
    for limit, found, allowed, words in (
        ("directives", counts.directives, MOST_DIRECTIVES, "The document has {} directives"),
        ("fragments", fragments, MOST_FRAGMENTS, "The document has {} fragments"),
        ("selections", counts.selections, MOST_SELECTIONS, "A selection has {} fields and fragments side by side"),
        ("name length", counts.name, MOST_NAME, "A name has {} characters"),
        ("nesting", counts.nesting, MOST_NESTING, "A value is nested {} levels deep"),
    ):
        if found > allowed:
            yield too_much(limit, found, allowed, f"{words.format(found)}; at most {allowed} are allowed.")


def _refusals_of_extents(
    document: DocumentNode, fragments: dict[str, FragmentDefinitionNode]
) -> Iterator[GraphQLError]:
    measure = Measure(fragments)
    operations = [one for one in document.definitions if isinstance(one, OperationDefinitionNode)]
    extents = [measure.selections(operation.selection_set) for operation in operations]
    for operation, extent in zip(operations, extents, strict=True):
        if extent.depth > MOST_DEPTH:
            message = f"The operation is {extent.depth} levels deep; at most {MOST_DEPTH} are allowed."
            yield too_much("depth", extent.depth, MOST_DEPTH, message, operation)
    aliases = sum(extent.aliases for extent in extents)
    if aliases > MOST_ALIASES:
        message = f"The document has {aliases} aliases; at most {MOST_ALIASES} are allowed."
        yield too_much("aliases", aliases, MOST_ALIASES, message)


_NESTING: Final = (dict, list)  # a tuple is checked in a third of the time that a union takes


def refusal_of_variables(variables: Mapping[str, Any]) -> GraphQLError | None:
    """The error for values nested too deeply. Counts as it goes down all of them at once, in no recursion."""
    level = [value for value in variables.values() if isinstance(value, _NESTING)]
    if not level:
        return None
    levels = 0
    while level:
        levels += 1
        inner = (one for value in level for one in (value.values() if isinstance(value, dict) else value))
        level = [one for one in inner if isinstance(one, _NESTING)]
    if levels <= MOST_NESTING:
        return None
    message = f"A variable is nested {levels} levels deep; at most {MOST_NESTING} are allowed."
    return too_much("nesting", levels, MOST_NESTING, message)
