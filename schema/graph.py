"""The graph as a whole."""

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any

import strawberry
import structlog
from graphql import GraphQLError
from strawberry.schema.config import StrawberryConfig
from strawberry.types import ExecutionContext, ExecutionResult
from strawberry.types.graphql import OperationType

from db.errors import StatementTimeoutError
from resolvers.context import Context
from schema.compiled.documents import Documents
from schema.compiled.execution import Execution
from schema.configuration import EvaluatorConfiguration
from schema.extensions import EXTENSIONS, CheckOnce
from schema.mutation import Mutation
from schema.query import Query
from schema.scalars import SCALARS
from schema.subscription import Subscription

log = structlog.get_logger()


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

    async def compiled(
        self, query: str, variables: Mapping[str, Any], operation_name: str | None, context: Context
    ) -> dict[str, Any] | None:
        """The data that `execute` would answer with, sooner; None for what it must answer itself.

        Values may be orjson.Fragment. Reading has no effects: whatever raises here is left for `execute` to tell, but
        for StatementTimeoutError, since what took too long is not to be asked twice.
        """
        operation = self.documents.find(query).operation(operation_name)
        if operation is None or (values := operation.variables(variables)) is None:
            return None
        plan = operation.plan(values)
        if plan is None:
            return None
        try:
            async with context.tenant.transaction("READ ONLY") as transaction:
                return await plan.execute(Execution(transaction, values))
        except StatementTimeoutError:
            raise
        except Exception:
            log.debug("compiled_execution_left", exc_info=True)
            return None

    @cached_property
    def documents(self) -> Documents:
        return Documents(self)

    def process_errors(self, errors: list[GraphQLError], execution_context: ExecutionContext | None = None) -> None:
        """Errors are logged once, with the id that clients are told, where they are masked."""


graph: Graph = Graph(
    query=Query,
    mutation=Mutation,
    subscription=Subscription,
    types=[EvaluatorConfiguration],
    extensions=[*EXTENSIONS, lambda: CheckOnce(graph.documents)],
    config=StrawberryConfig(scalar_map=SCALARS),
)
