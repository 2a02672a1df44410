"""agentforge api, agentforge worker: the processes of an installation, alone."""

import asyncio
import signal
from typing import TYPE_CHECKING, Annotated

import typer

from agentforge.commands.output import DataDir, load_settings, print_text, run

if TYPE_CHECKING:
    from agentforge.settings import Settings


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
    supervisor: Annotated[int | None, typer.Option(hidden=True, help="Stop when this process has gone.")] = None,
) -> None:
    """Execute evaluation runs until Ctrl-C or SIGTERM; any number of workers share the queue."""
    run(_worker(load_settings(data_dir), supervisor))


async def _worker(settings: "Settings", supervisor: int | None) -> None:
    from agentforge.database import database, ensure_migrated
    from agentforge.logs import configure_logs
    from agentforge.worker.service import work

    configure_logs(settings.log_level)
    with database(settings) as urls:
        await ensure_migrated(urls)
        await work(settings, urls.app, supervisor=supervisor)
