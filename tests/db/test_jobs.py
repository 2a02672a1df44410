"""The queue: a job exists with its run or not at all, and only the holder of its lease may end it."""

from datetime import timedelta
from uuid import uuid4

import asyncpg
import pytest
from pgqueuer.core.qm import QueueManager
from pgqueuer.domain.models import Job
from pgqueuer.domain.types import JOB_STATUS, QueueEntrypoint
from pgqueuer.ports.repository import EntrypointExecutionParameter

from db import jobs
from db.embedded import DatabaseUrls
from db.jobs import RunJob
from db.tenant import Tenant
from tests.db.conftest import Connection, Pool

LEASE = timedelta(seconds=30)
QUEUE = "select id, status::text, queue_manager_id, heartbeat, payload from queue.pgqueuer order by id"


@pytest.fixture
def job(acme: Tenant) -> RunJob:
    return RunJob(acme.organization_id, uuid4())


async def take(manager: QueueManager) -> list[Job]:
    """What the manager is given of the queue."""
    unlimited = {QueueEntrypoint(jobs.ENTRYPOINT): EntrypointExecutionParameter(concurrency_limit=0)}
    return await manager.queries.dequeue(10, unlimited, manager.queue_manager_id, None, LEASE)


async def enqueue(tenant: Tenant, job: RunJob) -> int:
    async with tenant.transaction() as transaction:
        return await jobs.enqueue(transaction, job)


def test_a_payload_is_read_as_it_was_written() -> None:
    job = RunJob(uuid4(), uuid4())
    assert RunJob.decode(job.encode()) == job


@pytest.mark.parametrize("payload", [None, b"", b"one", b"one two", b"a b c", b"\xff \xff"])
def test_another_payload_is_refused(payload: bytes | None) -> None:
    with pytest.raises(ValueError, match=r"unpack|UUID|decode"):
        RunJob.decode(payload)


async def test_a_job_is_taken_once_its_transaction_is_committed(acme: Tenant, pool: Pool, job: RunJob) -> None:
    manager = jobs.queue_manager(pool)
    async with acme.transaction() as transaction:
        job_id = await jobs.enqueue(transaction, job)
        assert await take(manager) == []
    (taken,) = await take(manager)
    assert taken.id == job_id
    assert RunJob.decode(taken.payload) == job
    assert await take(jobs.queue_manager(pool)) == []


class _UndoError(Exception):
    pass


async def enqueue_and_undo(tenant: Tenant, job: RunJob) -> None:
    async with tenant.transaction() as transaction:
        await jobs.enqueue(transaction, job)
        raise _UndoError


async def cancel_and_undo(tenant: Tenant, job_id: int) -> None:
    async with tenant.transaction() as transaction:
        await jobs.cancel(transaction, job_id)
        raise _UndoError


async def test_a_rolled_back_transaction_leaves_the_queue_alone(
    acme: Tenant, administrator: Connection, job: RunJob
) -> None:
    with pytest.raises(_UndoError):
        await enqueue_and_undo(acme, job)
    assert await administrator.fetch(QUEUE) == []
    job_id = await enqueue(acme, job)
    with pytest.raises(_UndoError):
        await cancel_and_undo(acme, job_id)
    assert [row["id"] for row in await administrator.fetch(QUEUE)] == [job_id]


async def test_a_cancelled_job_is_gone(acme: Tenant, pool: Pool, administrator: Connection, job: RunJob) -> None:
    job_id = await enqueue(acme, job)
    async with acme.transaction() as transaction:
        await jobs.cancel(transaction, job_id)
    assert await administrator.fetch(QUEUE) == []
    assert await take(jobs.queue_manager(pool)) == []


async def lose_lease(administrator: Connection, job: Job) -> None:
    """As if the holder had been silent for longer than its lease."""
    changed = await administrator.execute(
        "update queue.pgqueuer set heartbeat = now() - $2::interval where id = $1", job.id, 2 * LEASE
    )
    assert changed == "UPDATE 1"


