"""Servers to measure: started on a database of their own, and driven over loopback with wrk."""

import asyncio
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID

import asyncpg
import httpx
import psutil

from benchmarks.filling import fill
from db.embedded import DatabaseUrls, embedded_server
from db.migrate import migrate


@dataclass(frozen=True)
class Server:
    name: str
    url: str
    headers: dict[str, str]
    process: psutil.Process
    extensions: dict[str, str] = field(default_factory=dict)

    def body(self, query: str, variables: dict[str, str]) -> dict[str, Any]:
        extensions = {"extensions": self.extensions} if self.extensions else {}
        return {"query": query, "variables": variables} | extensions


@dataclass(frozen=True)
class Measured:
    """Answers a second, latencies in milliseconds, and CPU seconds a thousand answers."""

    rate: float
    p50: float
    p99: float
    server_cpu: float
    database_cpu: float


@dataclass(frozen=True)
class Filled:
    """A database with an organization of so many trials; ids of its newest version and run."""

    directory: Path
    urls: DatabaseUrls
    organization: UUID
    token: str
    version: str
    run: str

    @property
    def superuser(self) -> str:
        return superuser_of(self.urls)

    @property
    def postmaster(self) -> psutil.Process:
        return psutil.Process(int((self.directory / "postgres" / "postmaster.pid").read_text().splitlines()[0]))


def superuser_of(urls: DatabaseUrls) -> str:
    return urls.owner.replace("agentforge_owner@", "postgres@")


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port: int = free.getsockname()[1]
        return port


def filled(stack: ExitStack, directory: Path, trials: int) -> Filled:
    """A running database in `directory`, filled when it is new."""
    urls = stack.enter_context(embedded_server(directory))
    made = directory / "benchmark.json"
    if not made.exists():
        asyncio.run(migrate(urls.owner))
        create = [sys.executable, "-m", "agentforge", "organization", "create", "benchmark", "--owner", "a@example.com"]
        text = subprocess.run(
            [*create, "--json", "--data-dir", str(directory)], check=True, capture_output=True, text=True
        ).stdout
        asyncio.run(fill(superuser_of(urls), UUID(json.loads(text)["organizationId"]), trials))
        made.write_text(text)
    organization = json.loads(made.read_text())
    version, run = asyncio.run(_newest(superuser_of(urls)))
    return Filled(directory, urls, UUID(organization["organizationId"]), organization["token"], version, run)


async def _newest(superuser_url: str) -> tuple[str, str]:
    connection = await asyncpg.connect(superuser_url)
    try:
        row = await connection.fetchrow(
            "select environment_version_id, id from evaluation_runs "
            "order by environment_version_id desc, id desc limit 1"
        )
    finally:
        await connection.close()
    assert row
    return str(row[0]), str(row[1])


@contextmanager
def started(name: str, command: list[str], url: str, headers: dict[str, str], **env: str) -> Iterator[Server]:
    """A server process, once it answers."""
    process = subprocess.Popen(command, env=os.environ | env, cwd=Path(__file__).parents[1], stdout=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 60
        while True:
            try:
                httpx.post(url, json={"query": "{ __typename }"}, headers=headers, timeout=5).raise_for_status()
                break
            except httpx.HTTPError:
                if process.poll() is not None or time.monotonic() > deadline:
                    raise
                time.sleep(0.1)
        yield Server(name, url, headers, psutil.Process(process.pid))
    finally:
        process.terminate()
        process.wait(30)


@contextmanager
def service(database: Filled) -> Iterator[Server]:
    """The whole service: routes, sign-in, limits. Its log goes to a file."""
    port = free_port()
    command = [sys.executable, "-m", "agentforge", "api", "--data-dir", str(database.directory)]
    headers = {"Authorization": f"Bearer {database.token}"}
    url = f"http://127.0.0.1:{port}/graphql"
    with started("AgentForge", command, url, headers, AGENTFORGE_PORT=str(port)) as server:
        yield server


def cpu(processes: list[psutil.Process]) -> float:
    total = 0.0
    for process in processes:
        try:
            times = process.cpu_times()
        except psutil.NoSuchProcess:
            continue
        total += times.user + times.system
    return total


def database_cpu(postmaster: psutil.Process) -> float:
    """Of its backends, those that have ended too."""
    ended = postmaster.cpu_times()
    return cpu(postmaster.children()) + ended.children_user + ended.children_system


def answer(server: Server, query: str, variables: dict[str, str]) -> Any:
    response = httpx.post(server.url, json=server.body(query, variables), headers=server.headers, timeout=60).json()
    assert "errors" not in response, response["errors"]
    return response["data"]


def drive(server: Server, postmaster: psutil.Process, body: str, connections: int, seconds: int) -> Measured:
    """Loads the server with wrk over `connections` connections that ask again and again."""
    with tempfile.NamedTemporaryFile("w", suffix=".lua") as script:
        script.write(f"wrk.method = 'POST'\nwrk.body = [==[{body}]==]\n")
        for name, value in ({"Content-Type": "application/json"} | server.headers).items():
            script.write(f"wrk.headers['{name}'] = '{value}'\n")
        script.flush()
        wrk = ["wrk", "--latency", "-t1", "--timeout", "60s", f"-c{connections}", "-s", script.name, server.url]
        subprocess.run([*wrk, "-d1s"], check=True, capture_output=True)  # warms caches
        before = cpu([server.process]), database_cpu(postmaster)
        text = subprocess.run([*wrk, f"-d{seconds}s"], check=True, capture_output=True, text=True).stdout
        after = cpu([server.process]), database_cpu(postmaster)
    if "Non-2xx" in text or "Socket errors" in text:
        raise RuntimeError(text)
    answers = int(re.search(r"(\d+) requests in", text)[1]) or 1  # type: ignore[index]
    return Measured(
        float(re.search(r"Requests/sec:\s+([\d.]+)", text)[1]),  # type: ignore[index]
        _milliseconds(text, "50%"),
        _milliseconds(text, "99%"),
        (after[0] - before[0]) / answers * 1000,
        (after[1] - before[1]) / answers * 1000,
    )


def _milliseconds(text: str, percentile: str) -> float:
    found = re.search(rf"{percentile}\s+([\d.]+)(us|ms|s)", text)
    assert found
    return float(found[1]) * {"us": 0.001, "ms": 1.0, "s": 1000.0}[found[2]]
