"""agentforge configuration: which agent to run, and how often, under a name."""

import json
import shlex
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
    from db.configurations import EvaluatorConfiguration

_app = typer.Typer(no_args_is_help=True, help="Evaluator configurations.")


def add_commands(app: typer.Typer) -> None:
    app.add_typer(_app, name="configuration")


@_app.callback()
def _configuration() -> None:
    pass


def split_command(text: str) -> list[str]:
    """A command line as a shell reads it, or a JSON array of its parts."""
    try:
        parts = json.loads(text) if text.lstrip().startswith("[") else shlex.split(text)
    except ValueError as error:
        fail(f"--agent cannot be read as a command line: {error}.", BAD_INPUT)
    if not parts or not all(isinstance(part, str) for part in parts):
        fail("--agent takes the agent's command line, or a JSON array of its parts.", BAD_INPUT)
    return list(parts)


AGENT_HELP = "The agent's command line, or a JSON array of its parts; {task}, {mcp_config} ... are filled in."
Attempts = Annotated[int, typer.Option(min=1, max=8, help="Independent trials in one run.")]


@_app.command()
def create(
    name: Annotated[str, typer.Argument(help="What to call it.")],
    agent: Annotated[str, typer.Option(help=AGENT_HELP)],
    attempts: Attempts = 8,
    secret: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="A secret that the agent gets as a variable; repeatable.")
    ] = None,
    organization: Organization = None,
    as_json: Json = False,
    data_dir: DataDir = None,
) -> None:
    """Name an agent's command line, for `agentforge evaluate SLUG --configuration NAME`."""
    command = split_command(agent)
    made = run(_create(load_settings(data_dir, organization), name, attempts, command, secret or []))
    if as_json:
        print_json({"id": str(made.id), "name": made.name, "attemptCount": made.attempt_count, "secrets": made.secrets})
    else:
        print_text(f"Configuration {made.name} ({made.id}): {made.attempt_count} attempts")


async def _create(
    settings: "Settings", name: str, attempts: int, command: list[str], secrets: list[str]
) -> "EvaluatorConfiguration":
    from resolvers import configurations

    async with open_organization(settings, settings.organization) as tenant:
        return await configurations.create(tenant, name, attempts, command, secrets)
