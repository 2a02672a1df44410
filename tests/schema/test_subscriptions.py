"""Runs and trials as they change, from the database's own notifications."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from db import runs, trials
from db.changes import Changes, listen
from db.embedded import DatabaseUrls
from db.tenant import Tenant
from tests.factory import create_version
from tests.schema.asking import UNKNOWN, ask, subscribed
from tests.schema.everything import id_arguments
from tests.schema.world import Outcome, Run, World, add_run, small_world

RUN = """subscription($id: ID!) { evaluationRunUpdated(id: $id) {
  id status trials { id status reward } environmentVersion { runs { totalCount } } } }"""
TRIAL = """subscription($version: ID) { evaluationTrialFinished(environmentVersionId: $version) {
  id status reward run { status trials { status } } } }"""


@pytest.fixture
async def changes(database: DatabaseUrls) -> AsyncIterator[Changes]:
    async with listen(database.app) as changes:
        yield changes


async def following(results: AsyncIterator[Any], name: str) -> Any:
    """The next event, whose answer must have no errors."""
    result = await asyncio.wait_for(anext(results), 20)
    assert result.errors is None
    return result.data[name]


async def until_watched(changes: Changes, watchers: int = 1) -> None:
    async with asyncio.timeout(20):
        while sum(map(len, changes.subscriptions.values())) < watchers:  # noqa: ASYNC110 - nothing tells that a watcher has come
            await asyncio.sleep(0.005)


async def finish(tenant: Tenant, run: Run, index: int, reward: float | None, status: str = "completed") -> None:
    async with tenant.transaction() as transaction:
        trial = run.trials[index].row
        (now,) = await transaction.fetch(trials.BY_IDS, [trial.id])
        if now.status == "queued":
            claimed = await transaction.fetch_one(trials.CLAIM, trial.id, now.execution, "worker", now.job_id)
            assert claimed is not None
            now = claimed
        assert await transaction.fetch_one(
            trials.FINISH, trial.id, now.execution, status, reward, None, None, "[]", None, None, 0
        )


async def set_run(tenant: Tenant, run: Run, *, ended: bool) -> None:
    async with tenant.transaction() as transaction:
        arguments = ("completed", "[]", 0, None) if ended else ()
        assert await transaction.fetch_one(runs.FINISH if ended else runs.START, run.row.id, *arguments)


async def a_queued_run(tenant: Tenant, attempts: int = 2) -> tuple[World, Run]:
    world = await small_world(tenant)
    queued = [Outcome(None, "queued")] * attempts
    run = await add_run(world, world.versions[0], world.configurations[0], queued, status="queued")
    return world, run


async def test_a_run_is_told_now_and_at_each_change_until_it_has_ended(acme: Tenant, changes: Changes) -> None:
    world, run = await a_queued_run(acme)
    async with subscribed(acme, changes, RUN, id=str(run.row.id)) as results:
        first = await following(results, "evaluationRunUpdated")
        assert first["status"] == "QUEUED"
        assert [trial["status"] for trial in first["trials"]] == ["QUEUED", "QUEUED"]
        await set_run(acme, run, ended=False)
        assert (await following(results, "evaluationRunUpdated"))["status"] == "RUNNING"
        # Another run's change is not this one's, but what it changes is seen in the next event.
        await add_run(world, world.versions[0], world.configurations[0], [Outcome(1.0)])
        for index, reward in ((0, 1.0), (1, 0.25)):
            await finish(acme, run, index, reward)
            while (told := await following(results, "evaluationRunUpdated"))["trials"][index]["reward"] is None:
                pass
            assert told["trials"][index] == {
                "id": str(run.trials[index].row.id),
                "status": "COMPLETED",
                "reward": reward,
            }
            assert told["environmentVersion"]["runs"]["totalCount"] == 2
        await set_run(acme, run, ended=True)
        rest = [result.data["evaluationRunUpdated"]["status"] async for result in results]
        assert rest[-1] == "COMPLETED"
        assert set(rest[:-1]) <= {"RUNNING"}
    assert not changes.subscriptions


async def test_a_run_that_has_ended_is_told_once(acme: Tenant, changes: Changes) -> None:
    world = await small_world(acme)
    run = await add_run(world, world.versions[0], world.configurations[0], [Outcome(1.0)])
    async with subscribed(acme, changes, RUN, id=str(run.row.id)) as results:
        assert (await following(results, "evaluationRunUpdated"))["status"] == "COMPLETED"
        with pytest.raises(StopAsyncIteration):
            await anext(results)


async def test_after_a_lost_connection_the_run_is_read_anew(acme: Tenant, changes: Changes) -> None:
    _, run = await a_queued_run(acme)
    async with subscribed(acme, changes, RUN, id=str(run.row.id)) as results:
        await following(results, "evaluationRunUpdated")
        changes.missed()
        assert (await following(results, "evaluationRunUpdated"))["status"] == "QUEUED"


async def test_cancelling_ends_the_subscription(acme: Tenant, changes: Changes) -> None:
    _, run = await a_queued_run(acme)
    cancel = "mutation($id: ID!) { cancelEvaluationRun(input: { evaluationRunId: $id }) { __typename } }"
    async with subscribed(acme, changes, RUN, id=str(run.row.id)) as results:
        await following(results, "evaluationRunUpdated")
        await ask(acme, cancel, id=str(run.row.id))
        statuses = [result.data["evaluationRunUpdated"]["status"] async for result in results]
        assert statuses == ["CANCELLED"]


async def test_finished_trials_are_told_of_one_version_or_of_all(acme: Tenant, changes: Changes) -> None:
    world, run = await a_queued_run(acme, 3)
    another = await create_version(acme, "another")
    elsewhere = await add_run(world, another, world.configurations[0], [Outcome(None, "queued")], status="queued")
    version = str(world.versions[0].id)
    async with (
        subscribed(acme, changes, TRIAL, version=version) as one,
        subscribed(acme, changes, TRIAL, version=None) as every,
    ):
        first_of_one = asyncio.ensure_future(following(one, "evaluationTrialFinished"))
        first_of_every = asyncio.ensure_future(following(every, "evaluationTrialFinished"))
        await until_watched(changes, 2)
        await finish(acme, elsewhere, 0, 0.5)
        await finish(acme, run, 0, 1.0)
        told = await first_of_one
        assert (told["id"], told["reward"]) == (str(run.trials[0].row.id), 1.0)
        assert [trial["status"] for trial in told["run"]["trials"]] == ["COMPLETED", "QUEUED", "QUEUED"]
        assert (await first_of_every)["id"] == str(elsewhere.trials[0].row.id)
        assert (await following(every, "evaluationTrialFinished"))["id"] == str(run.trials[0].row.id)
        for index, status in ((1, "errored"), (2, "timed_out")):
            await finish(acme, run, index, None, status)
            for results in (one, every):
                told = await following(results, "evaluationTrialFinished")
                assert (told["id"], told["status"]) == (str(run.trials[index].row.id), status.upper())
                assert told["run"]["trials"][index]["status"] == status.upper()
    assert not changes.subscriptions


async def test_another_organization_hears_nothing(acme: Tenant, rival: Tenant, changes: Changes) -> None:
    world, run = await a_queued_run(acme)
    _, own = await a_queued_run(rival)
    async with (
        subscribed(rival, changes, TRIAL) as every,
        subscribed(rival, changes, TRIAL, version=str(world.versions[0].id)) as foreign,
        subscribed(rival, changes, TRIAL, version=UNKNOWN) as unknown,
    ):
        heard = [asyncio.ensure_future(anext(results)) for results in (every, foreign, unknown)]
        await until_watched(changes, 3)
        await finish(acme, run, 0, 1.0)
        await finish(rival, own, 0, 0.5)
        # Notifications keep their order: whoever hears of the second would have heard of the first before.
        result = await asyncio.wait_for(heard[0], 20)
        assert result.data["evaluationTrialFinished"]["id"] == str(own.trials[0].row.id)
        assert not heard[1].done()
        assert not heard[2].done()
        for waiting in heard[1:]:
            waiting.cancel()
            await asyncio.wait([waiting])


async def test_another_organizations_id_is_like_one_that_never_was(
    acme: Tenant, rival: Tenant, changes: Changes
) -> None:
    _, run = await a_queued_run(acme)
    assert set(id_arguments("Subscription")) == {
        ("evaluationRunUpdated", "id"),
        ("evaluationTrialFinished", "environmentVersionId"),
    }
    told = []
    for key in (str(run.row.id), UNKNOWN):
        async with subscribed(rival, changes, RUN, id=key) as results:
            told.append([(result.data, [error.formatted for error in result.errors]) async for result in results])
    assert told[0] == told[1]
    assert told[0][0][0] is None
    assert told[0][0][1][0]["message"] == "There is no such evaluation run."


async def test_a_client_whose_clock_is_ahead_misses_nothing(acme: Tenant, changes: Changes) -> None:
    _, run = await a_queued_run(acme)
    text = "subscription($since: DateTime) { evaluationTrialFinished(since: $since) { id } }"
    since = (datetime.now(UTC) + timedelta(hours=1)).isoformat()
    async with subscribed(acme, changes, text, since=since) as results:
        heard = asyncio.ensure_future(following(results, "evaluationTrialFinished"))
        await until_watched(changes)
        (listening,) = changes.subscriptions.values()
        listening, kept = set(), listening  # as while the listening connection is lost
        key = (acme.organization_id, None)
        changes.subscriptions[key] = listening
        await finish(acme, run, 0, 1.0)
        changes.subscriptions[key] = kept
        changes.missed()
        assert (await heard)["id"] == str(run.trials[0].row.id)


async def test_an_organization_has_so_many_subscribers_and_no_more(
    acme: Tenant, rival: Tenant, changes: Changes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("db.changes.MOST_SUBSCRIBERS", 2)
    _, run = await a_queued_run(acme)
    async with (
        changes.subscribe(acme.organization_id),
        changes.subscribe(acme.organization_id, run.row.id),
        subscribed(acme, changes, RUN, id=str(run.row.id)) as results,
        changes.subscribe(rival.organization_id),
    ):
        (error,) = (await anext(results)).errors
        assert error.message == "The organization has 2 subscriptions under way, which is as many as there may be."
    async with subscribed(acme, changes, RUN, id=str(run.row.id)) as results:
        assert (await following(results, "evaluationRunUpdated"))["id"] == str(run.row.id)


@pytest.mark.parametrize("since", ["0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z"])
async def test_moments_at_the_ends_of_time(acme: Tenant, changes: Changes, since: str) -> None:
    _, run = await a_queued_run(acme)
    text = "subscription($since: DateTime) { evaluationTrialFinished(since: $since) { id } }"
    async with subscribed(acme, changes, text, since=since) as results:
        heard = asyncio.ensure_future(following(results, "evaluationTrialFinished"))
        await until_watched(changes)
        await finish(acme, run, 0, 1.0)
        assert (await heard)["id"] == str(run.trials[0].row.id)


async def test_who_reads_too_slowly_is_told_so(acme: Tenant, changes: Changes) -> None:
    _, run = await a_queued_run(acme)
    async with subscribed(acme, changes, TRIAL) as results:
        first = asyncio.ensure_future(following(results, "evaluationTrialFinished"))
        await until_watched(changes)
        await finish(acme, run, 0, 1.0)
        await first
        changed = f"{acme.organization_id} evaluation_trials {UNKNOWN} completed {run.row.id} {UNKNOWN}"
        for _ in range(1001):
            changes.receive(None, 0, "", changed)
        result = await anext(results)
    (error,) = result.errors
    assert error.message == "Too many changes were waiting to be read; subscribe again."
    assert error.extensions == {"code": "EXPECTED"}


async def test_who_reads_a_run_slowly_sees_its_end_all_the_same(acme: Tenant, changes: Changes) -> None:
    _, run = await a_queued_run(acme)
    async with subscribed(acme, changes, RUN, id=str(run.row.id)) as results:
        await following(results, "evaluationRunUpdated")
        for _ in range(1100):
            await set_run(acme, run, ended=False)
        await finish(acme, run, 0, 1.0)
        await finish(acme, run, 1, 0.5)
        await set_run(acme, run, ended=True)
        statuses = [result.data["evaluationRunUpdated"]["status"] async for result in results]
        assert statuses[-1] == "COMPLETED"
        assert len(statuses) < 5


async def test_after_a_lost_connection_finished_trials_are_looked_up(acme: Tenant, changes: Changes) -> None:
    """Whoever lost the database's word or its own connection hears of what it missed, and of nothing twice."""
    _, run = await a_queued_run(acme, 4)
    seen = []
    async with subscribed(acme, changes, TRIAL) as results:
        first = asyncio.ensure_future(following(results, "evaluationTrialFinished"))
        await until_watched(changes)
        await finish(acme, run, 0, 1.0)
        seen.append((await first)["id"])
        changes.missed()
        (subscription,) = next(iter(changes.subscriptions.values()))
        await finish(acme, run, 1, 0.5)
        seen.append((await following(results, "evaluationTrialFinished"))["id"])
        await finish(acme, run, 2, 0.0)
        seen.append((await following(results, "evaluationTrialFinished"))["id"])
        assert not subscription.dropped
    assert seen == [str(trial.row.id) for trial in run.trials[:3]]
    text = """subscription($since: DateTime) { evaluationTrialFinished(since: $since) { id finishedAt } }"""
    async with subscribed(acme, changes, text, since="2020-01-01T00:00:00Z") as results:
        again = [(await following(results, "evaluationTrialFinished"))["id"] for _ in range(3)]
        assert again == seen
        await finish(acme, run, 3, 1.0)
        assert (await following(results, "evaluationTrialFinished"))["id"] == str(run.trials[3].row.id)
