"""The queue of evaluation runs: PgQueuer, in a schema of its own of the same database.

A job is enqueued in the transaction that creates its run, so neither exists without the other. PgQueuer lets any
holder of a job end it or keep it alive; `LeasedQueries` lets only the one that the lease belongs to.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

import asyncpg
from pgqueuer.adapters.drivers.asyncpg import AsyncpgDriver, AsyncpgPoolDriver
from pgqueuer.adapters.persistence.qb import QueryBuilderEnvironment, QueryQueueBuilder, QuerySchedulerBuilder
from pgqueuer.adapters.persistence.queries import Queries
from pgqueuer.core.qm import QueueManager
from pgqueuer.domain.models import Job, TracebackRecord
from pgqueuer.domain.settings import DBSettings
from pgqueuer.domain.types import JOB_STATUS, Channel, JobId
from pgqueuer.ports.driver import Driver

from db.tenant import Transaction

SETTINGS = DBSettings(db_schema="queue", channel=Channel("agentforge_jobs"))
ENTRYPOINT = "evaluation_run"

# PgQueuer's own table; statements on it live here, with the code that knows it.
_HELD = f"select id from {SETTINGS.qualified.queue_table} where id = any($1::bigint[]) and queue_manager_id = $2"  # noqa: S608


@dataclass(frozen=True, slots=True)
class RunJob:
    """What a job says: which run of which organization."""

    organization_id: UUID
    evaluation_run_id: UUID

    def encode(self) -> bytes:
        return f"{self.organization_id} {self.evaluation_run_id}".encode()

    @classmethod
    def decode(cls, payload: bytes | None) -> "RunJob":
        """Raises ValueError for a payload that `encode` did not write."""
        organization_id, evaluation_run_id = (payload or b"").decode().split(" ")
        return cls(UUID(organization_id), UUID(evaluation_run_id))


def queries(driver: Driver) -> Queries:
    return Queries(
        driver,
        QueryBuilderEnvironment(SETTINGS),
        QueryQueueBuilder(SETTINGS),
        QuerySchedulerBuilder(SETTINGS),
    )


async def enqueue(transaction: Transaction, job: RunJob) -> int:
    """Put a run into the queue when the transaction commits; returns the job's id."""
    (job_id,) = await queries(AsyncpgDriver(transaction.connection)).enqueue(ENTRYPOINT, job.encode())  # type: ignore[arg-type]
    return job_id


async def cancel(transaction: Transaction, job_id: int) -> None:
    """Take a job out of the queue when the transaction commits, and tell the worker that holds it."""
    await queries(AsyncpgDriver(transaction.connection)).mark_job_as_cancelled([JobId(job_id)])  # type: ignore[arg-type]


@dataclass
class LeasedQueries(Queries):
    """Changes only jobs whose lease this manager still holds; a worker that was followed by another changes none."""

    manager: QueueManager | None = None

    async def _held(self, job_ids: Sequence[JobId]) -> set[int]:
        assert self.manager is not None
        rows = await self.driver.fetch(_HELD, list(job_ids), self.manager.queue_manager_id)
        return {row["id"] for row in rows if isinstance(row["id"], int)}

    async def log_jobs(self, job_status: list[tuple[Job, JOB_STATUS, TracebackRecord | None]]) -> None:
        held = await self._held([job.id for job, _, _ in job_status])
        # An exception that escaped means that nothing was recorded, say because the database was away: the job stays
        # and is taken up again when its lease has run out.
        if ended := [entry for entry in job_status if entry[0].id in held and entry[1] != "exception"]:
            await Queries.log_jobs(self, ended)

    async def update_heartbeat(self, job_ids: list[JobId]) -> None:
        held = await self._held(job_ids)
        if alive := [job_id for job_id in job_ids if job_id in held]:
            await Queries.update_heartbeat(self, alive)

    async def retry_job(self, job: Job, delay: timedelta, traceback_record: TracebackRecord | None) -> None:
        if await self._held([job.id]):
            await Queries.retry_job(self, job, delay, traceback_record)


def queue_manager(pool: "asyncpg.Pool[asyncpg.Record]") -> QueueManager:
    """A manager that takes jobs for this process; its lease is fenced as `LeasedQueries` says."""
    leased = LeasedQueries(
        AsyncpgPoolDriver(pool),
        QueryBuilderEnvironment(SETTINGS),
        QueryQueueBuilder(SETTINGS),
        QuerySchedulerBuilder(SETTINGS),
    )
    leased.manager = QueueManager(leased, SETTINGS.channel)
    return leased.manager


async def install(connection: "asyncpg.Connection[asyncpg.Record]") -> None:
    """Create PgQueuer's tables or bring them up to the installed version; run as the owner, not in a transaction."""
    owner = queries(AsyncpgDriver(connection))
    if await owner.schema_is_installed():
        await owner.upgrade()
    else:
        await owner.install()
    await connection.execute(
        "grant usage on schema queue to agentforge_app;"
        "grant select, insert, update, delete on all tables in schema queue to agentforge_app;"
        "grant usage on all sequences in schema queue to agentforge_app"
    )
