"""A change with a key is made once, however often and from wherever it is asked for."""

import asyncio
from typing import Any
from uuid import UUID

import asyncpg
import pytest

from db import runs
from db.accounts import Identity
from db.changes import Changes
from db.tenant import Tenant
from resolvers.context import Session
from schema.graph import graph
from tests.schema.asking import SUBJECT
from tests.schema.world import World, small_world

ANSWER = "__typename ... on Problem { message } ... on InvalidInput { field } ... on EvaluationRun { id status }"
START = f"mutation($i: StartEvaluationInput!) {{ answer: startEvaluation(input: $i) {{ {ANSWER} trials {{ id }} }} }}"
START = START.replace("} trials { id }", "} ... on EvaluationRun { trials { id } }")
CANCEL = f"mutation($i: CancelEvaluationRunInput!) {{ answer: cancelEvaluationRun(input: $i) {{ {ANSWER} }} }}"
CREATE = """mutation($i: CreateEnvironmentInput!) { answer: createEnvironment(input: $i) {
  __typename ... on Problem { message } ... on Environment { id name } } }"""


@pytest.fixture
async def small(acme: Tenant) -> World:
    return await small_world(acme)


def start_input(world: World, **more: Any) -> dict[str, Any]:
    configuration = str(world.configurations[0].id)
    return {"environmentVersionId": str(world.versions[0].id), "evaluatorConfigurationId": configuration} | more


async def asked(
    tenant: Tenant, text: str, given: dict[str, Any], subject: UUID = SUBJECT, header: str | None = None
) -> Any:
    identity = Identity(tenant.organization_id, subject, None, "member")
    session = Session(Changes(), tenant, identity, idempotency_key=header)
    result = await graph.execute(text, variable_values={"i": given}, context_value=session)
    assert result.errors is None
    return (result.data or {}).get("answer", result.data)


async def run_count(tenant: Tenant) -> int:
    (count,) = await tenant.fetch(runs.COUNT, *[None] * 6)
    return count.total


async def test_the_same_key_gives_the_same_run(small: World, statements: list[str]) -> None:
    given = start_input(small, clientMutationId="first")
    started = await asked(small.tenant, START, given)
    assert len(started["trials"]) == 8
    statements.clear()
    assert await asked(small.tenant, START, given) == started
    assert statements == [
        "idempotency.forget",
        "idempotency.take",
        "idempotency.find",
        "runs.by_ids",
        "trials.by_runs",
    ]
    assert await asked(small.tenant, START, given | {"clientMutationId": "second"}) != started
    assert await run_count(small.tenant) == 2


async def test_without_a_key_each_is_another(small: World) -> None:
    first, second = [await asked(small.tenant, START, start_input(small)) for _ in range(2)]
    assert first["id"] != second["id"]


async def test_at_once(small: World) -> None:
    given = start_input(small, clientMutationId="at once")
    answers = await asyncio.gather(*(asked(small.tenant, START, given) for _ in range(20)))
    assert [one for one in answers if one != answers[0]] == []
    assert await run_count(small.tenant) == 1


async def test_the_answer_shows_what_is_there_now(small: World) -> None:
    started = await asked(small.tenant, START, start_input(small, clientMutationId="k"))
    given = {"evaluationRunId": started["id"], "clientMutationId": "c"}
    cancelled = await asked(small.tenant, CANCEL, given)
    assert (cancelled["id"], cancelled["status"]) == (started["id"], "CANCELLED")
    # Without the key it would be a conflict: the run has ended already.
    assert await asked(small.tenant, CANCEL, given) == cancelled
    again = await asked(small.tenant, START, start_input(small, clientMutationId="k"))
    assert (again["id"], again["status"]) == (started["id"], "CANCELLED")


async def test_another_request_under_the_key_is_a_conflict(small: World) -> None:
    await asked(small.tenant, START, start_input(small, clientMutationId="k"))
    conflict = {
        "__typename": "Conflict",
        "message": "This key was used for another change; give each change a key of its own.",
    }
    assert await asked(small.tenant, START, start_input(small, clientMutationId="k", seed="5")) == conflict
    given = {"slug": "new", "name": "New", "clientMutationId": "k"}
    assert await asked(small.tenant, CREATE, given) == conflict


