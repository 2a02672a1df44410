"""agentforge api, agentforge worker: the processes of an installation, alone."""

import asyncio
import signal
import sys
from contextlib import ExitStack
from typing import TYPE_CHECKING, Annotated

import typer

from agentforge.commands.output import BAD_INPUT, DataDir, fail, load_settings, print_text, run

if TYPE_CHECKING:
    from agentforge.settings import Settings
    from agentforge.worker.table import Display


def add_commands(app: typer.Typer) -> None:
    app.command()(api)
    app.command()(worker)


def api(data_dir: DataDir = None) -> None:
    """Serve the API until Ctrl-C or SIGTERM."""
    run(_api(load_settings(data_dir)), serving=True)


async def _api(settings: "Settings") -> None:
    from agentforge.address import announced
    from agentforge.database import database, ensure_migrated
    from agentforge.logs import configure_logs
    from agentforge.server import bind, running_api

    configure_logs(settings.log_level)
    with database(settings) as urls, bind(settings) as listener, announced(listener, settings) as address:
        await ensure_migrated(urls)
        stop = asyncio.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, stop.set)
        async with running_api(settings, urls.app, listener) as serving:
            print_text(f"AgentForge API on {address}")
            waiting = asyncio.create_task(stop.wait())
            await asyncio.wait({waiting, serving}, return_when=asyncio.FIRST_COMPLETED)
            waiting.cancel()


def worker(
    data_dir: DataDir = None,
    concurrency: Annotated[
        int | None, typer.Option(min=1, help="Trials at a time, instead of AGENTFORGE_CONCURRENCY.")
    ] = None,
    watch: Annotated[bool, typer.Option("--watch", help="Show what is under way as a table on the terminal.")] = False,
    supervisor: Annotated[int | None, typer.Option(hidden=True, help="Stop when this process has gone.")] = None,
) -> None:
    """Execute evaluation runs until Ctrl-C or SIGTERM; any number of workers share the queue."""
    settings = load_settings(data_dir)
    if concurrency is not None:
        settings = settings.model_copy(update={"concurrency": concurrency})
    run(_worker(settings, supervisor, watch), serving=True)


async def _worker(settings: "Settings", supervisor: int | None, watch: bool) -> None:
    from agentforge.database import database, ensure_migrated
    from agentforge.logs import configure_logs
    from agentforge.worker.service import work

    with ExitStack() as stack:
        display = _display(stack) if watch else None
        # Where logs go elsewhere than to the terminal, they stay as they are.
        configure_logs(settings.log_level, stream=display.lines if display and sys.stderr.isatty() else None)
        urls = stack.enter_context(database(settings))
        await ensure_migrated(urls)
        await work(settings, urls.app, supervisor=supervisor, display=display)


def _display(stack: ExitStack) -> "Display":
    from rich.console import Console

    from agentforge.worker.table import Display

    console = Console()
    if not console.is_terminal:
        fail("--watch draws a table, which needs a terminal; without it, logs tell the same.", BAD_INPUT)
    return stack.enter_context(Display(console))
