"""A request that is cancelled at any moment leaves its connection clean; requests side by side never mix."""

import asyncio
import json
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from typing import Any

import orjson
import pytest

from db.embedded import DatabaseUrls
from db.pool import open_pool
from db.tenant import Pool, Tenant
from schema.graph import graph
from tests.db.test_cancellation import cancelled_after
from tests.db.test_tenant import assert_clean
from tests.factory import create_organization
from tests.schema.asking import ask, execute, session
from tests.schema.world import Outcome, World, add_run, small_world

# What graphql-core had not begun when it was cancelled is never begun, and Python remarks on it.
pytestmark = pytest.mark.filterwarnings("ignore:coroutine .* was never awaited:RuntimeWarning")

# What a request takes depends on the server's speed: each moment is tried twice, and the end several times.
ENOUGH_UNCANCELLED = 8
MOST_TURNS = 5000

NESTED = """evaluationRuns { edges { node { id environmentVersion { id environment { slug } }
  trials { id rollout { id } run { id } } } } }"""
COMPILED = f"{{ {NESTED} }}"
STRAWBERRY = f"{{ viewer {{ organization {{ slug }} }} {NESTED} }}"
CREATE = """mutation($slug: String!) { createEnvironment(input: { slug: $slug, name: "n" }) {
  ... on Environment { id latestVersion { id } } } }"""
START = """mutation($version: ID!, $configuration: ID!) { startEvaluation(
  input: { environmentVersionId: $version, evaluatorConfigurationId: $configuration }) {
  ... on EvaluationRun { id trials { id } } } }"""


@pytest.fixture
async def one(database: DatabaseUrls) -> AsyncIterator[Pool]:
    """A pool of a single connection: whatever is left on it, the next request finds."""
    async with open_pool(database.app, application_name="one", max_size=1, statement_seconds=30) as pool:
        yield pool


async def small(pool: Pool, slug: str) -> World:
    world = await small_world(await create_organization(pool, slug))
    await add_run(world, world.versions[0], world.configurations[0], [Outcome(1.0), Outcome(0.5)])
    return world


async def compiled(world: World, _: str) -> object:
    return await graph.compiled(COMPILED, {}, None, session(world.tenant).context())


async def by_strawberry(world: World, _: str) -> object:
    return await ask(world.tenant, STRAWBERRY)


async def create(world: World, name: str) -> object:
    return await ask(world.tenant, CREATE, slug=name)


async def start(world: World, _: str) -> object:
    given = {"version": str(world.versions[0].id), "configuration": str(world.configurations[0].id)}
    return await ask(world.tenant, START, **given)


async def streamed(world: World, _: str) -> object:
    """As over a WebSocket or as events."""
    results = await graph.stream(STRAWBERRY, context_value=session(world.tenant))
    try:
        return [result async for result in results]
    finally:
        await results.aclose()


async def half_done(tenant: Tenant) -> int:
    """Runs without all of their trials."""
    page = await ask(tenant, "{ evaluationRuns(first: 500) { edges { node { attemptCount trials { id } } } } }")
    runs = [edge["node"] for edge in page["evaluationRuns"]["edges"]]
    return sum(run["attemptCount"] != len(run["trials"]) for run in runs)


def ids_in(answer: Any) -> set[str]:
    text = orjson.dumps(answer, default=str).decode()
    return {part for part in text.split('"') if len(part) == 36 and part.count("-") == 4}


Work = Callable[[World, str], Coroutine[Any, Any, object]]


@pytest.mark.parametrize("again", [0, 5])
@pytest.mark.parametrize("work", [compiled, by_strawberry, streamed, create, start])
async def test_cancelled_at_any_moment(work: Work, again: int, one: Pool) -> None:
    ours, theirs = await small(one, "acme"), await small(one, "rival")
    own = {"evaluationRuns": await _own_runs(theirs)}
    server_process = await one.fetchval("select pg_backend_pid()")
    uncancelled = 0
    for times in range(MOST_TURNS):
        if not await cancelled_after(times // 2, work(ours, f"n{times}"), again=again):
            uncancelled += 1
        await assert_clean(one)
        # The next request on the connection is the other organization's, and shows what is its own.
        assert await ask(theirs.tenant, "{ evaluationRuns { edges { node { id } } } }") == own
        if uncancelled == ENOUGH_UNCANCELLED:
            break
    assert uncancelled == ENOUGH_UNCANCELLED
    assert await one.fetchval("select pg_backend_pid()") == server_process, "the connection was lost to the pool"
    assert await half_done(ours.tenant) == 0


async def _own_runs(world: World) -> Any:
    return {"edges": [{"node": {"id": str(run.row.id)}} for run in reversed(world.runs)]}


async def _asked_compiled(tenant: Tenant, text: str, key: str) -> Any:
    data = await graph.compiled(text, {"id": key}, None, session(tenant).context())
    assert data is not None
    return json.loads(orjson.dumps(data))


async def _asked_of_strawberry(tenant: Tenant, text: str, key: str) -> Any:
    result = await execute(tenant, text, id=key)
    assert result.errors is None
    return result.data


#: Each leads from an id to more of the same organization.
FROM_AN_ID = {
    "EvaluationRun": "query($id: ID!) { found: evaluationRun(id: $id) { id trials { id run { id } } } }",
    "EvaluationTrial": "query($id: ID!) { found: evaluationTrial(id: $id) { id rollout { id } run { id } } }",
    "EnvironmentVersion": "query($id: ID!) { found: environmentVersion(id: $id) { id runs { edges { node "
    "{ id } } } } }",
}


async def test_requests_side_by_side_never_show_another_organizations(pool: Pool, one: Pool) -> None:
    """Hundreds at a time over five connections and over one, some of them cancelled under way."""
    worlds = [await small(pool, "acme"), await small(pool, "rival")]
    chance = random.Random(5)
    for shared in (pool, one):
        await asyncio.gather(*(_one_question(worlds, shared, chance) for _ in range(400)))
        assert shared.get_idle_size() == shared.get_size()
    await assert_clean(one)


async def _one_question(worlds: list[World], pool: Pool, chance: random.Random) -> None:
    asker, owner = chance.choice(worlds), chance.choice(worlds)
    kind, key = chance.choice([(kind, key) for kind, key in owner.ids().items() if kind in FROM_AN_ID])
    asked: Callable[[Tenant, str, str], Awaitable[Any]] = chance.choice([_asked_compiled, _asked_of_strawberry])
    tenant = Tenant(pool, asker.tenant.organization_id)
    asking = asyncio.ensure_future(asked(tenant, FROM_AN_ID[kind], str(key)))
    if chance.random() < 0.2:
        for _ in range(chance.randrange(60)):
            await asyncio.sleep(0)
        asking.cancel()
        await asyncio.wait([asking])
        if asking.cancelled():
            return
    answer = await asking
    if asker is owner:
        assert answer["found"]["id"] == str(key)
        assert len(ids_in(answer)) > 1
    else:
        assert answer == {"found": None}
