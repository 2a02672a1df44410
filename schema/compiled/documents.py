"""Documents that were asked before: parsed, validated and planned once, within bounds, and without any data."""

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import strawberry
from graphql import (
    DirectiveNode,
    DocumentNode,
    FragmentDefinitionNode,
    GraphQLError,
    OperationDefinitionNode,
    OperationType,
    Visitor,
    get_variable_values,
    parse,
    specified_rules,
    visit,
)
from graphql.execution.values import VariableValues
from strawberry.schema.schema import validate_document

from schema.bounded import Bounded
from schema.compiled.execution import variables_in
from schema.compiled.plan import Plan, Planner
from schema.compiled.selections import CannotCompileError, Selections
from schema.cost import Cost, cost_of
from schema.limits import MOST_TOKENS, refusal_of_variables, refusals_of_document

#: Of documents' text in all; a parsed and planned document takes up to five hundred times its text, so 120 MB.
MOST_CHARACTERS: Final = 250_000
#: Of one operation: each combination of values of the variables that decide what is asked has a plan of its own.
MOST_PLANS: Final = 16


class _Deciding(Visitor):
    """Finds the variables of directives: they decide which fields are asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()

    def enter_directive(self, node: DirectiveNode, *_: object) -> None:
        self.names |= variables_in(node.arguments)


@dataclass(slots=True)
class Operation:
    """A query of a document, with its plans by the values of its deciding variables."""

    schema: strawberry.Schema
    node: OperationDefinitionNode
    fragments: dict[str, FragmentDefinitionNode]
    deciding: tuple[str, ...]
    cost: Cost
    plans: OrderedDict[tuple[object, ...], Plan | None] = field(default_factory=OrderedDict)

    def variables(self, given: Mapping[str, Any]) -> VariableValues | None:
        """The coerced values, or None when some do not fit or ask too much."""
        if refusal_of_variables(given) or self.cost.refusal(given):
            return None
        coerced = get_variable_values(self.schema._schema, self.node.variable_definitions or (), dict(given))
        return None if isinstance(coerced, list) else coerced

    def plan(self, variables: VariableValues) -> Plan | None:
        """None for what takes Strawberry's executor."""
        decided = tuple(variables.coerced.get(name) for name in self.deciding)
        if decided not in self.plans:
            try:
                selections = Selections(self.schema._schema, self.fragments, variables)
                self.plans[decided] = Planner(self.schema, selections).plan(self.node)
            except CannotCompileError:
                self.plans[decided] = None
            if len(self.plans) > MOST_PLANS:
                self.plans.popitem(last=False)
        return self.plans[decided]


@dataclass(slots=True)
class Document:
    """As it was parsed, when it is valid and within the limits, and by name its operations, when all are queries."""

    node: DocumentNode | None = None
    operations: dict[str, Operation] = field(default_factory=dict)

    def operation(self, name: str | None) -> Operation | None:
        if name is None:
            return next(iter(self.operations.values())) if len(self.operations) == 1 else None
        return self.operations.get(name) if name else None


class Documents:
    """The documents asked last, by their text."""

    def __init__(self, schema: strawberry.Schema, characters: int = MOST_CHARACTERS) -> None:
        self.schema = schema
        self.known = Bounded[Document](characters)

    def find(self, text: str) -> Document:
        document = self.known.get(text)
        if document is None:
            document = self._read(text)
            self.known.put(text, document, len(text))
        return document

    def _read(self, text: str) -> Document:
        try:
            node = parse(text, max_tokens=MOST_TOKENS)
        except (GraphQLError, RecursionError):
            return Document()
        if refusals_of_document(node) or validate_document(self.schema._schema, node, tuple(specified_rules)):
            return Document()
        return Document(node, self._operations(node))

    def _operations(self, node: DocumentNode) -> dict[str, Operation]:
        fragments = {one.name.value: one for one in node.definitions if isinstance(one, FragmentDefinitionNode)}
        operations = [one for one in node.definitions if isinstance(one, OperationDefinitionNode)]
        if any(one.operation is not OperationType.QUERY for one in operations):
            return {}
        decide = _Deciding()
        visit(node, decide)
        deciding = tuple(sorted(decide.names))
        schema = self.schema._schema
        return {
            one.name.value if one.name else "": Operation(
                self.schema, one, fragments, deciding, cost_of(schema, node, one)
            )
            for one in operations
        }