@pytest.fixture
async def lost(
    acme: Tenant, pool: Pool, administrator: Connection, job: RunJob
) -> tuple[QueueManager, QueueManager, Job]:
    """A manager that lost its lease, the one that followed it, and the job."""
    former, present = jobs.queue_manager(pool), jobs.queue_manager(pool)
    await enqueue(acme, job)
    (taken,) = await take(former)
    assert await take(present) == []
    await lose_lease(administrator, taken)
    (followed,) = await take(present)
    assert followed.id == taken.id
    return former, present, taken


@pytest.mark.parametrize("status", ["successful", "canceled", "deleted", "failed"])
async def test_only_the_holder_of_the_lease_ends_the_job(
    status: JOB_STATUS, lost: tuple[QueueManager, QueueManager, Job], administrator: Connection
) -> None:
    former, present, job = lost
    before = await administrator.fetch(QUEUE)
    assert before[0]["queue_manager_id"] == present.queue_manager_id
    await former.queries.log_jobs([(job, status, None)])
    assert await administrator.fetch(QUEUE) == before
    await present.queries.log_jobs([(job, status, None)])
    after = await administrator.fetch(QUEUE)
    assert [row["status"] for row in after] == (["failed"] if status == "failed" else [])


async def test_a_job_whose_handler_raised_waits_for_its_lease_to_run_out(
    lost: tuple[QueueManager, QueueManager, Job], administrator: Connection
) -> None:
    former, present, job = lost
    before = await administrator.fetch(QUEUE)
    await present.queries.log_jobs([(job, "exception", None)])
    assert await administrator.fetch(QUEUE) == before
    await lose_lease(administrator, job)
    (followed,) = await take(former)
    assert followed.id == job.id


async def test_only_the_holder_of_the_lease_retries_the_job(
    lost: tuple[QueueManager, QueueManager, Job], administrator: Connection
) -> None:
    former, present, job = lost
    before = await administrator.fetch(QUEUE)
    await former.queries.retry_job(job, timedelta(0), None)
    assert await administrator.fetch(QUEUE) == before
    await present.queries.retry_job(job, timedelta(0), None)
    (row,) = await administrator.fetch(QUEUE)
    assert (row["status"], row["queue_manager_id"]) == ("queued", None)


async def test_only_the_holder_of_the_lease_keeps_the_job_alive(
    lost: tuple[QueueManager, QueueManager, Job], administrator: Connection
) -> None:
    former, present, job = lost
    await lose_lease(administrator, job)
    (before,) = await administrator.fetch(QUEUE)
    await former.queries.update_heartbeat([job.id])
    assert await administrator.fetch(QUEUE) == [before]
    await present.queries.update_heartbeat([job.id])
    (after,) = await administrator.fetch(QUEUE)
    assert after["heartbeat"] > before["heartbeat"]


async def test_a_manager_ends_those_of_its_jobs_that_it_still_holds(
    lost: tuple[QueueManager, QueueManager, Job], acme: Tenant, administrator: Connection
) -> None:
    former, present, job = lost
    await enqueue(acme, RunJob(acme.organization_id, uuid4()))
    (own,) = await take(former)
    await former.queries.log_jobs([(job, "successful", None), (own, "successful", None)])
    (left,) = await administrator.fetch(QUEUE)
    assert (left["id"], left["queue_manager_id"]) == (job.id, present.queue_manager_id)


async def test_installing_again_keeps_jobs_and_grants(
    database: DatabaseUrls, acme: Tenant, pool: Pool, job: RunJob
) -> None:
    job_id = await enqueue(acme, job)
    owner = await asyncpg.connect(database.owner)
    try:
        for _ in range(2):
            await jobs.install(owner)
    finally:
        await owner.close()
    (taken,) = await take(jobs.queue_manager(pool))
    assert taken.id == job_id
