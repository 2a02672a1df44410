"""agentforge up: everything on one machine, with a demo, until Ctrl-C."""

import asyncio
import os
import shlex
import signal
from contextlib import AsyncExitStack, suppress
from typing import TYPE_CHECKING, Annotated

import typer

from agentforge.commands.output import DataDir, Json, fail, load_settings, print_json, print_text, run

if TYPE_CHECKING:
    from rich.console import Console

    from agentforge.demo import Demo
    from agentforge.settings import Settings
    from db.tenant import Pool


def add_commands(app: typer.Typer) -> None:
    app.command()(up)


def up(
    data_dir: DataDir = None,
    port: Annotated[int | None, typer.Option(min=0, max=65535, help="Port of the API; 0 picks a free one.")] = None,
    demo: Annotated[bool, typer.Option("--demo/--no-demo", help="Make the demo organization and a first run.")] = True,
    as_json: Json = False,
) -> None:
    """Start database, API and a worker, run the example environment, and stay up until Ctrl-C."""
    settings = load_settings(data_dir)
    if port is not None:
        settings = settings.model_copy(update={"port": port})
    run(_up(settings, demo, as_json), serving=True)


async def _up(settings: "Settings", with_demo: bool, as_json: bool) -> None:
    from rich.console import Console

    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    work = asyncio.create_task(_serve(settings, with_demo, as_json, Console(stderr=as_json, quiet=as_json)))
    stopping = asyncio.create_task(stop.wait())
    try:
        await asyncio.wait({work, stopping}, return_when=asyncio.FIRST_COMPLETED)
        if not work.done() and not as_json:
            print_text("", "Stopping ...")
    finally:
        stopping.cancel()
        work.cancel()
        with suppress(asyncio.CancelledError):
            await work


async def _serve(settings: "Settings", with_demo: bool, as_json: bool, console: "Console") -> None:
    from agentforge.address import alone, announced
    from agentforge.database import database, ensure_migrated
    from agentforge.logs import configure_logs
    from agentforge.server import bind, running_api
    from agentforge.supervisor import running_worker
    from agentforge.worker.sandbox import open_sandbox
    from db.pool import open_pool

    data_directory = settings.data_dir.resolve()
    data_directory.mkdir(parents=True, exist_ok=True)
    logs = data_directory / "logs"
    logs.mkdir(exist_ok=True)
    configure_logs(settings.log_level, logs / "api.log")
    # Before anything is started: without a sandbox that must be, the worker would fail again and again.
    sandbox = await asyncio.to_thread(open_sandbox, settings)
    if settings.sandbox == "auto" and sandbox is None:
        console.print(f"Agents run without a sandbox; {logs / 'api.log'} tells why.", style="yellow")
    async with AsyncExitStack() as stack:
        stack.enter_context(alone(settings))
        listener = stack.enter_context(bind(settings))
        console.print("Starting database, API and worker ...", style="dim")
        urls = stack.enter_context(database(settings))
        await ensure_migrated(urls)
        serving = await stack.enter_async_context(running_api(settings, urls.app, listener))
        await stack.enter_async_context(running_worker(data_directory, logs / "worker.log", settings.stop_seconds))
        pool = await stack.enter_async_context(open_pool(urls.app, application_name="agentforge up", max_size=3))
        address = stack.enter_context(announced(listener, settings))
        await _introduce(settings, pool, urls.app, address, with_demo, as_json, console)
        await serving
        fail(f"The API has stopped; its log is {logs / 'api.log'}.")


async def _introduce(
    settings: "Settings", pool: "Pool", database_url: str, url: str, with_demo: bool, as_json: bool, console: "Console"
) -> None:
    from agentforge.demo import ensure_demo, organization_slug, owner_token

    ready = {"url": url, "token": None, "organization": None, "dataDir": str(settings.data_dir.resolve())}
    if with_demo:
        demo = await ensure_demo(pool)
        lines = await _watch_demo(demo, database_url, console)
        token = await owner_token(demo.tenant)
        if as_json:
            ready |= {"token": token, "organization": await organization_slug(demo.tenant)}
        else:
            print_text(*lines, "", *await _things_to_try(settings, demo, url, token))
    elif not as_json:
        print_text(
            f"AgentForge is up: {url}",
            "Make an organization with: " + _command_line(settings, "organization create SLUG --owner EMAIL"),
            "Ctrl-C stops everything.",
        )
    if as_json:
        print_json(ready)


def _command_line(settings: "Settings", arguments: str) -> str:
    """What to type, in this folder, for another command on the same data."""
    from agentforge.settings import Settings

    start = "uv run agentforge" if "UV" in os.environ else "agentforge"
    folder = settings.data_dir
    return f"{start} {arguments}" + ("" if folder == Settings().data_dir else f" --data-dir {shlex.quote(str(folder))}")


async def _watch_demo(demo: "Demo", database_url: str, console: "Console") -> list[str]:
    from agentforge import display
    from agentforge.demo import ENVIRONMENT
    from db.changes import listen

    console.print(f"Environment {ENVIRONMENT}, version {demo.version.version}; run {demo.run.id}", highlight=False)
    async with listen(database_url) as changes:
        ended, attempts = await display.watch(demo.tenant, changes, demo.run.id, console)
    return display.summary(ended, attempts)


async def _things_to_try(settings: "Settings", demo: "Demo", url: str, token: str) -> list[str]:
    from resolvers.accounts import create_sign_in_link

    link = await create_sign_in_link(demo.tenant, demo.owner_id)
    return [
        f"AgentForge is up. Sign in (once, within 10 minutes): {url}/sign-in?link={link}",
        "",
        "Three things to try:",
        f"  1. Look around in the browser: runs as they go at {url}/, the whole graph at {url}/graphql",
        "  2. Download what the agent did, failures and all:",
        f"     curl -H 'Authorization: Bearer {token}' '{url}/api/v1/rollouts?kind=failed'",
        "  3. Run it again in another world:",
        "     " + _command_line(settings, "reset admin-console --mode new_world --watch"),
        "",
        "Ctrl-C stops everything; the data stays.",
    ]
