"""A real PostgreSQL for the whole test run, with a fresh database for each test; and a real service beside it."""

import json
import os
import re
import shutil
import uuid
from collections.abc import AsyncIterator, Iterator
from typing import Any

import asyncpg
import pytest
from asyncpg.connection import LoggedQuery
from xdist.scheduler import LoadFileScheduling  # type: ignore[import-untyped]

from db.embedded import DatabaseUrls, embedded_server
from db.migrate import migrate
from db.pool import nothing_to_reset
from db.tenant import Tenant
from tests.factory import create_organization
from tests.service import METRICS_TOKEN, PROJECT, Client, Service, command_json, running_service, short_directory


class OneProcessForTheService(LoadFileScheduling):  # type: ignore[misc]
    """Each file goes to one process, and all that use the running service to the same one: it starts once."""

    def _split_scope(self, nodeid: str) -> str:
        if nodeid.startswith(("tests/contract/", "tests/test_", "tests/web/browser/")):
            return "service"
        return str(super()._split_scope(nodeid))


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> OneProcessForTheService:
    return OneProcessForTheService(config, log)


@pytest.fixture(scope="session")
def server() -> Iterator[DatabaseUrls]:
    """The embedded server's two roles, in a folder of this run's own."""
    with short_directory() as directory, embedded_server(directory) as urls:
        yield urls


def in_database(url: str, database: str) -> str:
    """The same server and role, another database."""
    return url.replace("/agentforge?", f"/{database}?")


@pytest.fixture(scope="session")
def superuser(server: DatabaseUrls) -> str:
    return server.owner.replace("agentforge_owner@", "postgres@")


async def _run(url: str, *statements: str) -> None:
    connection = await asyncpg.connect(url)
    try:
        for statement in statements:
            await connection.execute(statement)
    finally:
        await connection.close()


@pytest.fixture(scope="session")
async def template(server: DatabaseUrls, superuser: str) -> str:
    """A migrated database to copy, on a server that need not survive a power cut."""
    hasty = [f"alter system set {name} = off" for name in ("fsync", "full_page_writes", "synchronous_commit")]
    await _run(superuser, *hasty, "select pg_reload_conf()")
    await _run(superuser, "create database template_migrated owner agentforge_owner template template0 locale 'C'")
    await migrate(in_database(server.owner, "template_migrated"))
    return "template_migrated"


@pytest.fixture
async def database(server: DatabaseUrls, superuser: str, template: str) -> AsyncIterator[DatabaseUrls]:
    """A migrated, empty database of this test's own."""
    name = f"test_{uuid.uuid4().hex}"
    await _run(superuser, f"create database {name} owner agentforge_owner template {template} strategy file_copy")
    yield DatabaseUrls(in_database(server.owner, name), in_database(server.app, name))
    await _run(superuser, f"drop database {name} (force)")


@pytest.fixture
async def administrator(database: DatabaseUrls) -> "AsyncIterator[asyncpg.Connection[asyncpg.Record]]":
    """A superuser's connection to this test's database: sees past row-level security, and can move rows in time."""
    connection = await asyncpg.connect(database.owner.replace("agentforge_owner@", "postgres@"))
    yield connection
    await connection.close()


@pytest.fixture
def statements() -> list[str]:
    """Names of the statements sent through `pool` in this test, in order."""
    return []


@pytest.fixture
async def pool(database: DatabaseUrls, statements: list[str]) -> "AsyncIterator[asyncpg.Pool[asyncpg.Record]]":
    async def record(connection: "asyncpg.Connection[asyncpg.Record]") -> None:
        def log(sent: LoggedQuery) -> None:
            if named := re.match(r"-- (\w+\.\w+)\n", sent.query):
                statements.append(named[1])

        connection.add_query_logger(log)

    async with asyncpg.create_pool(database.app, min_size=1, max_size=5, init=record, reset=nothing_to_reset) as pool:
        yield pool


@pytest.fixture
async def acme(pool: "asyncpg.Pool[asyncpg.Record]") -> Tenant:
    """An organization."""
    return await create_organization(pool, "acme")


@pytest.fixture
async def rival(pool: "asyncpg.Pool[asyncpg.Record]") -> Tenant:
    """Another organization in the same database."""
    return await create_organization(pool, "rival")


@pytest.fixture(scope="session")
def service() -> Iterator[Service]:
    """A running `agentforge up` whose demo has ended; tests may add to it and must not stop it."""
    with (
        short_directory() as directory,
        running_service(
            directory / "data", AGENTFORGE_LEASE_SECONDS="5", AGENTFORGE_METRICS_TOKEN=METRICS_TOKEN
        ) as running,
    ):
        yield running


@pytest.fixture(scope="session")
def tokens(service: Service) -> dict[str, str]:
    """A token of the demo organization for each role."""
    return {
        role: command_json("token", "create", "--organization", "demo", "--role", role, data_dir=service.data_dir)[
            "token"
        ]
        for role in ("owner", "member", "viewer", "worker")
    }


@pytest.fixture(scope="session")
def other(service: Service, tmp_path_factory: pytest.TempPathFactory) -> Client:
    """The owner of a second organization in `service`, which has an environment and an ended run of its own."""
    folder = tmp_path_factory.mktemp("other") / "till"
    shutil.copytree(PROJECT / "examples" / "admin_console", folder, ignore=shutil.ignore_patterns("__pycache__"))
    manifest = json.loads((folder / "environment.json").read_text())
    (folder / "environment.json").write_text(json.dumps(manifest | {"task": "Look at the till"}))
    made = command_json("organization", "create", "other", "--owner", "o@other.example", data_dir=service.data_dir)
    for arguments in (
        ("environment", "publish", folder),
        ("evaluate", "till", "--agent", "echo done", "--attempts", "2", "--watch"),
    ):
        command_json(*arguments, "--organization", "other", data_dir=service.data_dir)
    return Client(service.url, made["token"])


assert "AGENTFORGE_DATABASE_URL" not in os.environ, "tests bring their own server"
