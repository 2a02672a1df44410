"""What the tests of the database layer share."""

from typing import TYPE_CHECKING, TypeAlias

import asyncpg
import pytest

from db.embedded import DatabaseUrls
from db.tenant import Tenant
from tests.db.populate import Contents, populate

# asyncpg's classes take their type parameter in stubs only.
if TYPE_CHECKING:
    Connection: TypeAlias = asyncpg.Connection[asyncpg.Record]
    Pool: TypeAlias = asyncpg.Pool[asyncpg.Record]
else:
    Connection, Pool = asyncpg.Connection, asyncpg.Pool


@pytest.fixture
def database_superuser(database: DatabaseUrls) -> str:
    """This test's database, as a superuser."""
    return database.owner.replace("agentforge_owner@", "postgres@")


@pytest.fixture
async def ours(acme: Tenant) -> Contents:
    """An organization with rows in every table."""
    return await populate(acme, "acme")
