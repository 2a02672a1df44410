"""Changes as they happen: to the organization's own subscribers, once committed, and never silently lost."""

import asyncio
from collections.abc import AsyncIterator
from uuid import uuid4

import pytest

from db import runs, trials
from db.changes import MISSED, Change, Changes, SlowSubscriberError, listen
from db.embedded import DatabaseUrls
from db.runs import EvaluationRun
from db.tenant import Tenant
from db.trials import EvaluationTrial
from tests.db.conftest import Connection
from tests.factory import Attempt, create_run, create_version

LISTENERS = "from pg_stat_activity where query ilike 'listen %' and datname = current_database()"


@pytest.fixture
async def changes(database: DatabaseUrls) -> AsyncIterator[Changes]:
    async with listen(database.app) as changes:
        yield changes


def of_run(run: EvaluationRun, status: str) -> Change:
    return Change("evaluation_runs", run.id, status, run.id, run.environment_version_id)


def of_trial(trial: EvaluationTrial, status: str) -> Change:
    return Change("evaluation_trials", trial.id, status, trial.evaluation_run_id, trial.environment_version_id)


async def upcoming(stream: AsyncIterator[Change]) -> Change:
    return await asyncio.wait_for(anext(stream), 30)


async def queued_run(changes: Changes, tenant: Tenant) -> EvaluationRun:
    """A new run, of which subscribers from now on will not be told any more."""
    version = await create_version(tenant, f"environment-{uuid4()}")
    async with changes.subscribe(tenant.organization_id) as stream:
        run, _ = await create_run(tenant, version, [Attempt(status="queued")], status="queued")
        while await upcoming(stream) != of_run(run, "queued"):
            pass  # what happened before may still be told
    return run


async def start(tenant: Tenant, run: EvaluationRun) -> Change:
    """Start the run; the change that this is."""
    async with tenant.transaction() as transaction:
        assert await transaction.fetch_one(runs.START, run.id)
    return of_run(run, "running")


async def test_each_step_of_a_run_is_told(changes: Changes, acme: Tenant) -> None:
    version = await create_version(acme)
    async with changes.subscribe(acme.organization_id) as stream:
        run, (trial,) = await create_run(acme, version, [Attempt(status="queued")], status="queued")
        async with acme.transaction() as transaction:
            await transaction.fetch(runs.START, run.id)
        async with acme.transaction() as transaction:
            await transaction.fetch(trials.CLAIM, trial.id, 0, "worker", None)
        async with acme.transaction() as transaction:
            await transaction.fetch(trials.FINISH, trial.id, 1, "timed_out", 0.5, None, None, "[]", None, None, 0)
            await transaction.fetch(runs.FINISH, run.id, "completed", "[]", 0, None)
        # What was set and not changed, such as the job's id, is not told.
        async with acme.transaction() as transaction:
            await transaction.fetch(runs.SET_JOB, run.id, 1)
        last = await start(acme, await queued_run(changes, acme))
        assert [await upcoming(stream) for _ in range(5)] == [
            of_run(run, "queued"),
            of_run(run, "running"),
            of_trial(trial, "running"),
            of_trial(trial, "timed_out"),
            of_run(run, "completed"),
        ]
        assert (await upcoming(stream)).status == "queued"
        assert await upcoming(stream) == last


async def test_another_organization_is_not_told(changes: Changes, acme: Tenant, rival: Tenant) -> None:
    ours, theirs = await queued_run(changes, acme), await queued_run(changes, rival)
    async with (
        changes.subscribe(acme.organization_id) as our_stream,
        changes.subscribe(acme.organization_id) as our_other_stream,
        changes.subscribe(rival.organization_id) as their_stream,
    ):
        their_change = await start(rival, theirs)
        our_change = await start(acme, ours)
        assert await upcoming(our_stream) == await upcoming(our_other_stream) == our_change
        assert await upcoming(their_stream) == their_change
        # The channel keeps its order, so by now each would have had the other's.
        their_change = await start(rival, theirs)
        our_change = await start(acme, ours)
        assert await upcoming(our_stream) == our_change
        assert await upcoming(their_stream) == their_change


