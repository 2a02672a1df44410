"""agentforge environment: publish a folder as an immutable version."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agentforge.commands.output import (
    DataDir,
    Json,
    Organization,
    load_settings,
    open_organization,
    print_json,
    print_text,
    run,
)

if TYPE_CHECKING:
    from agentforge.settings import Settings
    from db.versions import EnvironmentVersion

_app = typer.Typer(no_args_is_help=True, help="Environments and their versions.")


def add_commands(app: typer.Typer) -> None:
    app.add_typer(_app, name="environment")


@_app.callback()
def _environment() -> None:
    pass


@_app.command()
def publish(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="Folder with environment.json and all its files.")],
    slug: Annotated[str | None, typer.Option(help="Which environment. [default: the folder's name]")] = None,
    name: Annotated[str | None, typer.Option(help="Its name for people, when it is new. [default: the slug]")] = None,
    organization: Organization = None,
    as_json: Json = False,
    data_dir: DataDir = None,
) -> None:
    """Publish a folder; the same content again gives the version that is there."""
    settings = load_settings(data_dir, organization)
    chosen = slug or directory.resolve().name.lower().replace("_", "-").replace(" ", "-")
    version = run(_publish(settings, directory, chosen, name or chosen))
    if as_json:
        print_json({"id": str(version.id), "environment": chosen, "version": version.version, "digest": version.digest})
    else:
        print_text(f"{chosen} version {version.version} ({version.id}), digest {version.digest}")


async def _publish(settings: "Settings", directory: Path, slug: str, name: str) -> "EnvironmentVersion":
    from agentforge.publishing import publish_directory

    async with open_organization(settings, settings.organization) as tenant:
        return await publish_directory(tenant, directory, slug, name)
