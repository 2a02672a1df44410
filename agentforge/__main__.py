"""The command line: `agentforge`, or `python -m agentforge`."""

import typer

from agentforge.commands import (
    configuration,
    environment,
    evaluate,
    export,
    member,
    migrate,
    organization,
    processes,
    secret,
    token,
    up,
)
from agentforge.guard import refuse_shadowed_packages

app = typer.Typer(
    name="agentforge",
    help="The control plane of a private reinforcement-learning practice.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
for module in (
    up,
    environment,
    configuration,
    evaluate,
    export,
    processes,
    organization,
    member,
    token,
    secret,
    migrate,
):
    module.add_commands(app)


def main() -> None:
    refuse_shadowed_packages()
    app()


if __name__ == "__main__":
    main()
