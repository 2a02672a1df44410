"""What a resolver is told about its request."""

import strawberry

from resolvers.context import Context

Info = strawberry.Info[Context, None]
