"""Which fields an operation selects on a type, with fragments spread out and directives decided."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from graphql import (
    FieldNode,
    FragmentDefinitionNode,
    GraphQLIncludeDirective,
    GraphQLObjectType,
    GraphQLSchema,
    GraphQLSkipDirective,
    InlineFragmentNode,
    SelectionNode,
    SelectionSetNode,
    get_argument_values,
    is_abstract_type,
)
from graphql.execution.values import VariableValues


class CannotCompileError(Exception):
    """The operation asks for something that only Strawberry's executor answers."""


@dataclass(frozen=True, slots=True)
class Selections:
    """Collects fields for one operation and one set of variables."""

    schema: GraphQLSchema
    fragments: dict[str, FragmentDefinitionNode]
    variables: VariableValues

    def fields(
        self, on: GraphQLObjectType, selection_sets: Iterable[SelectionSetNode | None]
    ) -> dict[str, list[FieldNode]]:
        """The nodes of each response key, in the order of the answer. Raises CannotCompileError."""
        found: dict[str, list[FieldNode]] = {}
        for selection_set in selection_sets:
            if selection_set is not None:
                self._collect(on, selection_set.selections, found)
        return found

    def _collect(
        self, on: GraphQLObjectType, selections: Iterable[SelectionNode], found: dict[str, list[FieldNode]]
    ) -> None:
        for selection in selections:
            if not self._included(selection):
                continue
            if isinstance(selection, FieldNode):
                found.setdefault((selection.alias or selection.name).value, []).append(selection)
            elif isinstance(selection, InlineFragmentNode):
                condition = selection.type_condition
                if condition is None or self._applies(condition.name.value, on):
                    self._collect(on, selection.selection_set.selections, found)
            else:
                fragment = self.fragments[selection.name.value]  # type: ignore[attr-defined]
                if self._applies(fragment.type_condition.name.value, on):
                    self._collect(on, fragment.selection_set.selections, found)

    def _applies(self, condition: str, on: GraphQLObjectType) -> bool:
        named: Any = self.schema.get_type(condition)
        return named is on or (is_abstract_type(named) and self.schema.is_sub_type(named, on))

    def _included(self, selection: SelectionNode) -> bool:
        for directive in selection.directives or ():
            definition = {"skip": GraphQLSkipDirective, "include": GraphQLIncludeDirective}.get(directive.name.value)
            if definition is None:
                raise CannotCompileError(f"directive {directive.name.value}")
            condition = get_argument_values(definition, directive, self.variables)["if"]
            if condition is (definition is GraphQLSkipDirective):
                return False
        return True
