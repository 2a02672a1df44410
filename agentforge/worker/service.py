"""The worker process: takes jobs until it is told to stop."""

import asyncio
import os
import signal
from contextlib import suppress
from datetime import timedelta

import asyncpg
import structlog
from pgqueuer.core.qm import QueueManager
from pgqueuer.domain.errors import FailingListenerError

from agentforge.settings import Settings
from agentforge.worker.job import Executor
from db.jobs import ENTRYPOINT, queue_manager
from db.pool import open_pool
from db.tenant import Pool

log = structlog.get_logger()

_PARENT_POLL_SECONDS = 0.5
_RECONNECT_SECONDS = 2.0
#: How a database shows that it went away, also while its connections are given back.
_DATABASE_GONE = (FailingListenerError, OSError, asyncpg.PostgresError, asyncpg.InterfaceError)
#: How long a worker without work waits for a notification before it looks into the queue by itself.
_IDLE_SECONDS = 30


async def work(settings: Settings, url: str, *, supervisor: int | None = None) -> None:
    """Execute jobs of the database at `url` until SIGTERM or SIGINT, then hand back what is under way.

    A database that goes away is waited for, once it was there. `supervisor`: the process that started this one; the
    worker stops when it has gone. Raises what `open_pool` raises when the database cannot be used from the start.
    """
    directory = settings.data_dir.resolve() / "worker"
    (directory / "bundles").mkdir(parents=True, exist_ok=True)
    stopping = asyncio.Event()
    keys = settings.encryption_keys()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopping.set)
    watch = asyncio.create_task(_set_without(supervisor, stopping)) if supervisor else None
    began = False
    while not stopping.is_set():
        try:
            # Each concurrent trial writes now and then; the queue needs a connection to listen and one to ask.
            async with open_pool(url, application_name="agentforge worker", max_size=settings.concurrency + 4) as pool:
                began = True
                log.info("worker_started", concurrency=settings.concurrency, directory=str(directory))
                await _take_jobs(settings, pool, Executor(pool, directory, settings.concurrency, stopping, keys))
        except _DATABASE_GONE as error:
            if not began:
                raise
            log.warning("database_gone", error=repr(error), retry_seconds=_RECONNECT_SECONDS)
            with suppress(TimeoutError):
                await asyncio.wait_for(stopping.wait(), _RECONNECT_SECONDS)
    if watch:
        watch.cancel()
    log.info("worker_stopped")


async def _take_jobs(settings: Settings, pool: Pool, executor: Executor) -> None:
    manager = queue_manager(pool)
    manager.entrypoint(ENTRYPOINT, accepts_context=True)(executor)
    stop = asyncio.create_task(_shut_down(manager, executor.stopping))
    try:
        await manager.run(
            batch_size=1,
            max_concurrent_tasks=max(2, settings.concurrency),
            dequeue_timeout=timedelta(seconds=min(_IDLE_SECONDS, settings.lease_seconds)),
            heartbeat_timeout=timedelta(seconds=settings.lease_seconds),
            shutdown_on_listener_failure=True,
        )
    finally:
        stop.cancel()


async def _shut_down(manager: QueueManager, stopping: asyncio.Event) -> None:
    await stopping.wait()
    log.info("worker_stopping")
    manager.shutdown.set()


async def _set_without(parent: int, stopping: asyncio.Event) -> None:
    while os.getppid() == parent:  # noqa: ASYNC110 - nothing tells when a parent has gone
        await asyncio.sleep(_PARENT_POLL_SECONDS)
    stopping.set()
