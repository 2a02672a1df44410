"""Workers and the queue as a whole: each report counts once, and nothing tells of an organization."""

from datetime import timedelta
from uuid import uuid4

import pytest

from db import jobs, workers
from db.jobs import RunJob
from db.tenant import Tenant, fetch_before_organization
from db.workers import Present, Total, Waiting
from tests.db.conftest import Connection, Pool

TRIALS = '["agentforge_trials", "agentforge_trials_total", {"status": "completed"}]'


async def report(pool: Pool, name: str, number: int, series: dict[str, float], places: int = 2, taken: int = 1) -> bool:
    arguments = (name, "host", places, taken, number, list(series), list(series.values()))
    (reported,) = await fetch_before_organization(pool, workers.REPORT, *arguments)
    return reported.is_new


async def totals(pool: Pool) -> list[Total]:
    return await fetch_before_organization(pool, workers.TOTALS)


async def present(pool: Pool) -> Present:
    (found,) = await fetch_before_organization(pool, workers.PRESENT)
    return found


async def waiting(pool: Pool) -> Waiting:
    (found,) = await fetch_before_organization(pool, workers.WAITING)
    return found


async def silence(administrator: Connection, name: str, seconds: float) -> None:
    changed = await administrator.execute(
        "update queue.workers set last_seen_at = now() - $2::interval where name = $1", name, timedelta(seconds=seconds)
    )
    assert changed == "UPDATE 1"


async def test_reports_of_all_workers_are_added_up(pool: Pool) -> None:
    assert await report(pool, "a", 1, {TRIALS: 3, "other": 1.5})
    assert await report(pool, "b", 1, {TRIALS: 4})
    assert await report(pool, "a", 2, {TRIALS: 1})
    assert await report(pool, "a", 3, {})
    assert await totals(pool) == [Total(TRIALS, 8), Total("other", 1.5)]


async def test_a_report_that_comes_again_counts_once(pool: Pool) -> None:
    assert await report(pool, "a", 1, {TRIALS: 3})
    assert await report(pool, "a", 2, {TRIALS: 2})
    assert not await report(pool, "a", 2, {TRIALS: 2})
    assert not await report(pool, "a", 1, {TRIALS: 3})
    assert await totals(pool) == [Total(TRIALS, 5)]


async def test_what_was_counted_stays_when_its_worker_has_gone(pool: Pool) -> None:
    await report(pool, "a", 1, {TRIALS: 3})
    await fetch_before_organization(pool, workers.LEAVE, "a")
    assert await present(pool) == Present(0, 0, 0)
    await report(pool, "b", 1, {TRIALS: 1})
    assert await totals(pool) == [Total(TRIALS, 4)]


async def test_silent_workers_are_not_present_and_in_time_forgotten(pool: Pool, administrator: Connection) -> None:
    await report(pool, "a", 1, {}, places=2, taken=1)
    await report(pool, "b", 1, {}, places=8, taken=8)
    assert await present(pool) == Present(2, 10, 9)
    await silence(administrator, "b", 31)
    assert await present(pool) == Present(1, 2, 1)
    await report(pool, "b", 2, {TRIALS: 1}, places=8, taken=0)
    assert await present(pool) == Present(2, 10, 1)
    await silence(administrator, "b", 3601)
    await report(pool, "a", 2, {})
    assert [row["name"] for row in await administrator.fetch("select name from queue.workers")] == ["a"]
    # One that wakes up after that is a worker again, and its counts are added to those it told before.
    assert await report(pool, "b", 3, {TRIALS: 1})
    assert await totals(pool) == [Total(TRIALS, 2)]


async def test_what_waits_is_counted_over_all_organizations(
    acme: Tenant, rival: Tenant, pool: Pool, administrator: Connection
) -> None:
    assert await waiting(pool) == Waiting(0, 0, 0, 0.0)
    for tenant, attempts in ((acme, 8), (acme, 1), (rival, 4)):
        async with tenant.transaction() as transaction:
            await jobs.enqueue(transaction, RunJob(tenant.organization_id, uuid4()), attempts)
    await administrator.execute(
        "update queue.pgqueuer set created = now() - interval '90 seconds' where headers ->> 'attempts' = '4'"
    )
    found = await waiting(pool)
    assert (found.queued_runs, found.taken_runs, found.queued_attempts) == (3, 0, 13)
    assert found.oldest_seconds == pytest.approx(90, abs=60)
    await administrator.execute(
        "update queue.pgqueuer set status = 'picked' where headers ->> 'attempts' in ('4', '1')"
    )
    found = await waiting(pool)
    assert (found.queued_runs, found.taken_runs, found.queued_attempts) == (1, 2, 8)
    assert found.oldest_seconds < 90


async def test_a_job_from_before_attempts_were_told_counts_as_one(acme: Tenant, administrator: Connection) -> None:
    async with acme.transaction() as transaction:
        await jobs.enqueue(transaction, RunJob(acme.organization_id, uuid4()), 8)
    await administrator.execute("update queue.pgqueuer set headers = null")
    assert (await waiting(acme.pool)).queued_attempts == 1


async def test_nothing_of_it_tells_of_an_organization(administrator: Connection) -> None:
    columns = await administrator.fetch(
        "select table_name, column_name from information_schema.columns "
        "where table_schema = 'queue' and table_name in ('workers', 'totals')"
    )
    assert {row["column_name"] for row in columns} == {
        *("name", "host", "started_at", "last_seen_at", "places", "places_taken", "report"),
        *("series", "value"),
    }
