"""Which database the settings mean, and what happens when its schema is another version's."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import asyncpg
import pytest

from agentforge.database import DatabaseSettingsError, Urls, database, ensure_migrated
from agentforge.settings import Settings
from db.embedded import DatabaseUrls
from db.migrate import MigrationError
from tests.conftest import in_database


def test_a_database_of_the_settings_is_taken_as_it_is() -> None:
    with database(Settings(database_url="postgresql://app:hunter2@db/x")) as urls:
        assert urls == Urls("postgresql://app:hunter2@db/x", None)
        assert "hunter2" not in repr(urls)
    with database(Settings(database_url="postgresql://app@db/x", owner_database_url="postgresql://o@db/x")) as urls:
        assert urls.owner == "postgresql://o@db/x"


def test_an_owner_alone_is_no_database_to_work_on() -> None:
    with (
        pytest.raises(DatabaseSettingsError, match="AGENTFORGE_DATABASE_URL"),
        database(Settings(owner_database_url="postgresql://o@db/x")),
    ):
        pytest.fail("opened")


@pytest.fixture
def data_dir() -> Iterator[Path]:
    # Not pytest's tmp_path: a socket's path may be 107 bytes long at most.
    with tempfile.TemporaryDirectory(prefix="af", ignore_cleanup_errors=True) as directory:
        Path(directory).chmod(0o755)
        yield Path(directory)


async def test_without_settings_the_embedded_server_is_started_and_migrated(data_dir: Path) -> None:
    with database(Settings(data_dir=data_dir)) as urls:
        assert len(await ensure_migrated(urls)) > 0
        assert await ensure_migrated(urls) == []
        assert await ensure_migrated(Urls(urls.app, None)) == []


async def test_without_the_owner_the_schema_has_to_be_this_version(
    database: DatabaseUrls, server: DatabaseUrls, superuser: str
) -> None:
    only_app = Urls(database.app, None)
    assert await ensure_migrated(only_app) == []
    owner = await asyncpg.connect(database.owner)
    try:
        await owner.execute("insert into schema_migrations (version, name, sha256) values (9999, 'later', '')")
        with pytest.raises(MigrationError, match=r"9999, newer .* Upgrade AgentForge"):
            await ensure_migrated(only_app)
        await owner.execute("delete from schema_migrations where version > 1")
        with pytest.raises(MigrationError, match="`agentforge migrate` with AGENTFORGE_OWNER_DATABASE_URL"):
            await ensure_migrated(only_app)
    finally:
        await owner.close()
    with pytest.raises(MigrationError, match="has migration 0,"):
        await ensure_migrated(Urls(in_database(server.app, "postgres"), None))
