"""Asks AgentForge, Strawberry's executor alone and PostGraphile the same, side by side, and prints ratios.

    npm install --prefix benchmarks/peers --no-package-lock
    uv run python -m benchmarks.graph --trials 100000

Needs wrk and npm. All three read the same database as the same role under row-level security; AgentForge is the
whole service, with sign-in and limits. Load goes to loopback only.
"""

import argparse
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
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from uuid import UUID

import asyncpg
import httpx
import psutil

from benchmarks.filling import fill
from benchmarks.operations import OPERATIONS, in_our_words
from db.embedded import embedded_server
from db.migrate import migrate

PEERS = Path(__file__).parent / "peers"


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


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port: int = free.getsockname()[1]
        return port


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


def cpu(processes: list[psutil.Process]) -> float:
    total = 0.0
    for process in processes:
        try:
            times = process.cpu_times()
        except psutil.NoSuchProcess:
            continue
        total += times.user + times.system
    return total


def drive(server: Server, postmaster: psutil.Process, body: str, connections: int, seconds: int) -> Measured:
    """Loads the server with wrk over `connections` connections that ask again and again."""
    with tempfile.NamedTemporaryFile("w", suffix=".lua") as script:
        script.write(f"wrk.method = 'POST'\nwrk.body = [==[{body}]==]\n")
        for name, value in ({"Content-Type": "application/json"} | server.headers).items():
            script.write(f"wrk.headers['{name}'] = '{value}'\n")
        script.flush()
        wrk = [
            "wrk",
            "--latency",
            "-t1",
            "--timeout",
            "60s",
            f"-c{connections}",
            f"-d{seconds}s",
            "-s",
            script.name,
            server.url,
        ]
        subprocess.run([*wrk[:-4], "-d1s", *wrk[-3:]], check=True, capture_output=True)  # warms caches
        backends = postmaster.children()
        before = cpu([server.process]), cpu(backends)
        text = subprocess.run(wrk, check=True, capture_output=True, text=True).stdout
        after = cpu([server.process]), cpu(backends)
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


def answer(server: Server, query: str, variables: dict[str, str]) -> Any:
    response = httpx.post(server.url, json=server.body(query, variables), headers=server.headers, timeout=60).json()
    assert "errors" not in response, response["errors"]
    return response["data"]


def compare(servers: list[Server], postmaster: psutil.Process, variables: dict[str, str], arguments: Any) -> None:
    for operation in OPERATIONS:
        if arguments.only and arguments.only not in operation.name:
            continue
        texts = {
            server.name: operation.theirs if server.name == "PostGraphile" else operation.ours for server in servers
        }
        used = {
            name: {key: value for key, value in variables.items() if f"${key}:" in text} for name, text in texts.items()
        }
        answers = {server.name: answer(server, texts[server.name], used[server.name]) for server in servers}
        if any(in_our_words(given) != answers["AgentForge"] for given in answers.values()):
            raise SystemExit(f"{operation.name}: the answers differ")
        print(f"\n{operation.name}: {len(json.dumps(answers['AgentForge'])):,} characters")
        for connections in arguments.connections:
            measured = {
                server.name: drive(
                    server,
                    postmaster,
                    json.dumps(server.body(texts[server.name], used[server.name])),
                    connections,
                    arguments.seconds,
                )
                for server in servers
            }
            for name, one in measured.items():
                ratio = measured["AgentForge"].rate / one.rate if one.rate else float("inf")
                print(
                    f"  c={connections:<3} {name:14} {one.rate:8.1f}/s  p50 {one.p50:7.1f} ms  p99 {one.p99:7.1f} ms"
                    f"  CPU/1000: {one.server_cpu:5.2f} s + database {one.database_cpu:5.2f} s"
                    f"  AgentForge is {ratio:.2f}x"
                )


async def identifiers(superuser_url: str, organization: UUID) -> dict[str, str]:
    connection = await asyncpg.connect(superuser_url)
    try:
        row = await connection.fetchrow(
            "select environment_version_id, id from evaluation_runs where organization_id = $1 "
            "order by environment_version_id desc, id desc limit 1",
            organization,
        )
    finally:
        await connection.close()
    assert row
    return {"organization": str(organization), "version": str(row[0]), "run": str(row[1])}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=100_000)
    parser.add_argument("--seconds", type=int, default=5)
    parser.add_argument("--connections", type=int, nargs="+", default=[1, 8, 32])
    parser.add_argument("--only", help="operations whose name contains this")
    parser.add_argument("--data-dir", type=Path, help="kept, and filled when it is new")
    arguments = parser.parse_args()
    with ExitStack() as stack:
        directory = arguments.data_dir or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="af")))
        run(stack, directory, arguments)


def run(stack: ExitStack, directory: Path, arguments: Any) -> None:
    urls = stack.enter_context(embedded_server(directory))
    superuser = urls.owner.replace("agentforge_owner@", "postgres@")
    made = directory / "benchmark.json"
    if not made.exists():
        asyncio.run(migrate(urls.owner))
        create = [sys.executable, "-m", "agentforge", "organization", "create", "benchmark", "--owner", "a@example.com"]
        text = subprocess.run(
            [*create, "--json", "--data-dir", str(directory)], check=True, capture_output=True, text=True
        ).stdout
        asyncio.run(fill(superuser, UUID(json.loads(text)["organizationId"]), arguments.trials))
        made.write_text(text)
    organization = json.loads(made.read_text())
    variables = asyncio.run(identifiers(superuser, UUID(organization["organizationId"])))
    bearer = {"Authorization": f"Bearer {organization['token']}"}
    port = free_port()
    command = [sys.executable, "-m", "agentforge", "api", "--data-dir", str(directory)]
    url = f"http://127.0.0.1:{port}/graphql"
    ours = stack.enter_context(started("AgentForge", command, url, bearer, AGENTFORGE_PORT=str(port)))
    # The same process: operations with extensions are left to Strawberry's executor.
    servers = [ours, replace(ours, name="Strawberry", extensions={"executor": "Strawberry"})]
    port, parameters = free_port(), dict(part.split("=") for part in urls.app.partition("?")[2].split("&"))
    peer = {"PGHOST": parameters["host"], "PGUSER": "agentforge_app", "PGDATABASE": "agentforge", "PORT": str(port)}
    peer |= {"ORGANIZATION": variables["organization"], "GRAPHILE_ENV": "production"}
    node = [str(PEERS / "node_modules" / ".bin" / "node"), str(PEERS / "postgraphile.mjs")]
    servers.append(stack.enter_context(started("PostGraphile", node, f"http://127.0.0.1:{port}/graphql", {}, **peer)))
    postmaster = psutil.Process(int((directory / "postgres" / "postmaster.pid").read_text().splitlines()[0]))
    compare(servers, postmaster, variables, arguments)


if __name__ == "__main__":
    main()
