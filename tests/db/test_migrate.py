"""Bringing databases to the newest schema: fresh, current, busy, edited, newer, and failing halfway."""

import asyncio
import re
import shutil
import sys
import tempfile
import uuid
from collections.abc import AsyncIterator
from itertools import dropwhile
from pathlib import Path

import asyncpg
import pytest

import db.migrate
from db.dump import SCHEMA_FILE, dump_schema
from db.embedded import DatabaseUrls, embedded_server
from db.migrate import ROLE_HELP, MigrationError, migrate, migrations
from tests.conftest import in_database

NEXT = len(migrations()) + 1


@pytest.fixture
async def empty(server: DatabaseUrls, superuser: str) -> AsyncIterator[str]:
    """The owner's address of a database without any schema."""
    name = f"empty_{uuid.uuid4().hex}"
    await execute(superuser, f"create database {name} owner agentforge_owner template template0 locale 'C'")
    yield in_database(server.owner, name)
    await execute(superuser, f"drop database {name} (force)")


async def execute(url: str, *statements: str) -> None:
    connection = await asyncpg.connect(url)
    try:
        for statement in statements:
            await connection.execute(statement)
    finally:
        await connection.close()


async def fetch_value(url: str, query: str) -> object:
    connection = await asyncpg.connect(url)
    try:
        return await connection.fetchval(query)
    finally:
        await connection.close()


@pytest.fixture
def another_release(tmp_path: Path) -> Path:
    """A copy of this code, to be made into an older, newer or damaged release of it."""
    shutil.copytree(Path(db.migrate.__file__).parent, tmp_path / "db", ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


async def migrate_with(release: Path, url: str) -> str:
    """Migrate as that release does, in a process of its own; what it said if it failed, else ''."""
    program = "import asyncio, sys; from db.migrate import migrate; asyncio.run(migrate(sys.argv[1]))"
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", program, url, cwd=release, stderr=asyncio.subprocess.PIPE
    )
    _, said = await asyncio.wait_for(process.communicate(), 60)
    assert (process.returncode == 0) == (said == b"")
    return said.decode()


async def test_the_schema_under_review_is_the_migrated_one(empty: str) -> None:
    assert await migrate(empty) == migrations()
    dumped = await asyncio.to_thread(dump_schema, empty)
    assert dumped == SCHEMA_FILE.read_text("utf-8"), "run `python -m db.dump` and review the difference"
    assert "pg_dump version" not in dumped
    assert "restrict" not in re.sub(r"restrict_violation", "", dumped)


async def test_migrating_again_changes_nothing(empty: str) -> None:
    await migrate(empty)
    tables = "select string_agg(concat(oid, relname, relacl), ',' order by oid) from pg_class"
    before = await fetch_value(empty, tables)
    assert await migrate(empty) == []
    assert await fetch_value(empty, tables) == before


async def test_of_two_migrators_at_once_one_does_the_work(empty: str) -> None:
    applied = await asyncio.gather(*(migrate(empty) for _ in range(3)))
    assert sorted(map(len, applied)) == [0, 0, len(migrations())]


async def test_an_edited_migration_is_refused(empty: str, another_release: Path) -> None:
    await migrate(empty)
    file = another_release / "db" / "migrations" / "0001_accounts.sql"
    file.write_text(file.read_text() + "\n-- edited\n")
    assert "Migration 0001_accounts was applied to this database with another text" in await migrate_with(
        another_release, empty
    )


async def test_a_database_newer_than_the_code_is_refused(empty: str, another_release: Path) -> None:
    (another_release / "db" / "migrations" / f"{NEXT:04}_newer.sql").write_text("create table newer ();")
    assert await migrate_with(another_release, empty) == ""
    with pytest.raises(MigrationError, match=rf"The database has migration {NEXT}, newer .* \({NEXT - 1}\)"):
        await migrate(empty)
    # The newer release goes on as before.
    assert await migrate_with(another_release, empty) == ""


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("create table half (number int); insert into half select 1 / 0;", "DivisionByZeroError"),
        # What it did and the note that it was done are one: here the note cannot be written.
        ("create table half (number int); drop table schema_migrations;", "UndefinedTableError"),
    ],
)
async def test_a_failing_migration_leaves_nothing_behind(
    text: str, error: str, empty: str, another_release: Path
) -> None:
    file = another_release / "db" / "migrations" / f"{NEXT:04}_broken.sql"
    file.write_text(text)
    assert error in await migrate_with(another_release, empty)
    assert await fetch_value(empty, "select to_regclass('half')") is None
    assert await fetch_value(empty, "select max(version) from schema_migrations") == NEXT - 1
    # Mended, it is applied as if nothing had happened, and does not wait for locks for long.
    file.write_text("create table half as select current_setting('lock_timeout') as lock_timeout;")
    assert await migrate_with(another_release, empty) == ""
    assert await fetch_value(empty, "select max(version) from schema_migrations") == NEXT
    assert await fetch_value(empty, "select lock_timeout from half") == "5s"