class _UndoError(Exception):
    pass


async def start_and_undo(tenant: Tenant, run: EvaluationRun) -> None:
    async with tenant.transaction() as transaction:
        assert await transaction.fetch_one(runs.START, run.id)
        raise _UndoError


async def test_a_change_is_told_when_it_is_committed(changes: Changes, acme: Tenant) -> None:
    slow, quick, undone = [await queued_run(changes, acme) for _ in range(3)]
    async with changes.subscribe(acme.organization_id) as stream:
        with pytest.raises(_UndoError):
            await start_and_undo(acme, undone)
        async with acme.transaction() as transaction:
            assert await transaction.fetch_one(runs.START, slow.id)
            assert await start(acme, quick) == await upcoming(stream)
        # What a change names can be read by then.
        assert (await upcoming(stream)).id == slow.id
        (seen,) = await acme.fetch(runs.BY_IDS, [slow.id])
        assert seen.status == "running"


async def test_a_lost_connection_is_told_and_made_anew(
    changes: Changes, acme: Tenant, administrator: Connection
) -> None:
    run = await queued_run(changes, acme)
    async with changes.subscribe(acme.organization_id) as stream:
        for _ in range(2):
            assert await administrator.fetchval(f"select count(pg_terminate_backend(pid)) {LISTENERS}") == 1
            assert await upcoming(stream) == MISSED
            assert await start(acme, run) == await upcoming(stream)


async def test_a_slow_subscriber_is_dropped_and_no_other(changes: Changes, acme: Tenant) -> None:
    run = await queued_run(changes, acme)
    async with (
        changes.subscribe(acme.organization_id) as slow,
        changes.subscribe(acme.organization_id) as quick,
    ):
        for _ in range(4):
            async with acme.transaction() as transaction:
                await transaction.connection.execute(
                    "insert into evaluation_runs (environment_version_id, evaluator_configuration_id, trigger, seed, "
                    "attempt_count) select environment_version_id, evaluator_configuration_id, trigger, seed, "
                    "attempt_count from evaluation_runs cross join generate_series(1, 300) where id = $1",
                    run.id,
                )
            assert len({(await upcoming(quick)).id for _ in range(300)}) == 300
        with pytest.raises(SlowSubscriberError, match="subscribe again"):
            await upcoming(slow)
        assert await start(acme, run) == await upcoming(quick)
    async with changes.subscribe(acme.organization_id) as again:
        assert await start(acme, run) == await upcoming(again)


async def test_nothing_listens_after_the_end(database: DatabaseUrls, acme: Tenant, administrator: Connection) -> None:
    async with listen(database.app) as changes, changes.subscribe(acme.organization_id):
        assert await administrator.fetchval(f"select count(*) {LISTENERS}") == 1
    assert not changes.subscriptions
    async with asyncio.timeout(10):
        while await administrator.fetchval(f"select count(*) {LISTENERS}"):  # noqa: ASYNC110 - nothing else tells
            await asyncio.sleep(0.01)


async def test_one_runs_changes_are_told_as_one_however_many(changes: Changes, acme: Tenant, rival: Tenant) -> None:
    run, other = await queued_run(changes, acme), await queued_run(changes, acme)
    async with (
        changes.subscribe(acme.organization_id, run.id) as stream,
        changes.subscribe(rival.organization_id, run.id) as foreign,
        changes.subscribe(acme.organization_id) as every,
    ):
        heard = asyncio.ensure_future(anext(foreign))
        for started in (run, other, run, run):
            told = await start(acme, started)
            assert await upcoming(every) == told
        assert await upcoming(stream) == of_run(run, "running")
        last = await start(acme, run)
        assert await upcoming(stream) == last
        assert not heard.done()
        heard.cancel()
        await asyncio.wait([heard])
    assert not changes.subscriptions
