"""Exports beside psql and the server alone, in turn: rate, first byte, memory with slow clients, the graph meanwhile.

    uv run python benchmarks/exports.py [--quick | --million] [--json] [--data-dir FOLDER]

All four run the same statement as the same role under row-level security: the service over loopback to curl, psql's
COPY as text and in binary to /dev/null, and COPY to /dev/null within the server, the floor. Medians of five rounds;
once as the kernel places the processes, and once with the database on a core of its own, for all four alike: on two
cores the kernel often puts a woken service on the very core that the database works on.
"""

import asyncio
import re
import socket
import statistics
import subprocess
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import asyncpg
import httpx
import psutil
import zstandard

from benchmarks.placement import can_be_apart, database_apart
from benchmarks.report import Report, parser, reported
from benchmarks.servers import Filled, Server, filled, service
from db import exports
from db.copying import inlined
from db.embedded import start_server
from db.query import decided
from resolvers.rollouts import ExportKind
from streaming.body import CHUNK_BYTES
from streaming.encodings import ENCODERS, Encoder, Gzip, Zstd
from streaming.lines import PLAN

ROUNDS = 5
SLOW_CLIENTS = 6
ARTIFACTS = """
set session_replication_role = replica;
set enable_nestloop = off;
insert into trajectory_artifacts (organization_id, evaluation_trial_id, execution, name, log, steps, step_count)
  select organization_id, id, execution, 'trajectory.json', '""', (
    select json_agg(json_build_object('step', step, 'tool', 'shop.order', 'command', '{"sku":"SKU-' || step || '"}',
      'observation', (select string_agg(md5(trial.id::text || step || part), ' ') from generate_series(1, 11) part)))
    from generate_series(1, $steps) step), $steps
  from evaluation_trials trial
  where not exists (select from trajectory_artifacts artifact where artifact.evaluation_trial_id = trial.id);
reset session_replication_role;
reset enable_nestloop;
vacuum analyze;
checkpoint;
grant pg_write_server_files to agentforge_app;
"""


async def execute(url: str, text: str) -> None:
    connection = await asyncpg.connect(url)
    try:
        for statement in filter(str.strip, text.split(";\n")):
            await connection.execute(statement)
    finally:
        await connection.close()


def statement(lines: int) -> str:
    return inlined(*decided(exports.ROLLOUTS.text, [*[None] * 5, lines, ExportKind.FAILED]))


class Ways:
    """Seconds that each way takes for so many lines."""

    def __init__(self, database: Filled, server: Server) -> None:
        self._database = database
        self._psql = start_server(database.directory / "postgres").bin_path / "psql"
        self._export = server.url.replace("/graphql", "/api/v1/rollouts")
        self._authorization = f"Authorization: Bearer {database.token}"

    def service(self, lines: int) -> float:
        return self.curl(lines, "time_total")

    def curl(self, lines: int, what: str) -> float:
        url = f"{self._export}?kind=failed&limit={lines}"
        command = ["curl", "-sfH", self._authorization, "-o", "/dev/null", "-w", f"%{{{what}}}", url]
        return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)

    def psql_text(self, lines: int) -> float:
        return self._copy(lines, "stdout")

    def psql_binary(self, lines: int) -> float:
        return self._copy(lines, "stdout (format binary)")

    def floor(self, lines: int) -> float:
        return self._copy(lines, "'/dev/null' (format binary)")

    def _copy(self, lines: int, target: str) -> float:
        text = (
            f"begin isolation level repeatable read read only; {PLAN}; set local jit = off; "
            f"set local agentforge.organization_id = '{self._database.organization}'; "
            f"copy ({statement(lines)}) to {target}"
        )
        began = time.perf_counter()
        subprocess.run([self._psql, "-qX", self._database.urls.app, "-c", text], check=True, stdout=subprocess.DEVNULL)
        return time.perf_counter() - began


