"""agentforge evaluate, reset and cancel: runs of an agent on an environment."""

import json
import shlex
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Annotated

import typer

from agentforge.commands.output import (
    BAD_INPUT,
    DataDir,
    Json,
    Organization,
    fail,
    load_settings,
    open_organization,
    print_json,
    print_text,
    run,
)

if TYPE_CHECKING:
    from agentforge.settings import Settings
    from db.runs import EvaluationRun
    from db.tenant import Tenant

Slug = Annotated[str, typer.Argument(metavar="SLUG", help="The environment; its newest version is used.")]
Watch = Annotated[bool, typer.Option("--watch", help="Show the attempts until the run has ended.")]


def add_commands(app: typer.Typer) -> None:
    app.command()(evaluate)
    app.command()(reset)
    app.command()(cancel)


def evaluate(
    slug: Slug,
    agent: Annotated[
        str,
        typer.Option(
            help="The agent's command line, or a JSON array of its parts; {task}, {mcp_config} ... are filled in."
        ),
    ],
    attempts: Annotated[int, typer.Option(min=1, max=8, help="Independent trials in the run.")] = 8,
    seed: Annotated[int, typer.Option(min=-(2**63), max=2**63 - 1, help="The world's seed.")] = 0,
    watch: Watch = False,
    organization: Organization = None,
    as_json: Json = False,
    data_dir: DataDir = None,
) -> None:
    """Run an agent several times on an environment."""
    from resolvers import runs

    command = _split_command(agent)

    async def start(tenant: "Tenant") -> "EvaluationRun":
        from agentforge.publishing import ensure_configuration, latest_version

        version = await latest_version(tenant, slug)
        configuration = await ensure_configuration(tenant, command, attempts)
        return await runs.start(tenant, str(version.id), str(configuration.id), seed)

    run(_begin(load_settings(data_dir, organization), start, watch, as_json))


def _split_command(text: str) -> list[str]:
    """A command line as a shell reads it, or a JSON array of its parts."""
    try:
        parts = json.loads(text) if text.lstrip().startswith("[") else shlex.split(text)
    except ValueError as error:
        fail(f"--agent cannot be read as a command line: {error}.", BAD_INPUT)
    if not parts or not all(isinstance(part, str) for part in parts):
        fail("--agent takes the agent's command line, or a JSON array of its parts.", BAD_INPUT)
    return list(parts)


def reset(
    slug: Slug,
    mode: Annotated[str, typer.Option(help="new_workspace keeps the world's seed, new_world draws another.")],
    watch: Watch = False,
    organization: Organization = None,
    as_json: Json = False,
    data_dir: DataDir = None,
) -> None:
    """Run again, on the same immutable version, with the configuration of its newest run."""
    from db.runs import ResetMode
    from resolvers import runs

    try:
        reset_mode: ResetMode = ResetMode(mode.lower())
    except ValueError:
        fail(f"--mode is {mode!r}; it is one of {', '.join(ResetMode)}.", BAD_INPUT)

    async def start(tenant: "Tenant") -> "EvaluationRun":
        from agentforge.publishing import latest_version

        return await runs.reset(tenant, str((await latest_version(tenant, slug)).id), reset_mode, None)

    run(_begin(load_settings(data_dir, organization), start, watch, as_json))


def cancel(
    run_id: Annotated[str, typer.Argument(metavar="RUN", help="Id of the run.")],
    organization: Organization = None,
    as_json: Json = False,
    data_dir: DataDir = None,
) -> None:
    """Stop a run; attempts that have ended stay as they are."""
    from resolvers import runs

    async def stop(tenant: "Tenant") -> "EvaluationRun":
        return await runs.cancel(tenant, run_id)

    run(_begin(load_settings(data_dir, organization), stop, False, as_json))


async def _begin(
    settings: "Settings", operation: "Callable[[Tenant], Awaitable[EvaluationRun]]", watch: bool, as_json: bool
) -> None:
    async with open_organization(settings, settings.organization) as tenant:
        started = await operation(tenant)
        if watch:
            started = await _watch(settings, tenant, started, as_json)
    if as_json:
        print_json({"id": str(started.id), "status": started.status, "seed": str(started.seed)})
    elif not watch:
        print_text(f"Run {started.id}: {started.status}, {started.attempt_count} attempts, world seed {started.seed}")


async def _watch(settings: "Settings", tenant: "Tenant", started: "EvaluationRun", as_json: bool) -> "EvaluationRun":
    from rich.console import Console

    from agentforge import display
    from agentforge.database import database
    from db.changes import listen

    if not as_json:
        print_text(f"Run {started.id}")
    with database(settings) as urls:
        async with listen(urls.app) as changes:
            ended, attempts = await display.watch(tenant, changes, started.id, Console(quiet=as_json))
    if not as_json:
        print_text(*display.summary(ended, attempts))
    return ended
