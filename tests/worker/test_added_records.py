"""Ends of runs and additions to them at once, and workers that come late with what they were asked for before."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from agentforge.worker import records
from agentforge.worker.records import MOST_LOST_EXECUTIONS, SupersededError
from db import executions, rollouts, runs, trials
from db.runs import EvaluationRun
from db.tenant import Joined, Tenant
from resolvers.additions import add_attempts, rerun_unscored
from resolvers.pass_at_k import decode
from resolvers.runs import cancel
from tests.factory import create_run, create_version
from tests.worker.test_records import OTHER_WORKER, OUTCOME, QUEUED, WORKER, claimed, queued_run, run_now, trial_now

PASSED = replace(OUTCOME, reward=1.0, failure_category=None)
CRASHED = replace(OUTCOME, status="errored", reward=None, failure_category="agent_crashed")
CANCELLED = replace(OUTCOME, status="cancelled", reward=None, failure_category=None)
WAITS = "select exists (select from pg_locks where not granted and locktype = 'transactionid')"


@asynccontextmanager
async def in_one_transaction(tenant: Tenant) -> AsyncIterator[Tenant]:
    """What is done inside is seen, and its locks are given up, when the block ends."""
    async with tenant.transaction() as transaction:
        yield Joined(tenant.pool, tenant.organization_id, transaction)


async def until_it_waits(tenant: Tenant, task: "asyncio.Task[object]") -> None:
    async with asyncio.timeout(20):
        while not await tenant.pool.fetchval(WAITS):
            assert not task.done()
            await asyncio.sleep(0.01)


def waiting_for(work: Awaitable[object]) -> "asyncio.Task[object]":
    async def wait() -> object:
        return await work

    return asyncio.create_task(wait())


async def finished_run(tenant: Tenant, task: str = "") -> EvaluationRun:
    """A running run whose one attempt has ended, and nobody has ended it yet."""
    run, (trial,) = await create_run(tenant, await create_version(tenant, task=task), [QUEUED], status="running")
    await records.finish(tenant, await claimed(tenant, trial), PASSED)
    return run


async def test_a_run_that_attempts_are_being_added_to_does_not_end(acme: Tenant) -> None:
    run = await finished_run(acme)
    async with in_one_transaction(acme) as first:
        await add_attempts(first, str(run.id), 2)
        ending = waiting_for(records.complete_run(acme, run.id))
        await until_it_waits(acme, ending)
    assert await ending is False
    now = await run_now(acme, run.id)
    assert (now.status, now.attempt_count, decode(now.pass_at_k)) == ("running", 3, [])


async def test_a_run_that_is_ending_is_opened_again_by_what_is_added(acme: Tenant) -> None:
    run = await finished_run(acme)
    async with in_one_transaction(acme) as first:
        assert await records.complete_run(first, run.id)
        adding = waiting_for(add_attempts(acme, str(run.id), 2))
        await until_it_waits(acme, adding)
    await adding
    now = await run_now(acme, run.id)
    assert (now.status, now.attempt_count, decode(now.pass_at_k)) == ("queued", 3, [])


async def test_a_run_that_is_being_cancelled_is_not_added_to(acme: Tenant) -> None:
    run, _ = await queued_run(acme)
    async with in_one_transaction(acme) as first:
        await cancel(first, str(run.id))
        adding = waiting_for(add_attempts(acme, str(run.id), 2))
        await until_it_waits(acme, adding)
    with pytest.raises(Exception, match="The run is cancelled"):
        await adding
    assert len(await acme.fetch(trials.BY_RUNS, [run.id])) == 1


async def test_no_run_ever_ends_with_an_open_attempt(acme: Tenant) -> None:
    ends: set[str] = set()
    for number in range(20):
        run = await finished_run(acme, f"number {number}")
        work: list[Awaitable[object]] = [records.complete_run(acme, run.id), add_attempts(acme, str(run.id), 1)]
        await asyncio.gather(*work, add_attempts(acme, str(run.id), 1), records.complete_run(acme, run.id))
        now = await run_now(acme, run.id)
        attempts = await acme.fetch(trials.BY_RUNS, [run.id])
        assert [trial.attempt for trial in attempts] == [1, 2, 3]
        assert [trial.status for trial in attempts] == ["completed", "queued", "queued"]
        assert (now.attempt_count, now.finished_at, decode(now.pass_at_k)) == (3, None, [])
        ends.add(now.status)
    assert ends <= {"queued", "running"}


async def test_the_estimate_is_made_again_of_all_attempts(acme: Tenant) -> None:
    run, (one, two) = await queued_run(acme, 2)
    await records.finish(acme, await claimed(acme, one), PASSED)
    await records.finish(acme, await claimed(acme, two), CRASHED)
    estimates = []
    for change in (lambda: rerun_unscored(acme, str(run.id)), lambda: add_attempts(acme, str(run.id), 2), None):
        assert await records.complete_run(acme, run.id)
        ended = await run_now(acme, run.id)
        estimates.append(([one.estimate for one in decode(ended.pass_at_k)], ended.unscored_attempts))
        if change:
            await _pass_all_open(acme, run, change)
    assert estimates == [([0.5, 1], 1), ([1, 1], 0), ([1, 1, 1, 1], 0)]


async def _pass_all_open(tenant: Tenant, run: EvaluationRun, change: Callable[[], Awaitable[object]]) -> None:
    await change()
    for trial in await tenant.fetch(trials.BY_RUNS, [run.id]):
        if trial.status == "queued":
            assert not await records.complete_run(tenant, run.id)
            await records.finish(tenant, await claimed(tenant, trial), PASSED)


async def test_a_late_worker_of_an_earlier_execution_changes_nothing(acme: Tenant) -> None:
    run, (trial,) = await queued_run(acme)
    late = await claimed(acme, trial)
    await cancel(acme, str(run.id))
    await rerun_unscored(acme, str(run.id))
    again = await trial_now(acme, trial)
    for outcome in (PASSED, CANCELLED):
        with pytest.raises(SupersededError):
            await records.finish(acme, late, outcome)
    await records.release(acme, late)
    assert await trial_now(acme, trial) == again
    current = await claimed(acme, again)
    assert (current.execution, current.lost_executions) == (2, 0)
    with pytest.raises(SupersededError):
        await records.finish(acme, late, PASSED)
    assert await trial_now(acme, trial) == current
    await records.finish(acme, current, PASSED)
    told = await acme.fetch(executions.BY_TRIALS, [trial.id])
    assert [(one.execution, one.status, one.reward) for one in told] == [(1, "cancelled", None), (2, "completed", 1.0)]
    assert len(await acme.fetch(rollouts.BY_TRIALS, [trial.id])) == 1


async def test_what_is_done_again_is_not_begun_by_the_job_that_had_it_before(acme: Tenant) -> None:
    """Also where both jobs are one worker's: who has not heard of the cancellation yet holds the trial as it was."""
    run, (before,) = await queued_run(acme)
    await cancel(acme, str(run.id))
    await rerun_unscored(acme, str(run.id))
    again = await trial_now(acme, before)
    assert (again.execution, again.status) == (before.execution, "queued")
    for worker in (WORKER, OTHER_WORKER):
        with pytest.raises(SupersededError):
            await records.claim(acme, before, worker)
    current = await claimed(acme, again)
    with pytest.raises(SupersededError):
        await records.claim(acme, before, WORKER)
    assert await trial_now(acme, before) == current