def compare(report: Report, ways: Ways, lines: int, where: str = "") -> None:
    measured: dict[str, list[float]] = {}
    each: dict[str, Callable[[int], float]] = {
        "service": ways.service,
        "psql text": ways.psql_text,
        "psql binary": ways.psql_binary,
        "floor": ways.floor,
    }
    for _ in range(ROUNDS):
        for name, way in each.items():
            measured.setdefault(name, []).append(way(lines))
    seconds = {name: statistics.median(times) for name, times in measured.items()}
    for name, taken in seconds.items():
        print(f"{lines:>9,} lines{where}  {name:<12} {taken:8.3f} s  {lines / taken:10,.0f} lines/s")
    report.at_least(f"{lines:,} lines{where}, of psql binary", seconds["psql binary"] / seconds["service"], 1.1)
    report.at_least(f"{lines:,} lines{where}, of the floor", seconds["floor"] / seconds["service"], 0.75)
    first = statistics.median(
        ways.curl(lines, "time_starttransfer") - ways.curl(lines, "time_connect") for _ in range(9)
    )
    report.at_most(f"{lines:,} lines{where}, first byte in ms", first * 1000, 5)


def codings(report: Report, server: Server) -> None:
    """Encoders of the service beside the usual levels of zlib and zstd, fed with the same chunks of an export."""
    url = server.url.replace("/graphql", "/api/v1/rollouts")
    parameters = {"kind": "failed", "limit": "2000"}
    content = httpx.get(url, params=parameters, headers=server.headers | {"Accept-Encoding": "identity"}).content
    chunks = [content[at : at + CHUNK_BYTES] for at in range(0, len(content), CHUNK_BYTES)]
    for name, usual in (("gzip", _UsualGzip), ("zstd", _UsualZstd)):
        ours, theirs = (_coded(encoder, chunks) for encoder in (ENCODERS[name], usual))
        for side, (seconds, size) in (("the service's", ours), ("usual level", theirs)):
            print(
                f"{name} {side:<13} {len(content) / seconds / 1e6:8,.0f} MB/s  {len(content) / size:.2f} times smaller"
            )
        report.at_least(f"{name}, times as fast as its usual level", theirs[0] / ours[0], 1.5)


class _UsualGzip(Gzip):
    def __init__(self) -> None:
        self._deflate = zlib.compressobj(wbits=31)  # type: ignore[assignment]


class _UsualZstd(Zstd):
    def __init__(self) -> None:
        self._frame = zstandard.ZstdCompressor(write_checksum=True).compressobj()


def _coded(encoder: type[Encoder], chunks: list[bytes]) -> tuple[float, int]:
    """Seconds, the median of the rounds, and bytes."""
    times = []
    for _ in range(ROUNDS):
        coding, began = encoder(), time.perf_counter()
        size = sum(len(coding.add(chunk)) for chunk in chunks) + len(coding.finish())
        times.append(time.perf_counter() - began)
    return statistics.median(times), size


@contextmanager
def slow_clients(server: Server) -> Iterator[None]:
    """Connections that have asked for everything and take next to nothing."""
    parts = urlsplit(server.url)
    head = {"Host": "x", **server.headers}
    fields = "".join(f"{name}: {value}\r\n" for name, value in head.items())
    asked = f"GET /api/v1/rollouts?kind=failed HTTP/1.1\r\n{fields}\r\n"
    with ExitStack() as stack:
        for _ in range(SLOW_CLIENTS):
            client = stack.enter_context(socket.create_connection((parts.hostname or "", parts.port or 0)))
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65_536)
            client.sendall(asked.encode())
            client.recv(1024)
        yield


def memory(report: Report, server: Server, ways: Ways, lines: int) -> None:
    process = psutil.Process(server.process.pid)
    before = peak = process.memory_info().rss
    with slow_clients(server):
        began = time.monotonic()
        exporting = asyncio.run(_watched(process, ways, lines))
        peak = max(peak, exporting)
        print(f"one fast and {SLOW_CLIENTS} slow clients: {time.monotonic() - began:.1f} s")
    report.at_most("resident growth in MiB", (peak - before) / 2**20, 64)


async def _watched(process: psutil.Process, ways: Ways, lines: int) -> int:
    peak = 0
    task = asyncio.create_task(asyncio.to_thread(ways.service, lines))
    while not task.done():
        peak = max(peak, process.memory_info().rss)
        await asyncio.sleep(0.02)
    await task
    return peak


