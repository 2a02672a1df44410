"""Environments."""

from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Self

import strawberry

from db import environments
from resolvers import versions
from resolvers.loaders import LATEST_VERSION_OF_ENVIRONMENT
from schema.connection import Connection, connection
from schema.info import Info
from schema.node import Node

if TYPE_CHECKING:
    from schema.version import EnvironmentVersion


@strawberry.type
class Environment(Node):
    slug: str
    name: str
    created_at: datetime
    row: strawberry.Private[environments.Environment]

    @classmethod
    def of(cls, row: environments.Environment) -> Self:
        return cls(id=strawberry.ID(str(row.id)), slug=row.slug, name=row.name, created_at=row.created_at, row=row)

    @strawberry.field
    async def latest_version(
        self, info: Info
    ) -> Annotated["EnvironmentVersion", strawberry.lazy("schema.version")] | None:
        from schema.version import EnvironmentVersion

        row = await info.context.load(LATEST_VERSION_OF_ENVIRONMENT, self.row.id)
        return EnvironmentVersion.of(row) if row else None

    @strawberry.field
    async def versions(
        self, info: Info, first: int | None = None, after: str | None = None
    ) -> Connection[Annotated["EnvironmentVersion", strawberry.lazy("schema.version")]]:
        from schema.version import EnvironmentVersion

        page = await versions.of_environment(info.context, self.row.id, first, after)
        return connection(page, EnvironmentVersion.of)
