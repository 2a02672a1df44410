"""Brings a database to the newest schema: numbered files, each applied once, in order, in its own transaction."""

import hashlib
import re
from dataclasses import dataclass
from importlib.resources import files

import asyncpg

from db import jobs

_NAME = re.compile(r"^(\d{4})_(\w+)\.sql$")
# One migrator at a time; any fixed number does that no other program uses on this database.
_LOCK = 0x41474E54464F5247

_RECORD = """
create table if not exists schema_migrations (
  version integer primary key,
  name text not null,
  sha256 text not null,
  applied_at timestamptz not null default now()
);
grant select on schema_migrations to agentforge_app;
"""

ROLE_HELP = (
    "The role agentforge_app is missing and this login may not create it. As a superuser, run: "
    "CREATE ROLE agentforge_app LOGIN PASSWORD '...';"
)


class MigrationError(RuntimeError):
    """The database cannot be brought to this version; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class Migration:
    version: int
    name: str
    text: str

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.text.encode()).hexdigest()


def migrations() -> list[Migration]:
    """All migrations of this version of the code, in order, without gaps."""
    found = sorted(
        (
            Migration(int(named[1]), named[2], file.read_text("utf-8"))
            for file in files("db").joinpath("migrations").iterdir()
            if (named := _NAME.match(file.name))
        ),
        key=lambda migration: migration.version,
    )
    assert [migration.version for migration in found] == list(range(1, len(found) + 1))
    return found


async def _ensure_role(connection: "asyncpg.Connection[asyncpg.Record]") -> None:
    if await connection.fetchval("select exists (select from pg_roles where rolname = 'agentforge_app')"):
        return
    try:
        await connection.execute("create role agentforge_app login")
    except asyncpg.InsufficientPrivilegeError as error:
        raise MigrationError(ROLE_HELP) from error
    except asyncpg.DuplicateObjectError:
        return


def _pending(applied: dict[int, str], known: list[Migration]) -> list[Migration]:
    if unknown := [version for version in applied if version > len(known)]:
        raise MigrationError(
            f"The database has migration {max(unknown)}, newer than this version of AgentForge knows "
            f"({len(known)}). Upgrade AgentForge, or restore the database from before the upgrade."
        )
    for migration in known:
        if applied.get(migration.version, migration.sha256) != migration.sha256:
            raise MigrationError(
                f"Migration {migration.version:04}_{migration.name} was applied to this database with another text. "
                "Applied migrations are never edited: restore the file and put the change into a new one."
            )
    return [migration for migration in known if migration.version not in applied]


async def _apply(connection: "asyncpg.Connection[asyncpg.Record]", migration: Migration) -> None:
    async with connection.transaction():
        await connection.execute("set local lock_timeout = '5s'; set local statement_timeout = '60s'")
        await connection.execute(migration.text)
        await connection.execute(
            "insert into schema_migrations (version, name, sha256) values ($1, $2, $3)",
            migration.version,
            migration.name,
            migration.sha256,
        )


async def migrate(owner_url: str) -> list[Migration]:
    """Apply what is missing, as the owner of the database; returns what was applied.

    Raises MigrationError when the database is newer than the code, an applied file was edited, or a role is missing.
    """
    connection = await asyncpg.connect(owner_url)
    try:
        await connection.execute("select pg_advisory_lock($1::bigint)", _LOCK)
        await _ensure_role(connection)
        await connection.execute(_RECORD)
        rows = await connection.fetch("select version, sha256 from schema_migrations")
        pending = _pending({row["version"]: row["sha256"] for row in rows}, migrations())
        for migration in pending:
            await _apply(connection, migration)
        await jobs.install(connection)
        return pending
    finally:
        await connection.close()
