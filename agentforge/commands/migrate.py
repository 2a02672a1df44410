"""agentforge migrate: brings the database to the schema of this version."""

from typing import TYPE_CHECKING

import typer

from agentforge.commands.output import DataDir, Json, load_settings, print_json, print_text, run

if TYPE_CHECKING:
    from agentforge.settings import Settings
    from db.migrate import Migration


def add_commands(app: typer.Typer) -> None:
    app.command()(migrate)


def migrate(as_json: Json = False, data_dir: DataDir = None) -> None:
    """Bring the database to the schema of this version, as its owner."""
    applied = [f"{migration.version:04}_{migration.name}" for migration in run(_migrate(load_settings(data_dir)))]
    if as_json:
        print_json({"applied": applied})
    else:
        print_text(*(f"Applied {name}." for name in applied), "The schema is up to date.")


async def _migrate(settings: "Settings") -> "list[Migration]":
    from agentforge.database import database, ensure_migrated
    from db.migrate import migrate

    if settings.owner_database_url is not None:
        return await migrate(settings.owner_database_url)
    with database(settings) as urls:
        return await ensure_migrated(urls)
