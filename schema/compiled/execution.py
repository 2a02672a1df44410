"""What one execution of a compiled operation may use, and the arguments of its fields."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from functools import partial
from typing import Any

import strawberry
from graphql import FieldNode, GraphQLField, Node, VariableNode, Visitor, get_argument_values, visit
from graphql.execution.values import VariableValues
from strawberry.types.arguments import convert_arguments
from strawberry.types.field import StrawberryField

from db.query import Column, Projection, Query, projection
from db.tenant import Transaction


@dataclass(frozen=True, slots=True)
class Execution:
    """One answer: its transaction and the coerced values of its variables."""

    transaction: Transaction
    variables: VariableValues


class _Variables(Visitor):
    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()

    def enter_variable(self, node: VariableNode, *_: object) -> None:
        self.names.add(node.name.value)


def variables_in(nodes: Iterable[Node] | None) -> set[str]:
    """The names of all variables below the nodes."""
    found = _Variables()
    for node in nodes or ():
        visit(node, found)
    return found.names


@dataclass(slots=True)
class Arguments:
    """The arguments of one selected field, as its resolver would be given them; converted once if they are constant."""

    schema: strawberry.Schema
    definition: GraphQLField
    field: StrawberryField
    node: FieldNode
    constant: dict[str, Any] | None = None
    varies: bool = dataclass_field(init=False)

    def __post_init__(self) -> None:
        self.varies = bool(variables_in(self.node.arguments))

    def __call__(self, execution: Execution) -> dict[str, Any]:
        """Raises GraphQLError for values that do not fit."""
        if self.constant is not None:
            return self.constant
        given = get_argument_values(self.definition, self.node, execution.variables)
        converter = self.schema.schema_converter
        converted = convert_arguments(given, self.field.arguments, converter.scalar_registry, self.schema.config)
        if not self.varies:
            self.constant = converted
        return converted


@dataclass(frozen=True, slots=True)
class Projections:
    """The statements of one selected field, made when first needed: its arguments decide which statement it is."""

    make: Callable[[Query[Any]], Projection]
    known: dict[str, Projection] = dataclass_field(default_factory=dict)

    @classmethod
    def of(cls, columns: Iterable[Column]) -> "Projections":
        """Of rows with these columns."""
        return cls(partial(projection, columns=tuple(columns)))

    def __call__(self, query: Query[Any]) -> Projection:
        if query.name not in self.known:
            self.known[query.name] = self.make(query)
        return self.known[query.name]


#: From a parent's key to what the field shows for it.
Children = Callable[[Any], Any]
