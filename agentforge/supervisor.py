"""Keeps a worker process running beside the API: started again when it dies, stopped with it."""

import asyncio
import os
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import structlog

log = structlog.get_logger()

_FIRST_DELAY, _LONGEST_DELAY = 0.5, 30.0
#: A worker that ran this long did not die of its start; the next delay is the first one again.
_STEADY_SECONDS = 60
#: Beside the time that attempts have: for ending their processes and for handing back.
_GRACE_SECONDS = 10


async def _start(data_directory: Path, log_file: Path) -> asyncio.subprocess.Process:
    with log_file.open("ab") as output:
        return await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "agentforge",
            "worker",
            "--supervisor",
            str(os.getpid()),
            "--data-dir",
            str(data_directory),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            # Ctrl-C in a terminal goes to this process alone, which then stops the worker in its own order.
            start_new_session=True,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )


async def _stop(process: asyncio.subprocess.Process, seconds: float) -> None:
    with suppress(ProcessLookupError):
        process.terminate()
    try:
        await asyncio.wait_for(process.wait(), seconds)
    except TimeoutError:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()


async def _supervise(data_directory: Path, log_file: Path, stop_seconds: float) -> None:
    loop, delay = asyncio.get_running_loop(), _FIRST_DELAY
    while True:
        began = loop.time()
        process = await _start(data_directory, log_file)
        try:
            code = await process.wait()
        finally:
            if process.returncode is None:
                await _stop(process, stop_seconds + _GRACE_SECONDS)
        delay = _FIRST_DELAY if loop.time() - began > _STEADY_SECONDS else min(delay * 2, _LONGEST_DELAY)
        log.warning("worker_died", code=code, restart_seconds=delay)
        await asyncio.sleep(delay)


@asynccontextmanager
async def running_worker(data_directory: Path, log_file: Path, stop_seconds: float) -> AsyncGenerator[None]:
    """A worker process for as long as the block runs; its output goes to `log_file`.

    At the end its attempts have `stop_seconds` to end before they are handed back.
    """
    supervising = asyncio.create_task(_supervise(data_directory, log_file, stop_seconds))
    try:
        yield
    finally:
        supervising.cancel()
        with suppress(asyncio.CancelledError):
            await supervising
