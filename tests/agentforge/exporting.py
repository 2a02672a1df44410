"""`agentforge export` as a process, and a service process that can be killed and started again on its port."""

import asyncio
import os
import socket
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import asyncpg
import httpx
from typer.testing import CliRunner

from agentforge.__main__ import app
from agentforge.commands.export import TOKEN
from db.embedded import DatabaseUrls, embedded_server
from resolvers.accounts import tenant_of
from tests.service import command_json, environment, short_directory
from tests.streaming.rows import create_many

SECONDS = 60
_EXPORTING = "from pg_stat_activity where application_name = 'agentforge export' and state <> 'idle'"


@dataclass
class Api:
    """`agentforge api` on a data folder whose database is kept running by the test."""

    data_dir: Path
    urls: DatabaseUrls
    port: int
    token: str
    process: Process

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def get(self, **parameters: str) -> bytes:
        """An export, whole."""
        headers = {"Authorization": f"Bearer {self.token}"}
        answer = httpx.get(f"{self.url}/api/v1/rollouts", params=parameters, headers=headers, timeout=30)
        answer.raise_for_status()
        return answer.content

    async def kill(self) -> None:
        self.process.kill()
        await self.process.wait()

    async def exporting(self) -> int:
        """How many connections are in the midst of an export."""
        async with superuser(self.urls) as connection:
            count: int = await connection.fetchval(f"select count(*) {_EXPORTING}")
        return count

    async def end_backends(self) -> int:
        """Ends the database's process of each export; how many."""
        async with superuser(self.urls) as connection:
            return len(await connection.fetch(f"select pg_terminate_backend(pid, 5000) {_EXPORTING}"))

    async def start(self) -> None:
        self.process = await start_api(self.data_dir, self.port)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port: int = free.getsockname()[1]
        return port


async def start_api(data_dir: Path, port: int) -> Process:
    """The process, once it answers."""
    changes = {"AGENTFORGE_PORT": str(port), "AGENTFORGE_DATA_DIR": str(data_dir)}
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "agentforge", "api", env=environment(**changes), stdout=PIPE
    )
    assert process.stdout is not None
    async with asyncio.timeout(SECONDS):
        assert await process.stdout.readline()  # it has told its address
        async with httpx.AsyncClient() as web:
            while True:
                try:
                    await web.get(f"http://127.0.0.1:{port}/healthz")
                    return process
                except httpx.TransportError:
                    await asyncio.sleep(0.05)


@asynccontextmanager
async def exporting_api(lines: int, size: int) -> AsyncIterator[Api]:
    """A service with so many rollouts of reward 0.5 in its one organization, each with a step of `size` characters."""
    with short_directory() as directory, embedded_server(directory) as urls:
        made = command_json("organization", "create", "acme", "--owner", "a@acme.example", data_dir=directory)
        async with asyncpg.create_pool(urls.app, min_size=1, max_size=1) as pool:
            await create_many(await tenant_of(pool, "acme"), lines, size)
        port = free_port()
        running = Api(directory, urls, port, made["token"], await start_api(directory, port))
        yield running
        running.process.terminate()
        await running.process.wait()


@dataclass(frozen=True)
class Ended:
    code: int
    out: bytes
    err: str


def settings(url: str, token: str) -> dict[str, str]:
    return environment(AGENTFORGE_URL=url, AGENTFORGE_TOKEN=token, NO_PROXY="127.0.0.1")


async def begin(*arguments: str | Path, url: str, token: str) -> Process:
    command = [sys.executable, "-m", "agentforge", "export", *map(str, arguments)]
    return await asyncio.create_subprocess_exec(*command, env=settings(url, token), stdout=PIPE, stderr=PIPE)


async def end(process: Process, token: str) -> Ended:
    """How it ended; whatever happened, no token and no traceback stands in what it said."""
    async with asyncio.timeout(SECONDS):
        out, err = await process.communicate()
    said = err.decode()
    assert token not in said
    assert token.encode() not in out
    assert "Traceback" not in said, said
    assert process.returncode is not None
    return Ended(process.returncode, out, said)


def export(*arguments: str | Path, url: str, token: str) -> Ended:
    """The command in this process: starting another takes a second."""
    command = ["export", *map(str, arguments)]
    ended = CliRunner().invoke(app, command, env={"AGENTFORGE_URL": url, TOKEN: token, "NO_PROXY": "127.0.0.1"})
    assert ended.exception is None or isinstance(ended.exception, SystemExit)
    assert token not in ended.output
    return Ended(ended.exit_code, ended.stdout_bytes, ended.stderr)


@asynccontextmanager
async def superuser(urls: DatabaseUrls) -> "AsyncIterator[asyncpg.Connection[asyncpg.Record]]":
    connection = await asyncpg.connect(urls.owner.replace("agentforge_owner@", "postgres@"))
    try:
        yield connection
    finally:
        await connection.close()


def names(folder: Path) -> list[str]:
    """Everything in the folder, what is hidden too."""
    return sorted(os.listdir(folder))  # noqa: PTH208 - names, not paths
