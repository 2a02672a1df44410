"""The worker process: takes jobs until it is told to stop."""

import asyncio
import os
import signal
from collections.abc import Callable
from datetime import timedelta

import structlog

from agentforge.settings import Settings
from agentforge.worker.job import Executor
from db.jobs import ENTRYPOINT, queue_manager
from db.pool import open_pool

log = structlog.get_logger()

_PARENT_POLL_SECONDS = 0.5
#: How long a worker without work waits for a notification before it looks into the queue by itself.
_IDLE_SECONDS = 30


async def work(settings: Settings, url: str, *, supervisor: int | None = None) -> None:
    """Execute jobs of the database at `url` until SIGTERM or SIGINT, then hand back what is under way.

    `supervisor`: the process that started this one; the worker stops when it has gone.
    """
    directory = settings.data_dir.resolve() / "worker"
    (directory / "bundles").mkdir(parents=True, exist_ok=True)
    # Each concurrent trial writes now and then; the queue needs a connection to listen and one to ask.
    async with open_pool(url, application_name="agentforge worker", max_size=settings.concurrency + 4) as pool:
        manager = queue_manager(pool)
        executor = Executor(pool, directory, settings.concurrency)
        manager.entrypoint(ENTRYPOINT, accepts_context=True)(executor)

        def stop() -> None:
            log.info("worker_stopping")
            executor.stopping.set()
            manager.shutdown.set()

        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, stop)
        watch = asyncio.create_task(_stop_without(supervisor, stop)) if supervisor else None
        log.info("worker_started", concurrency=settings.concurrency, directory=str(directory))
        try:
            await manager.run(
                batch_size=1,
                max_concurrent_tasks=max(2, settings.concurrency),
                dequeue_timeout=timedelta(seconds=min(_IDLE_SECONDS, settings.lease_seconds)),
                heartbeat_timeout=timedelta(seconds=settings.lease_seconds),
                shutdown_on_listener_failure=True,
            )
        finally:
            if watch:
                watch.cancel()
        log.info("worker_stopped")


async def _stop_without(parent: int, stop: Callable[[], None]) -> None:
    while os.getppid() == parent:  # noqa: ASYNC110 - nothing tells when a parent has gone
        await asyncio.sleep(_PARENT_POLL_SECONDS)
    stop()
