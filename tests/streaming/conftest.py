"""Clients of the routes, and a look at the database from outside."""

from collections.abc import AsyncIterator

import asyncpg
import httpx
import pytest

from db.accounts import Identity
from db.embedded import DatabaseUrls
from db.tenant import Tenant
from tests.streaming.web import Client, application


@pytest.fixture
def client() -> Client:
    def make(tenant: Tenant, role: str = "member", identity: Identity | None = None) -> httpx.AsyncClient:
        transport = httpx.ASGITransport(application(tenant, role, identity), raise_app_exceptions=False)
        return httpx.AsyncClient(
            transport=transport, base_url="http://agentforge", headers={"Accept-Encoding": "identity"}
        )

    return make


@pytest.fixture
async def administrator(database: DatabaseUrls) -> "AsyncIterator[asyncpg.Connection[asyncpg.Record]]":
    """A superuser in this test's database."""
    connection = await asyncpg.connect(database.owner.replace("agentforge_owner@", "postgres@"))
    yield connection
    await connection.close()
