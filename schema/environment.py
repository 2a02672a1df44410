"""Environments."""

from datetime import datetime
from typing import TYPE_CHECKING, Annotated

import strawberry

from db import environments
from resolvers import versions
from resolvers.loaders import LATEST_VERSION_OF_ENVIRONMENT
from schema.connection import Connection
from schema.node import Node
from schema.sources import OverRow, edge, listed

if TYPE_CHECKING:
    from schema.version import EnvironmentVersion


@strawberry.type
class Environment(OverRow, Node):
    row = environments.Environment

    slug: str
    name: str
    created_at: datetime
    latest_version: Annotated["EnvironmentVersion", strawberry.lazy("schema.version")] | None = edge(
        LATEST_VERSION_OF_ENVIRONMENT, key="id"
    )
    versions: Connection[Annotated["EnvironmentVersion", strawberry.lazy("schema.version")]] = listed(
        versions.of_environment, key="id"
    )
