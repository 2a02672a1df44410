"""agentforge evaluate, reset, cancel, add-attempts and rerun-unscored: runs of an agent on an environment."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Annotated

import typer

from agentforge.commands.configuration import AGENT_HELP, split_command
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
Agent = Annotated[str | None, typer.Option(help=AGENT_HELP)]
RunId = Annotated[str, typer.Argument(metavar="RUN", help="Id of the run.")]
Watch = Annotated[bool, typer.Option("--watch", help="Show the attempts until the run has ended.")]


def add_commands(app: typer.Typer) -> None:
    app.command()(evaluate)
    app.command()(reset)
    app.command()(cancel)
    app.command()(add_attempts)
    app.command()(rerun_unscored)


def evaluate(
    slug: Slug,
    agent: Agent = None,
    configuration: Annotated[
        str | None, typer.Option(metavar="NAME", help="A configuration that was created, instead of --agent.")
    ] = None,
    attempts: Annotated[
        int | None, typer.Option(min=1, max=8, help="Independent trials, with --agent; 8 unless told.")
    ] = None,
    seed: Annotated[int, typer.Option(min=-(2**63), max=2**63 - 1, help="The world's seed.")] = 0,
    watch: Watch = False,
    organization: Organization = None,
    as_json: Json = False,
    data_dir: DataDir = None,
) -> None:
    """Run an agent several times on an environment."""
    from resolvers import runs

    if (agent is None) == (configuration is None):
        fail("Give either --agent or --configuration.", BAD_INPUT)
    if configuration is not None and attempts is not None:
        fail("Leave out --attempts: the configuration says how many.", BAD_INPUT)
    command = None if agent is None else split_command(agent)

    async def start(tenant: "Tenant") -> "EvaluationRun":
        from agentforge.publishing import ensure_configuration, latest_version, named_configuration

        version = await latest_version(tenant, slug)
        chosen = (
            await named_configuration(tenant, configuration or "")
            if command is None
            else await ensure_configuration(tenant, command, attempts or 8)
        )
        return await runs.start(tenant, str(version.id), str(chosen.id), seed)

    run(_begin(load_settings(data_dir, organization), start, watch, as_json))


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
    run_id: RunId,
    organization: Organization = None,
    as_json: Json = False,
    data_dir: DataDir = None,
) -> None:
    """Stop a run; attempts that have ended stay as they are."""
    from resolvers import runs

    async def stop(tenant: "Tenant") -> "EvaluationRun":
        return await runs.cancel(tenant, run_id)

    run(_begin(load_settings(data_dir, organization), stop, False, as_json))


def add_attempts(
    run_id: RunId,
    count: Annotated[int, typer.Argument(metavar="COUNT", help="How many more; 8 in all at most.")],
    watch: Watch = False,
    organization: Organization = None,
    as_json: Json = False,
    data_dir: DataDir = None,
) -> None:
    """Add attempts to a run; those there are stay, and pass@k is made of all of them."""
    from resolvers import additions

    async def add(tenant: "Tenant") -> "EvaluationRun":
        return await additions.add_attempts(tenant, run_id, count)

    run(_begin(load_settings(data_dir, organization), add, watch, as_json))


def rerun_unscored(
    run_id: RunId,
    watch: Watch = False,
    organization: Organization = None,
    as_json: Json = False,
    data_dir: DataDir = None,
) -> None:
    """Do the attempts of an ended run again that have no score; what they came to before is kept."""
    from resolvers import additions

    async def rerun(tenant: "Tenant") -> "EvaluationRun":
        return await additions.rerun_unscored(tenant, run_id)

    run(_begin(load_settings(data_dir, organization), rerun, watch, as_json))


async def _begin(
    settings: "Settings", operation: "Callable[[Tenant], Awaitable[EvaluationRun]]", watch: bool, as_json: bool
) -> None:
    async with open_organization(settings, settings.organization) as tenant:
        started = await operation(tenant)
        if watch:
            started = await _watch(settings, tenant, started, as_json)
    if as_json:
        seed, attempts = str(started.seed), started.attempt_count
        print_json({"id": str(started.id), "status": started.status, "seed": seed, "attemptCount": attempts})
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
