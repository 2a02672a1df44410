"""What one execution of a compiled operation may use, and the arguments of its fields."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import strawberry
from graphql import FieldNode, GraphQLField, get_argument_values
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


@dataclass(frozen=True, slots=True)
class Arguments:
    """The arguments of one selected field, as its resolver would be given them."""

    schema: strawberry.Schema
    definition: GraphQLField
    field: StrawberryField
    node: FieldNode

    def __call__(self, execution: Execution) -> dict[str, Any]:
        """Raises GraphQLError for values that do not fit."""
        given = get_argument_values(self.definition, self.node, execution.variables)
        converter = self.schema.schema_converter
        return convert_arguments(given, self.field.arguments, converter.scalar_registry, self.schema.config)


@dataclass(frozen=True, slots=True)
class Projections:
    """The statements of one selected field, made when first needed: its arguments decide which statement it is."""

    columns: tuple[Column, ...]
    known: dict[str, Projection] = field(default_factory=dict)

    def __call__(self, query: Query[Any]) -> Projection:
        if query.name not in self.known:
            self.known[query.name] = projection(query, self.columns)
        return self.known[query.name]


#: From a parent's key to what the field shows for it.
Children = Callable[[Any], Any]
