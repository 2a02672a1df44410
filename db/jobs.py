"""The queue of evaluation runs: PgQueuer, in a schema of its own of the same database.

A job is enqueued in the transaction that creates its run, so neither exists without the other. PgQueuer lets any
holder of a job end it or keep it alive; `LeasedQueries` lets only the one that the lease belongs to.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, TypeVar
from uuid import UUID

import asyncpg
from pgqueuer.adapters.drivers.asyncpg import AsyncpgDriver, AsyncpgPoolDriver
from pgqueuer.adapters.persistence.qb import QueryBuilderEnvironment, QueryQueueBuilder, QuerySchedulerBuilder
from pgqueuer.adapters.persistence.queries import Queries
from pgqueuer.core.qm import QueueManager
from pgqueuer.domain.models import Job, TracebackRecord
from pgqueuer.domain.settings import DBSettings
from pgqueuer.domain.types import JOB_STATUS, Channel, JobId
from pgqueuer.ports.driver import Driver, NotifyCallback

from db.patience import Patience
from db.tenant import Transaction
from db.workers import TABLES

SETTINGS = DBSettings(db_schema="queue", channel=Channel("agentforge_jobs"))
ENTRYPOINT = "evaluation_run"

Result = TypeVar("Result")

# PgQueuer's own table; statements on it live here, with the code that knows it.
_HELD = f"select id from {SETTINGS.qualified.queue_table} where id = any($1::bigint[]) and queue_manager_id = $2"  # noqa: S608

# Start-time fair queuing (Goyal, Vin and Cheng 1996): a job's turn is where its organization's last one ended, but not
# before what is being served; each attempt moves the next one on. Jobs are taken in the order of their turns, so an
# organization with a single run waits for one run of each other organization, however many they have queued.
_TURNS = """
create table if not exists queue.turns (organization_id uuid primary key, next bigint not null)
"""
_TAKE_TURN = f"""
with served as (
  select coalesce(
    (select -max(priority) from {SETTINGS.qualified.queue_table} where status = 'queued' and entrypoint = $3),
    (select max(next) from queue.turns), 0) as turn
)
insert into queue.turns as turns (organization_id, next)
select $1, served.turn + $2::int from served
on conflict (organization_id) do update set next = greatest(turns.next, excluded.next - $2::int) + $2::int
returning least(next - $2::int, 2147483647)::int
"""  # noqa: S608
_GIVE_TURN_BACK = "update queue.turns set next = next - $2::int where organization_id = $1"


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


async def enqueue(transaction: Transaction, job: RunJob, attempts: int) -> int:
    """Put a run of so many attempts into the queue when the transaction commits; returns the job's id."""
    turn = await transaction.connection.fetchval(_TAKE_TURN, job.organization_id, attempts, ENTRYPOINT)
    queue = queries(AsyncpgDriver(transaction.connection))  # type: ignore[arg-type]
    # For whoever counts what waits: the attempts themselves are behind row-level security.
    headers = {"attempts": str(attempts)}
    (job_id,) = await queue.enqueue(ENTRYPOINT, job.encode(), priority=-turn, headers=headers)
    return job_id


async def cancel(transaction: Transaction, organization_id: UUID, attempts: int, *job_ids: int) -> None:
    """Take jobs out of the queue when the transaction commits, and tell the workers that hold them.

    `attempts`: how many of theirs never began. They were no turn of their organization's.
    """
    await transaction.connection.execute(_GIVE_TURN_BACK, organization_id, attempts)
    queue = queries(AsyncpgDriver(transaction.connection))  # type: ignore[arg-type]
    await queue.mark_job_as_cancelled([JobId(job_id) for job_id in job_ids])


class PatientDriver(AsyncpgPoolDriver):
    """Waits for a database that is away, and listens again when it is back."""

    def __init__(self, pool: "asyncpg.Pool[asyncpg.Record]", patience: Patience) -> None:
        super().__init__(pool)
        self._patience = patience
        self._listeners: list[tuple[str, NotifyCallback]] = []
        self._listening = asyncio.Lock()

    async def fetch(self, query: str, *args: object) -> list[dict[str, object]]:
        return await self._patiently(lambda: AsyncpgPoolDriver.fetch(self, query, *args))

    async def execute(self, query: str, *args: object) -> str:
        return await self._patiently(lambda: AsyncpgPoolDriver.execute(self, query, *args))

    async def notify(self, channel: str, payload: str) -> None:
        await self._patiently(lambda: AsyncpgPoolDriver.notify(self, channel, payload))

    async def add_listener(self, channel: str, callback: NotifyCallback) -> None:
        await self._patience(lambda: AsyncpgPoolDriver.add_listener(self, channel, callback))
        self._listeners.append((channel, callback))

    async def _patiently(self, statement: Callable[[], Awaitable[Result]]) -> Result:
        async def attempt() -> Result:
            await self._listen_again()
            return await statement()

        return await self._patience(attempt)

    async def _listen_again(self) -> None:
        async with self._listening:
            connection = self._listener_connection
            if connection is None or not _is_lost(connection):
                return
            await self._pool.release(connection)
            self._listener_connection = None
            for channel, callback in self._listeners:
                await AsyncpgPoolDriver.add_listener(self, channel, callback)


def _is_lost(connection: "asyncpg.pool.PoolConnectionProxy[asyncpg.Record]") -> bool:
    try:
        return connection.is_closed()
    except asyncpg.InterfaceError:  # the pool has dropped it, and what stands for it no longer answers
        return True


async def _at_once() -> None:
    """There is always room."""


@dataclass
class LeasedQueries(Queries):
    """Changes only jobs whose lease this manager still holds; a worker that was followed by another changes none.

    Takes a job only when there is `room` for it.
    """

    manager: QueueManager | None = None
    room: Callable[[], Awaitable[None]] = _at_once

    async def dequeue(self, *args: Any, **kwargs: Any) -> list[Job]:
        assert self.manager is not None
        await self.room()
        return [] if self.manager.shutdown.is_set() else await Queries.dequeue(self, *args, **kwargs)

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


def queue_manager(
    pool: "asyncpg.Pool[asyncpg.Record]",
    *,
    patience: Patience | None = None,
    room: Callable[[], Awaitable[None]] = _at_once,
) -> QueueManager:
    """A manager that takes jobs for this process; its lease is fenced as `LeasedQueries` says.

    `room` returns when another job may be taken. Without `patience` a database that goes away is an error.
    """
    leased = LeasedQueries(
        PatientDriver(pool, patience) if patience else AsyncpgPoolDriver(pool),
        QueryBuilderEnvironment(SETTINGS),
        QueryQueueBuilder(SETTINGS),
        QuerySchedulerBuilder(SETTINGS),
        room=room,
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
    await connection.execute(_TURNS)
    await connection.execute(TABLES)
    await connection.execute(
        "grant usage on schema queue to agentforge_app;"
        "grant select, insert, update, delete on all tables in schema queue to agentforge_app;"
        "grant usage on all sequences in schema queue to agentforge_app"
    )