async def test_a_job_from_before_does_not_fail_the_run(acme: Tenant) -> None:
    run, (trial,) = await queued_run(acme)
    async with acme.transaction() as transaction:
        await transaction.fetch(runs.SET_JOB, run.id, 5)
    await cancel(acme, str(run.id))
    await rerun_unscored(acme, str(run.id))
    again = await trial_now(acme, trial)
    before = await run_now(acme, run.id)
    await records.fail_run(acme, run.id, 5, "a late error")
    assert (await run_now(acme, run.id), await trial_now(acme, trial)) == (before, again)
    await records.fail_run(acme, run.id, again.job_id, "its own")
    assert (await run_now(acme, run.id)).failure_detail == "its own"


async def test_losses_are_counted_anew(acme: Tenant) -> None:
    run, (trial,) = await queued_run(acme)
    for lost in (MOST_LOST_EXECUTIONS, 2 * MOST_LOST_EXECUTIONS):
        while await records.claim(acme, await trial_now(acme, trial), WORKER):
            pass
        ended = await trial_now(acme, trial)
        assert (ended.status, ended.execution, ended.lost_executions) == ("interrupted", lost, MOST_LOST_EXECUTIONS)
        await records.complete_run(acme, run.id)
        await rerun_unscored(acme, str(run.id))
    told = await acme.fetch(executions.BY_TRIALS, [trial.id])
    assert [one.status for one in told] == ["lost"] * 2 * MOST_LOST_EXECUTIONS


async def test_another_organization_s_runs_are_not_there(acme: Tenant, rival: Tenant) -> None:
    run = await finished_run(acme)
    await records.complete_run(acme, run.id)
    before = await run_now(acme, run.id)
    for change in (add_attempts(rival, str(run.id), 1), rerun_unscored(rival, str(run.id))):
        with pytest.raises(Exception, match="There is no such evaluation run"):
            await change
    assert await run_now(acme, run.id) == before
