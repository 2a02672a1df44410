"""The worker process: takes jobs until it is told to stop."""

import asyncio
import os
import secrets
import signal
import socket
import sys
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from functools import partial
from pathlib import Path

import asyncpg
import structlog
from pgqueuer.core.qm import QueueManager
from pgqueuer.domain.errors import FailingListenerError

from agentforge.collection import spare_what_stays
from agentforge.settings import Settings
from agentforge.worker.folders import attempts_folder
from agentforge.worker.guards import Guards
from agentforge.worker.job import Executor
from agentforge.worker.metrics import Metrics
from agentforge.worker.protection import gaps
from agentforge.worker.reports import Reports, reporting
from agentforge.worker.sandbox import open_sandbox
from agentforge.worker.table import Display, showing
from db.jobs import ENTRYPOINT, queue_manager
from db.patience import Patience
from db.pool import open_pool
from db.tenant import Pool

log = structlog.get_logger()

_PARENT_POLL_SECONDS = 0.5
_RECONNECT_SECONDS = 2.0
#: How much longer than its lease a worker that stops waits for a database that does not answer.
_SILENCE_SECONDS = 10.0
#: What still gets through when a database that went away was waited for in vain.
_DATABASE_GONE = (FailingListenerError, OSError, asyncpg.PostgresError, asyncpg.InterfaceError)
#: How long a worker without work waits for a notification before it looks into the queue by itself.
_IDLE_SECONDS = 10


def worker_name() -> str:
    """Names this process among all workers, also after a restart: host, process, something random."""
    return f"{socket.gethostname()}/{os.getpid()}/{secrets.token_hex(4)}"


async def work(settings: Settings, url: str, *, supervisor: int | None = None, display: Display | None = None) -> None:
    """Execute jobs of the database at `url` until SIGTERM or SIGINT.

    Then no attempt begins; those under way have `stop_seconds` to end, or until the signal comes again, before they
    are handed back. A database that goes away is waited for, once it was there. `supervisor`: the process that
    started this one; the worker stops when it has gone. `display` shows what is done. Raises what `open_pool` raises
    when the database cannot be used from the start, and SandboxError. One that is there and says nothing is left in
    the end, as if this process had been killed.
    """
    directory = settings.data_dir.resolve() / "worker"
    (directory / "bundles").mkdir(parents=True, exist_ok=True)
    with attempts_folder(directory) as attempts:
        await _work(settings, url, supervisor, attempts, directory / "bundles", display)


async def _work(
    settings: Settings, url: str, supervisor: int | None, directory: Path, bundles: Path, display: Display | None
) -> None:
    sandbox = await asyncio.to_thread(open_sandbox, settings)
    for gap in gaps(sandboxed=sandbox is not None):
        log.warning("protection_missing", reason=gap)
    keys = settings.encryption_keys()
    stopping, handing_back = asyncio.Event(), asyncio.Event()
    stop = partial(_stop, stopping, handing_back, settings.stop_seconds)
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop)
    watch = asyncio.create_task(_stop_without(supervisor, stop)) if supervisor else None
    name, metrics = worker_name(), Metrics()
    reports = Reports(name, settings.concurrency, metrics)
    spare_what_stays()
    with Guards() as guards:
        executor = partial(
            Executor,
            directory=directory,
            bundles=bundles,
            concurrency=settings.concurrency,
            worker=name,
            stopping=stopping,
            handing_back=handing_back,
            keys=keys,
            sandbox=sandbox,
            guards=guards if sys.platform == "linux" else None,
            metrics=metrics,
        )
        await _work_on(settings, url, stopping, executor, reports, display)
    if watch:
        watch.cancel()
    log.info("worker_stopped")


async def _work_on(
    settings: Settings,
    url: str,
    stopping: asyncio.Event,
    new_executor: Callable[[Pool], Executor],
    reports: Reports,
    display: Display | None,
) -> None:
    has_begun = False
    while not stopping.is_set():
        try:
            # Each concurrent trial writes now and then; the queue needs a connection to listen and one to ask.
            async with open_pool(url, application_name="agentforge worker", max_size=settings.concurrency + 4) as pool:
                has_begun, executor = True, new_executor(pool)
                where = {"worker": executor.worker, "directory": str(executor.directory)}
                log.info("worker_started", concurrency=executor.concurrency, **where)
                async with reporting(reports, pool), showing(display, reports.metrics, pool):
                    await _take_jobs(settings, pool, executor)
        except _DATABASE_GONE as error:
            if not has_begun:
                raise
            log.warning("database_gone", error=repr(error), retry_seconds=_RECONNECT_SECONDS)
            with suppress(TimeoutError):
                await asyncio.wait_for(stopping.wait(), _RECONNECT_SECONDS)


def _stop(stopping: asyncio.Event, handing_back: asyncio.Event, seconds: float) -> None:
    if stopping.is_set():
        handing_back.set()
        return
    stopping.set()
    asyncio.get_running_loop().call_later(seconds, handing_back.set)


async def _take_jobs(settings: Settings, pool: Pool, executor: Executor) -> None:
    manager = queue_manager(
        pool,
        patience=Patience(executor.stopping),
        room=lambda: executor.places.room(manager.job_context, executor.stopping),
    )
    manager.entrypoint(ENTRYPOINT, accepts_context=True)(executor)
    stop = asyncio.create_task(_shut_down(manager, executor.stopping))
    leave = asyncio.create_task(_leave(pool, executor.handing_back, settings.lease_seconds + _SILENCE_SECONDS))
    try:
        await manager.run(
            batch_size=1,
            dequeue_timeout=timedelta(seconds=min(_IDLE_SECONDS, settings.lease_seconds)),
            heartbeat_timeout=timedelta(seconds=settings.lease_seconds),
            shutdown_on_listener_failure=True,
        )
    finally:
        stop.cancel()
        leave.cancel()


async def _shut_down(manager: QueueManager, stopping: asyncio.Event) -> None:
    await stopping.wait()
    log.info("worker_stopping")
    manager.shutdown.set()


async def _leave(pool: Pool, handing_back: asyncio.Event, seconds: float) -> None:
    await handing_back.wait()
    await asyncio.sleep(seconds)
    log.warning("database_silent", seconds=seconds)
    pool.terminate()


async def _stop_without(parent: int, stop: Callable[[], None]) -> None:
    while os.getppid() == parent:  # noqa: ASYNC110 - nothing tells when a parent has gone
        await asyncio.sleep(_PARENT_POLL_SECONDS)
    stop()
