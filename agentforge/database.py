"""Which database a process works on, and whether its schema is the one that this code knows."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import asyncpg

from agentforge.settings import Settings
from db.embedded import embedded_server
from db.migrate import Migration, MigrationError, migrate, migrations
from db.pool import open_pool
from db.query import query
from db.tenant import fetch_before_organization


@dataclass(frozen=True, slots=True)
class Urls:
    """`app` is for API and workers; `owner` migrates, and is None where this process was not given it."""

    app: str = field(repr=False)
    owner: str | None = field(repr=False)


@dataclass(frozen=True, slots=True)
class _Version:
    version: int


_NEWEST_VERSION = query("migrate.newest_version", _Version)


class DatabaseSettingsError(ValueError):
    """The settings do not say which database to use."""


@contextmanager
def database(settings: Settings) -> Iterator[Urls]:
    """The database that the settings name, or else the embedded server of the data folder during the block.

    Blocks for about a second where the embedded server has to be started. Raises DatabaseSettingsError.
    """
    if settings.database_url is not None:
        yield Urls(settings.database_url, settings.owner_database_url)
    elif settings.owner_database_url is not None:
        raise DatabaseSettingsError(
            "AGENTFORGE_OWNER_DATABASE_URL is set without AGENTFORGE_DATABASE_URL; "
            "set that to the same database with the role agentforge_app."
        )
    else:
        with embedded_server(settings.data_dir) as urls:
            yield Urls(urls.app, urls.owner)


async def ensure_migrated(urls: Urls) -> list[Migration]:
    """Bring the schema to this version where the owner's address is at hand; returns the migrations applied.

    Raises MigrationError when it cannot be brought there, or when only the owner could do it.
    """
    if urls.owner is not None:
        return await migrate(urls.owner)
    found, known = await _newest_version(urls.app), len(migrations())
    if found > known:
        raise MigrationError(
            f"The database has migration {found}, newer than this version of AgentForge knows ({known}). "
            "Upgrade AgentForge."
        )
    if found < known:
        raise MigrationError(
            f"The database has migration {found}, this version of AgentForge needs {known}. "
            "Run `agentforge migrate` with AGENTFORGE_OWNER_DATABASE_URL set to the owner of the database."
        )
    return []


async def _newest_version(url: str) -> int:
    try:
        async with open_pool(url, application_name="agentforge", max_size=1) as pool:
            rows = await fetch_before_organization(pool, _NEWEST_VERSION)
    except asyncpg.UndefinedTableError:
        return 0
    return rows[0].version if rows else 0
