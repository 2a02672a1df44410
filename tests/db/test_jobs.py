"""The queue: a job exists with its run or not at all, and only the holder of its lease may end it."""

from datetime import timedelta
from uuid import UUID, uuid4

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


async def take(manager: QueueManager, count: int = 10) -> list[Job]:
    """What the manager is given of the queue."""
    unlimited = {QueueEntrypoint(jobs.ENTRYPOINT): EntrypointExecutionParameter(concurrency_limit=0)}
    return await manager.queries.dequeue(count, unlimited, manager.queue_manager_id, None, LEASE)


async def take_one(manager: QueueManager) -> tuple[int, UUID]:
    """Id and organization of the next job."""
    (job,) = await take(manager, 1)
    return job.id, RunJob.decode(job.payload).organization_id


async def enqueue(tenant: Tenant, job: RunJob, attempts: int = 1) -> int:
    async with tenant.transaction() as transaction:
        return await jobs.enqueue(transaction, job, attempts)


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
        job_id = await jobs.enqueue(transaction, job, 1)
        assert await take(manager) == []
    (taken,) = await take(manager)
    assert taken.id == job_id
    assert RunJob.decode(taken.payload) == job
    assert await take(jobs.queue_manager(pool)) == []


class _UndoError(Exception):
    pass


async def enqueue_and_undo(tenant: Tenant, job: RunJob) -> None:
    async with tenant.transaction() as transaction:
        await jobs.enqueue(transaction, job, 1)
        raise _UndoError


async def cancel_and_undo(tenant: Tenant, job_id: int) -> None:
    async with tenant.transaction() as transaction:
        await jobs.cancel(transaction, tenant.organization_id, 1, job_id)
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
        await jobs.cancel(transaction, acme.organization_id, 1, job_id)
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


async def test_one_organization_s_queue_does_not_starve_another(acme: Tenant, rival: Tenant, pool: Pool) -> None:
    for _ in range(40):
        await enqueue(acme, RunJob(acme.organization_id, uuid4()), attempts=4)
    manager = jobs.queue_manager(pool)
    served = [await take_one(manager) for _ in range(3)]
    single = await enqueue(rival, RunJob(rival.organization_id, uuid4()))
    following = [await take_one(manager) for _ in range(2)]
    assert {organization for _, organization in served} == {acme.organization_id}
    assert single in [job_id for job_id, _ in following]


async def test_organizations_take_turns_by_attempts(acme: Tenant, rival: Tenant, pool: Pool) -> None:
    """One that queues runs of two attempts is served as many attempts as one with runs of eight."""
    for _ in range(4):
        await enqueue(acme, RunJob(acme.organization_id, uuid4()), attempts=8)
    for _ in range(16):
        await enqueue(rival, RunJob(rival.organization_id, uuid4()), attempts=2)
    manager = jobs.queue_manager(pool)
    attempts = {acme.organization_id: 0, rival.organization_id: 0}
    for _ in range(20):
        _, organization = await take_one(manager)
        attempts[organization] += 8 if organization == acme.organization_id else 2
        assert abs(attempts[acme.organization_id] - attempts[rival.organization_id]) <= 8
    assert set(attempts.values()) == {32}


async def test_an_organization_that_was_away_saves_no_turns(acme: Tenant, rival: Tenant, pool: Pool) -> None:
    manager = jobs.queue_manager(pool)
    for _ in range(20):
        await enqueue(acme, RunJob(acme.organization_id, uuid4()))
        await take_one(manager)
    for _ in range(10):
        await enqueue(rival, RunJob(rival.organization_id, uuid4()))
        await enqueue(acme, RunJob(acme.organization_id, uuid4()))
    served = [(await take_one(manager))[1] for _ in range(10)]
    assert abs(served.count(acme.organization_id) - served.count(rival.organization_id)) <= 2


async def test_what_was_cancelled_before_it_began_cost_no_turn(acme: Tenant, rival: Tenant, pool: Pool) -> None:
    await enqueue(rival, RunJob(rival.organization_id, uuid4()))
    for _ in range(20):
        job_id = await enqueue(acme, RunJob(acme.organization_id, uuid4()), attempts=8)
        async with acme.transaction() as transaction:
            await jobs.cancel(transaction, acme.organization_id, 8, job_id)
    for _ in range(4):
        await enqueue(rival, RunJob(rival.organization_id, uuid4()))
    single = await enqueue(acme, RunJob(acme.organization_id, uuid4()))
    manager = jobs.queue_manager(pool)
    assert single in [(await take_one(manager))[0] for _ in range(2)]