async def test_a_migration_with_a_gap_before_it_is_refused(empty: str, another_release: Path) -> None:
    (another_release / "db" / "migrations" / f"{NEXT + 1:04}_early.sql").write_text("create table early ();")
    assert "AssertionError" in await migrate_with(another_release, empty)
    assert await fetch_value(empty, "select to_regclass('early')") is None


@pytest.fixture
async def plain_owner() -> AsyncIterator[str]:
    """A database of a login that may not create roles, on a server without agentforge_app."""
    with (
        tempfile.TemporaryDirectory(prefix="af", ignore_cleanup_errors=True) as directory,
        embedded_server(Path(directory)) as urls,
    ):
        await execute(
            urls.owner.replace("agentforge_owner@/agentforge?", "postgres@/postgres?"),
            "drop database agentforge",
            "drop role agentforge_app",
            "create database agentforge owner agentforge_owner",
        )
        yield urls.owner


async def test_a_missing_role_that_the_login_may_not_create_is_explained(plain_owner: str) -> None:
    with pytest.raises(MigrationError) as refused:
        await migrate(plain_owner)
    assert str(refused.value) == ROLE_HELP
    superuser = plain_owner.replace("agentforge_owner@", "postgres@")
    await execute(superuser, "alter role agentforge_owner createrole")
    assert await migrate(plain_owner) == migrations()
    assert await fetch_value(superuser, "select rolcanlogin from pg_roles where rolname = 'agentforge_app'") is True


BEFORE_PARTS = """
insert into organizations (id, slug, name) select id, 'org-' || number, 'Organization'
  from unnest(array[uuidv7(), uuidv7()]) with ordinality made (id, number);
insert into environments (organization_id, slug, name) select id, 'shop', 'Shop' from organizations;
insert into environment_versions (organization_id, environment_id, version, digest, manifest)
  select organization_id, id, 1, repeat('a', 64), '{}' from environments;
insert into evaluator_configurations (organization_id, name, attempt_count, agent_command)
  select id, 'agent', 8, array['agent'] from organizations;
insert into evaluation_runs (organization_id, environment_version_id, evaluator_configuration_id, trigger, seed,
  attempt_count)
  select organization_id, version.id, configuration.id, 'evaluation', 0, 8
  from environment_versions version join evaluator_configurations configuration using (organization_id);
insert into evaluation_trials (organization_id, evaluation_run_id, environment_version_id, attempt, seed)
  select organization_id, id, environment_version_id, attempt, 0 from evaluation_runs, generate_series(1, 4) attempt;
insert into trajectory_artifacts (organization_id, evaluation_trial_id, name, log, steps, step_count)
  select organization_id, trial.id, 'trajectory.json', '"log \\u0000 \\ud800"',
    (select coalesce(json_agg(json_build_object('step', step, 'tool', 'mcp', 'command', 'c' || step,
       'observation', 'o')), '[]') from generate_series(1, count) step), count
  from evaluation_trials trial, lateral (select (attempt - 1) * 100 + attempt / 4) counted (count) where attempt > 1;
"""
KEPT = """
select artifact.step_count, artifact.organization_id = words.organization_id as same,
  words.words = trajectory_words_of(artifact.organization_id, artifact.log, artifact.steps) as words,
  (select count(*) from trajectory_parts part where part.trajectory_artifact_id = artifact.id) as parts,
  (select json_agg(part.steps order by first_position)::text from trajectory_parts part
   where part.trajectory_artifact_id = artifact.id) =
  (select json_agg(block order by first_position)::text from trajectory_blocks(artifact.steps)) as steps
from trajectory_artifacts artifact left join trajectory_words words using (evaluation_trial_id) order by 1, 2
"""


async def test_trajectories_from_before_parts_and_words_get_theirs(
    empty: str, another_release: Path, superuser: str
) -> None:
    pending = list(dropwhile(lambda migration: migration.name != "trajectories", migrations()))
    for migration in pending:
        (another_release / "db" / "migrations" / f"{migration.version:04}_{migration.name}.sql").unlink()
    assert await migrate_with(another_release, empty) == ""
    administrator = empty.replace("agentforge_owner@", "postgres@")
    await execute(administrator, BEFORE_PARTS)
    assert await migrate(empty) == pending
    connection = await asyncpg.connect(administrator)
    try:
        kept = [tuple(row) for row in await connection.fetch(KEPT)]
    finally:
        await connection.close()
    assert kept == [
        *[(100, True, True, 0, None)] * 2,
        *[(200, True, True, 2, True)] * 2,
        *[(301, True, True, 4, True)] * 2,
    ]
