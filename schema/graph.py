"""The graph as a whole."""

import strawberry
from strawberry.schema.config import StrawberryConfig

from schema.configuration import EvaluatorConfiguration
from schema.extensions import EXTENSIONS
from schema.mutation import Mutation
from schema.query import Query
from schema.scalars import SCALARS
from schema.subscription import Subscription

graph = strawberry.Schema(
    query=Query,
    mutation=Mutation,
    subscription=Subscription,
    types=[EvaluatorConfiguration],
    extensions=EXTENSIONS,
    config=StrawberryConfig(scalar_map=SCALARS),
)
