"""The graph as a whole."""

from collections.abc import Iterable
from typing import Any

import strawberry
from graphql import GraphQLError
from strawberry.schema.config import StrawberryConfig
from strawberry.types import ExecutionContext, ExecutionResult
from strawberry.types.graphql import OperationType

from schema.configuration import EvaluatorConfiguration
from schema.extensions import EXTENSIONS
from schema.mutation import Mutation
from schema.query import Query
from schema.scalars import SCALARS
from schema.subscription import Subscription


class Graph(strawberry.Schema):
    async def execute(
        self,
        query: str | None,
        variable_values: dict[str, Any] | None = None,
        context_value: Any | None = None,
        root_value: Any | None = None,
        operation_name: str | None = None,
        allowed_operation_types: Iterable[OperationType] | None = None,
        operation_extensions: dict[str, Any] | None = None,
    ) -> ExecutionResult:
        """One answer to one question. Raises InvalidOperationTypeError for a subscription, which `stream` serves."""
        allowed = set(OperationType if allowed_operation_types is None else allowed_operation_types)
        return await super().execute(
            query,
            variable_values,
            context_value,
            root_value,
            operation_name,
            allowed - {OperationType.SUBSCRIPTION},
            operation_extensions,
        )

    def process_errors(self, errors: list[GraphQLError], execution_context: ExecutionContext | None = None) -> None:
        """Errors are logged once, with the id that clients are told, where they are masked."""


graph = Graph(
    query=Query,
    mutation=Mutation,
    subscription=Subscription,
    types=[EvaluatorConfiguration],
    extensions=EXTENSIONS,
    config=StrawberryConfig(scalar_map=SCALARS),
)