def latencies(server: Server, seconds: float) -> float:
    """The 99th percentile of a small query, in milliseconds."""
    taken = []
    with httpx.Client(headers=server.headers) as client:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            began = time.perf_counter()
            client.post(server.url, json={"query": "{ viewer { id } }"}).raise_for_status()
            taken.append((time.perf_counter() - began) * 1000)
    return statistics.quantiles(taken, n=100)[98]


def graph_meanwhile(report: Report, server: Server, ways: Ways, lines: int) -> None:
    idle = latencies(server, 3)

    async def both() -> float:
        asking = asyncio.create_task(asyncio.to_thread(latencies, server, 3))
        while not asking.done():
            await asyncio.to_thread(ways.service, lines)
        return await asking

    busy = asyncio.run(both())
    print(f"a small query, p99: {idle:.1f} ms idle, {busy:.1f} ms during an export")
    report.at_most("p99 of a small query during an export, times idle", busy / idle, 4)


async def preference_ms(database: Filled) -> float:
    connection = await asyncpg.connect(database.urls.app)
    try:
        await connection.execute(
            f"set agentforge.organization_id = '{database.organization}'; set jit = off; begin; {PLAN}"
        )
        text = inlined(*decided(exports.PREFERENCES.text, [None, None, None, None, None, 100]))
        times = []
        for _ in range(15):
            plan = await connection.fetch(f"explain (analyze, timing off, buffers off) {text}")
            found = re.search(r"Execution Time: ([\d.]+)", "\n".join(row[0] for row in plan))
            assert found
            times.append(float(found[1]))
    finally:
        await connection.close()
    return statistics.median(times)


def make(stack: ExitStack, directory: Path, lines: int, steps: int) -> tuple[Filled, Server, Ways]:
    """A service with so many rollouts below 1, each with so many steps, that has exported them once."""
    database = filled(stack, directory, lines * 5 // 4)  # four of five rollouts have a reward below 1
    asyncio.run(execute(database.superuser, ARTIFACTS.replace("$steps", str(steps))))
    server = stack.enter_context(service(database))
    ways = Ways(database, server)
    ways.service(lines)
    return database, server, ways


def million(report: Report, directory: Path) -> None:
    """Whether ten times as many lines, of two steps each, take ten times as long and no more memory."""
    few, many = 100_000, 1_000_000
    with ExitStack() as stack:
        _, server, ways = make(stack, directory, many, 2)
        process = psutil.Process(server.process.pid)
        before, peak = process.memory_info().rss, 0
        seconds: dict[int, list[float]] = {few: [], many: []}
        for _ in range(ROUNDS):
            for lines, times in seconds.items():
                began = time.perf_counter()
                peak = max(peak, asyncio.run(_watched(process, ways, lines)))
                times.append(time.perf_counter() - began)
        median = {lines: statistics.median(times) for lines, times in seconds.items()}
        for lines, taken in median.items():
            print(f"{lines:>9,} lines of two steps: {taken:8.3f} s  {lines / taken:10,.0f} lines/s")
        report.at_most("1,000,000 lines, of ten times the time of 100,000", median[many] / median[few] / 10, 1.25)
        report.at_most("1,000,000 lines, resident growth in MiB", (peak - before) / 2**20, 64)


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--million", action="store_true", help="only whether a million rollouts stay linear and flat")
    arguments = options.parse_args()
    sizes = (2_000, 20_000) if arguments.quick else (10_000, 100_000)
    with reported(arguments) as (report, directory), ExitStack() as stack:
        if arguments.million:
            million(report, Path(directory))
            return
        database, server, ways = make(stack, Path(directory), sizes[-1], 20)
        for lines in sizes:
            compare(report, ways, lines)
            if can_be_apart():
                with database_apart(database.postmaster, server.process):
                    compare(report, ways, lines, ", database apart")
        codings(report, server)
        memory(report, server, ways, sizes[-1])
        graph_meanwhile(report, server, ways, sizes[-1])
        report.at_most("preference pairs of 100 versions, ms of SQL", asyncio.run(preference_ms(database)), 2)


if __name__ == "__main__":
    main()