async def test_what_failed_leaves_its_key_free(acme: Tenant) -> None:
    given = {"slug": "taken", "name": "First"}
    await asked(acme, CREATE, given)
    refused = await asked(acme, CREATE, given | {"clientMutationId": "k"})
    assert refused["__typename"] == "Conflict"
    assert (await asked(acme, CREATE, {"slug": "free", "name": "First", "clientMutationId": "k"}))["id"]


async def test_the_header_counts_for_each_mutation_of_a_request(acme: Tenant) -> None:
    text = """mutation($i: CreateEnvironmentInput!) {
      a: createEnvironment(input: $i) { ... on Environment { id slug } }
      b: createEnvironment(input: { slug: "other", name: "Other" }) { ... on Environment { id slug } }
    }"""
    first = await asked(acme, text, {"slug": "one", "name": "One"}, header="retry-1")
    assert [first["a"]["slug"], first["b"]["slug"]] == ["one", "other"]
    assert await asked(acme, text, {"slug": "one", "name": "One"}, header="retry-1") == first


async def test_a_key_is_of_one_person_and_one_organization(small: World, rival: Tenant) -> None:
    mine = await asked(small.tenant, START, start_input(small, clientMutationId="k"))
    other = await asked(small.tenant, START, start_input(small, clientMutationId="k"), subject=UUID(int=8))
    theirs = await asked(rival, START, start_input(await small_world(rival), clientMutationId="k"))
    assert len({mine["id"], other["id"], theirs["id"]}) == 3


async def test_keys_that_cannot_be(acme: Tenant, statements: list[str]) -> None:
    for key in ("", "k" * 256, "\0", "\ud800"):
        refused = await asked(
            acme,
            CREATE.replace("... on Problem { message }", "... on InvalidInput { field }"),
            {"slug": "a", "name": "A", "clientMutationId": key},
        )
        assert refused == {"__typename": "InvalidInput", "field": ["input", "clientMutationId"]}
        text = CREATE.replace("... on Problem { message }", "... on InvalidInput { field }")
        refused = await asked(acme, text, {"slug": "a", "name": "A"}, header=key)
        assert refused == {"__typename": "InvalidInput", "field": ["input"]}
    assert "environments.create" not in statements


async def test_other_keys_do_not_wait_for_what_is_forgotten(
    small: World, administrator: "asyncpg.Connection[asyncpg.Record]"
) -> None:
    await asked(small.tenant, START, start_input(small, clientMutationId="old"))
    await administrator.execute("update idempotency_keys set created_at = created_at - interval '2 days'")
    async with administrator.transaction():
        await administrator.execute("lock table evaluation_trials in access exclusive mode")
        waiting = asyncio.create_task(asked(small.tenant, START, start_input(small, clientMutationId="one")))
        while not await administrator.fetchval("select count(*) from pg_locks where not granted"):
            assert not waiting.done()
        given = {"slug": "free", "name": "Free", "clientMutationId": "two"}
        assert (await asyncio.wait_for(asked(small.tenant, CREATE, given), 20))["id"]
    assert (await waiting)["id"]


async def test_a_key_is_forgotten_after_a_day(
    small: World, administrator: "asyncpg.Connection[asyncpg.Record]"
) -> None:
    given = start_input(small, clientMutationId="k")
    first = await asked(small.tenant, START, given)
    await administrator.execute("update idempotency_keys set created_at = created_at - interval '23 hours 59 minutes'")
    assert await asked(small.tenant, START, given) == first
    await administrator.execute("update idempotency_keys set created_at = created_at - interval '2 minutes'")
    assert (await asked(small.tenant, START, given))["id"] != first["id"]


async def test_a_change_cancelled_midway_leaves_its_key_free(
    small: World, administrator: "asyncpg.Connection[asyncpg.Record]"
) -> None:
    given = start_input(small, clientMutationId="k")
    async with administrator.transaction():
        await administrator.execute("lock table evaluation_trials in access exclusive mode")
        running = asyncio.create_task(asked(small.tenant, START, given))
        while not await administrator.fetchval("select count(*) from pg_locks where not granted"):
            assert not running.done()
        running.cancel()
        await asyncio.wait([running])
    assert await run_count(small.tenant) == 0
    assert (await asked(small.tenant, START, given))["id"]
    assert await run_count(small.tenant) == 1
