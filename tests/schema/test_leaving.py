"""A client that leaves, or a statement that takes too long, ends the work in PostgreSQL."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

import asyncpg
import httpx
import pytest
from structlog.testing import capture_logs

from db.embedded import DatabaseUrls
from db.pool import open_pool
from db.tenant import Tenant
from tests.schema.serving import EVENTS, SECONDS, WAYS, Ask, Service, served, token_of
from tests.schema.world import Outcome, World, add_run, small_world

#: The first is compiled; the others take Strawberry's executor: a resolver, a loader, a loader below others.
QUERIES = {
    "compiled": "{ evaluationTrials { edges { node { id } } } }",
    "resolver": "{ viewer { id } evaluationTrials { edges { node { id } } } }",
    "loader": '{ viewer { id } evaluationTrial(id: "01890a5d-ac96-774b-bcce-b302099a8057") { id } }',
    "edge": "{ viewer { id } evaluationRuns { edges { node { trials { id } rollouts: trials { rollout { id } } } } } }",
}


@asynccontextmanager
async def locked(
    database: DatabaseUrls, table: str = "evaluation_trials"
) -> "AsyncIterator[asyncpg.Connection[asyncpg.Record]]":
    """A connection that keeps all others from reading a table; it sees what they do."""
    connection = await asyncpg.connect(database.owner)
    try:
        await connection.execute(f"begin; lock table {table} in access exclusive mode")
        yield connection
    finally:
        await connection.close()


async def waiting(connection: "asyncpg.Connection[asyncpg.Record]", expected: bool) -> None:
    """Until statements wait for the lock, or until none does and no transaction of theirs is open."""
    text = "select count(*) from pg_locks where locktype = 'relation' and not granted"
    deadline = time.monotonic() + SECONDS
    while bool(await connection.fetchval(text)) != expected:
        assert time.monotonic() < deadline, "statements wait" if not expected else "no statement came"
        await asyncio.sleep(0.02)


async def all_given_back(tenant: Tenant) -> None:
    deadline = time.monotonic() + SECONDS
    while tenant.pool.get_idle_size() != tenant.pool.get_size():
        assert time.monotonic() < deadline, "a connection was not given back"
        await asyncio.sleep(0.02)


async def post_and_leave(service: Service, query: str, ready: Awaitable[None]) -> None:
    await _leave(asyncio.create_task(service.post(json={"query": query})), ready)


async def follow_events_and_leave(service: Service, query: str, ready: Awaitable[None]) -> None:
    await _leave(asyncio.create_task(service.post(json={"query": query}, headers=EVENTS)), ready)


async def _leave(asking: "asyncio.Task[Any]", ready: Awaitable[None]) -> None:
    await ready
    assert not asking.done()
    asking.cancel()
    with suppress(asyncio.CancelledError):
        await asking


async def close_the_socket(service: Service, query: str, ready: Awaitable[None]) -> None:
    async with service.socket() as socket:
        await socket.send(json.dumps({"type": "subscribe", "id": "1", "payload": {"query": query}}))
        await ready


async def break_the_socket(service: Service, query: str, ready: Awaitable[None]) -> None:
    async with service.socket() as socket:
        await socket.send(json.dumps({"type": "subscribe", "id": "1", "payload": {"query": query}}))
        await ready
        socket.transport.abort()


Leave = Callable[[Service, str, Awaitable[None]], Awaitable[None]]
LEAVING: list[Leave] = [post_and_leave, follow_events_and_leave, close_the_socket, break_the_socket]


@pytest.fixture
async def world(acme: Tenant) -> World:
    world = await small_world(acme)
    await add_run(world, world.versions[0], world.configurations[0], [Outcome(1.0)])
    return world


@pytest.mark.parametrize("leave", LEAVING)
@pytest.mark.parametrize("query", QUERIES.values(), ids=QUERIES)
async def test_who_leaves_ends_the_statement(query: str, leave: Leave, world: World, database: DatabaseUrls) -> None:
    with capture_logs() as logs:
        async with served(world.tenant) as service, locked(database) as owner:
            await leave(service, query, waiting(owner, True))
            await waiting(owner, False)
            await all_given_back(world.tenant)
    assert not [entry for entry in logs if entry["log_level"] in ("error", "critical")]


async def test_an_operation_that_is_completed_by_its_client_ends_its_statement(
    world: World, database: DatabaseUrls
) -> None:
    async with served(world.tenant) as service, service.socket() as socket, locked(database) as owner:
        await socket.send(json.dumps({"type": "subscribe", "id": "1", "payload": {"query": QUERIES["edge"]}}))
        await waiting(owner, True)
        await socket.send(json.dumps({"type": "complete", "id": "1"}))
        await waiting(owner, False)
        await socket.send(json.dumps({"type": "subscribe", "id": "1", "payload": {"query": "{ __typename }"}}))
        assert json.loads(await socket.recv())["payload"] == {"data": {"__typename": "Query"}}


async def test_who_stays_is_answered_however_long_it_takes(world: World, database: DatabaseUrls) -> None:
    async with served(world.tenant) as service, locked(database) as owner:
        asking = asyncio.create_task(service.post(json={"query": QUERIES["compiled"]}))
        await waiting(owner, True)
        await asyncio.sleep(0.5)  # longer than it takes until the client is looked for
        await owner.execute("rollback")
        assert len((await asking).json()["data"]["evaluationTrials"]["edges"]) == 1


@pytest.mark.parametrize("ask", WAYS.values(), ids=WAYS)
@pytest.mark.parametrize("query", QUERIES.values(), ids=QUERIES)
async def test_a_statement_that_takes_too_long_is_stopped_and_says_so(
    query: str, ask: Ask, world: World, database: DatabaseUrls
) -> None:
    async with open_pool(database.app, application_name="limited", max_size=2, statement_seconds=0.4) as pool:
        limited = Tenant(pool, world.tenant.organization_id)
        with capture_logs() as logs:
            async with served(limited) as service, locked(database):
                began = time.monotonic()
                answer = await ask(service, query, {})
                took = time.monotonic() - began
            await all_given_back(limited)
        words = "A statement took longer than 400ms, which is the limit in the database; ask for less."
        assert {(error["message"], error["extensions"]["code"]) for error in answer["errors"]} == {(words, "TIMEOUT")}
        assert took < 5
        assert not [entry for entry in logs if entry["log_level"] == "error"]
        assert await pool.fetchval("show statement_timeout") == "400ms"


async def test_a_mutation_that_takes_too_long_changes_nothing(world: World, database: DatabaseUrls) -> None:
    text = """mutation($v: ID!, $c: ID!) { startEvaluation(
      input: { environmentVersionId: $v, evaluatorConfigurationId: $c }) { __typename } }"""
    given = {"v": str(world.versions[0].id), "c": str(world.configurations[0].id)}
    async with open_pool(database.app, application_name="limited", max_size=1, statement_seconds=0.4) as pool:
        limited = Tenant(pool, world.tenant.organization_id)
        async with served(limited) as service:
            async with locked(database):
                answer = (await service.post(json={"query": text, "variables": given})).json()
                assert answer["errors"][0]["extensions"] == {"code": "TIMEOUT"}
            counted = await service.post(json={"query": "{ evaluationRuns { totalCount } }"})
            assert counted.json() == {"data": {"evaluationRuns": {"totalCount": 1}}}


async def _get(address: str, token: str, path: str) -> httpx.Response:
    async with httpx.AsyncClient(timeout=SECONDS) as client:
        return await client.get(f"http://{address}{path}", headers={"Authorization": f"Bearer {token}"})


async def test_exports_have_no_such_limit_and_rest_tells_it(world: World, database: DatabaseUrls) -> None:
    async with open_pool(database.app, application_name="limited", max_size=2, statement_seconds=0.4) as pool:
        limited = Tenant(pool, world.tenant.organization_id)
        async with served(limited) as service:
            base = service.address, await token_of(limited)
            async with locked(database, "rollouts") as owner:
                export = asyncio.create_task(_get(*base, "/api/v1/rollouts?kind=all"))
                await waiting(owner, True)
                one = await _get(*base, "/api/v1/rollouts/01890a5d-ac96-774b-bcce-b302099a8057")
                assert one.status_code == 503
                assert one.json()["detail"].startswith("A statement took longer than 400ms")
                assert not export.done()
                await owner.execute("rollback")
                assert (await export).status_code == 200
            assert await pool.fetchval("show statement_timeout") == "400ms"
