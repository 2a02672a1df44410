"""The graph as a whole."""

import strawberry
from graphql import GraphQLError
from strawberry.schema.config import StrawberryConfig
from strawberry.types import ExecutionContext

from schema.configuration import EvaluatorConfiguration
from schema.extensions import EXTENSIONS
from schema.mutation import Mutation
from schema.query import Query
from schema.scalars import SCALARS
from schema.subscription import Subscription


class Graph(strawberry.Schema):
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
