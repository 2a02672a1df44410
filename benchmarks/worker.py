"""Measures what a worker adds to the processes of a trial, beside the same processes started by a bare asyncio loop.

    uv run python benchmarks/worker.py [--quick] [--json] [--drain 10000]

Runs are queued in a database of its own and drained by a real worker; in turn with it the bare loop of `bare_loop.py`
starts the same world, agent and evaluator as often, with the same pipes, and does nothing else. Two kinds of programs:
the smallest in Python, in runs of eight attempts and of one, and the smallest there are (`cat`, `true`, `echo`). With
`--drain` so many queued runs of one attempt are drained besides, to see the worker's memory.
"""

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import psutil

from agentforge.publishing import ensure_configuration, publish_directory
from benchmarks.report import Report, parser, reported
from db.embedded import DatabaseUrls, embedded_server
from db.migrate import migrate
from db.pool import open_pool
from db.tenant import Joined, Tenant
from resolvers import runs
from resolvers.accounts import create_organization

BAR = 0.7
SECONDS = 600
#: Trials of a round at concurrency 1, 4 and 16.
TRIALS = {1: 40, 4: 80, 16: 80}
ROUNDS = 5
SAMPLES = 8
BATCH = 100
HEADER = """\
| programs | concurrency | worker, trials/s | bare loop, trials/s | ratio | worker ms | guards ms | database ms \
| programs ms | bare loop ms |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |"""
RUNNING = "select 1 from evaluation_trials where status = 'running'"
NEWEST = """
select extract(epoch from max(finished_at) - min(started_at))::float8, count(*) filter (where reward = 1),
  min(failure_detail)
from (select * from evaluation_trials order by id desc limit $1) newest
"""


@dataclass(frozen=True)
class Programs:
    name: str
    attempts: int
    world: tuple[str, ...]
    agent: tuple[str, ...]
    evaluator: tuple[str, ...]
    files: dict[str, str]


PYTHON = Programs(
    "Python",
    8,
    ("{python}", "-m", "idle_world"),
    ("{python}", "-c", "pass"),
    ("{python}", "-m", "full_score"),
    {"idle_world.py": "import sys\nfor line in sys.stdin: pass\n", "full_score.py": "print('{\"reward\": 1}')\n"},
)
SINGLE = replace(PYTHON, name="Python, single", attempts=1)
SMALLEST = Programs("smallest", 8, ("cat",), ("true",), ("echo", '{"reward": 1}'), {})
SMALLEST_SINGLE = replace(SMALLEST, name="smallest, single", attempts=1)
KINDS = (PYTHON, SINGLE, SMALLEST, SMALLEST_SINGLE)


@dataclass(frozen=True)
class Round:
    """Of one round, in milliseconds a trial: CPU of the worker or loop itself, of all it started, of PostgreSQL."""

    seconds: float
    own: float
    started: float
    database: float = 0.0


@dataclass
class Queue:
    """A database with an environment for each kind of programs, whose runs have one attempt."""

    directory: Path
    urls: DatabaseUrls
    tenant: Tenant
    ids: dict[str, tuple[str, str]]

    @property
    def postmaster(self) -> psutil.Process:
        return psutil.Process(int((self.directory / "postgres" / "postmaster.pid").read_text().splitlines()[0]))

    async def add(self, programs: Programs, count: int) -> None:
        """Queues runs of so many trials in all, many in one transaction."""
        pool, organization = self.tenant.pool, self.tenant.organization_id
        for first in range(0, count // programs.attempts, BATCH):
            async with self.tenant.transaction() as transaction:
                joined = Joined(pool, organization, transaction)
                for _ in range(first, min(first + BATCH, count // programs.attempts)):
                    await runs.start(joined, *self.ids[programs.name], 0)

    async def fetch(self, statement: str, *arguments: object) -> Any:
        async with self.tenant.transaction() as transaction:
            return await transaction.connection.fetchrow(statement, *arguments)

    async def left(self) -> int:
        found = await self.fetch("select count(*) from evaluation_runs where finished_at is null")
        return int(found[0])


def slug_of(programs: Programs) -> str:
    return programs.name.lower().replace(", ", "-")


async def publish(tenant: Tenant, directory: Path, programs: Programs) -> tuple[str, str]:
    folder = directory / slug_of(programs)
    folder.mkdir()
    for name, text in programs.files.items():
        (folder / name).write_text(text)
    manifest = {
        "task": "nothing",
        "world": {"command": programs.world},
        "evaluator": {"command": programs.evaluator},
    }
    (folder / "environment.json").write_text(json.dumps(manifest))
    version = await publish_directory(tenant, folder, slug_of(programs), programs.name)
    configuration = await ensure_configuration(tenant, programs.agent, programs.attempts)
    return str(version.id), str(configuration.id)


def cpu_below(process: psutil.Process) -> float:
    """CPU seconds of all that a process started and that has ended or is its child now."""
    times = process.cpu_times()
    total = times.children_user + times.children_system
    for child in process.children(recursive=True):
        try:
            of_child = child.cpu_times()
        except psutil.NoSuchProcess:
            continue
        total += sum(of_child[:4])
    return total


def own_cpu(process: psutil.Process) -> float:
    times = process.cpu_times()
    return times.user + times.system


@contextmanager
def worker(queue: Queue, concurrency: int) -> Iterator[psutil.Process]:
    environment = {
        "AGENTFORGE_DATABASE_URL": queue.urls.app,
        "AGENTFORGE_DATA_DIR": str(queue.directory / "worker"),
        "AGENTFORGE_CONCURRENCY": str(concurrency),
    }
    with (queue.directory / "worker.log").open("ab") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "agentforge", "worker"], env=os.environ | environment, stdout=log, stderr=log
        )
    try:
        yield psutil.Process(process.pid)
    finally:
        process.terminate()
        process.wait(60)


async def drain(queue: Queue, programs: Programs, concurrency: int, count: int) -> Round:
    """From the first start of a trial to the end of the last."""
    await queue.add(programs, count)
    with worker(queue, concurrency) as process:
        while not await queue.fetch(RUNNING):  # noqa: ASYNC110 - another process cannot set an event
            await asyncio.sleep(0.02)
        own, database, began = own_cpu(process), cpu_below(queue.postmaster), time.monotonic()
        while await queue.left():
            assert process.is_running()
            assert time.monotonic() - began < SECONDS
            await asyncio.sleep(0.2)
        own, started = own_cpu(process) - own, cpu_below(process)
        database = cpu_below(queue.postmaster) - database
    found = await queue.fetch(
        NEWEST,
        count,
    )
    assert found[1] == count, f"not all trials were scored: {found[2]}"
    return Round(found[0], *(part / count * 1000 for part in (own, started, database)))


def bare(queue: Queue, programs: Programs, concurrency: int, count: int) -> Round:
    bundle = queue.directory / slug_of(programs)
    commands = {"world": programs.world, "agent": programs.agent, "evaluator": programs.evaluator}
    asked = {
        name: [sys.executable if part == "{python}" else part for part in command] for name, command in commands.items()
    }
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(bundle), "PYTHONDONTWRITEBYTECODE": "1"}
    told = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("bare_loop.py"))],
        input=json.dumps({**asked, "trials": count, "concurrency": concurrency, "env": env, "cwd": str(bundle)}),
        capture_output=True,
        text=True,
        check=True,
    )
    measured = json.loads(told.stdout)
    return Round(measured["seconds"], measured["loopCpu"] / count * 1000, measured["processesCpu"] / count * 1000)


def middle(values: Iterator[float]) -> float:
    return statistics.median(values)


async def compare(queue: Queue, programs: Programs, concurrency: int, rounds: int, report: Report) -> None:
    count = TRIALS[concurrency]
    ours, theirs = [], []
    for number in range(rounds):
        for side in ("worker", "bare") if number % 2 else ("bare", "worker"):
            if side == "worker":
                ours.append(await drain(queue, programs, concurrency, count))
            else:
                theirs.append(await asyncio.to_thread(bare, queue, programs, concurrency, count))
    ratios = sorted(b.seconds / w.seconds for w, b in zip(ours, theirs, strict=True))
    started = middle(w.started for w in ours)
    programs_cpu = middle(b.started for b in theirs)
    print(
        f"| {programs.name} | {concurrency} | {count / middle(w.seconds for w in ours):.1f} "
        f"| {count / middle(b.seconds for b in theirs):.1f} | {statistics.median(ratios):.2f} "
        f"({ratios[0]:.2f} to {ratios[-1]:.2f}) | {middle(w.own for w in ours):.1f} | {started - programs_cpu:.1f} "
        f"| {middle(w.database for w in ours):.1f} | {programs_cpu:.1f} | {middle(b.own for b in theirs):.1f} |",
        flush=True,
    )
    if programs is not SMALLEST:
        report.at_least(f"{slug_of(programs)}_c{concurrency}_of_bare_loop", statistics.median(ratios), BAR)


async def watch_memory(queue: Queue, count: int, report: Report) -> None:
    """Drains many runs and reads the worker's resident memory as they go."""
    await queue.add(SMALLEST_SINGLE, count)
    samples: list[tuple[int, float]] = []
    with worker(queue, os.cpu_count() or 1) as process:
        began = time.monotonic()
        while (left := await queue.left()) and time.monotonic() - began < SECONDS - 60:
            if count - left >= count / SAMPLES * (len(samples) + 1) - 1:
                samples.append((count - left, process.memory_info().rss / 2**20))
            await asyncio.sleep(0.2)
        seconds = time.monotonic() - began
        samples.append((count - left, process.memory_info().rss / 2**20))
    print(f"\n{count - left:,} of {count:,} queued runs drained in {seconds:.0f} s; resident memory of the worker:")
    print("  " + ", ".join(f"{mebibytes:.0f} MiB after {done:,}" for done, mebibytes in samples))
    report.at_least("runs_drained", count - left, count)
    report.at_most("memory_growth_of_drain", samples[-1][1] / samples[0][1], 1.1)


async def measure(stack: ExitStack, directory: Path, arguments: argparse.Namespace, report: Report) -> None:
    urls = stack.enter_context(embedded_server(directory))
    await migrate(urls.owner)
    async with open_pool(urls.app, application_name="benchmark", max_size=4) as pool:
        organization, _ = await create_organization(pool, "benchmark", "Benchmark", "a@example.com")
        tenant = Tenant(pool, organization.id)
        ids = {one.name: await publish(tenant, directory, one) for one in KINDS}
        queue = Queue(directory, urls, tenant, ids)
        print(f"Load before: {' '.join(f'{load:.1f}' for load in os.getloadavg())}\n")
        if not arguments.no_comparison:
            print(HEADER)
        for programs in () if arguments.no_comparison else KINDS[:3]:
            for concurrency in TRIALS:
                await compare(queue, programs, concurrency, 2 if arguments.quick else ROUNDS, report)
        if arguments.drain:
            await watch_memory(queue, arguments.drain, report)


def main() -> None:
    made = parser(__doc__)
    made.add_argument("--no-comparison", action="store_true", help="drain only")
    made.add_argument("--drain", type=int, default=0, help="drain so many queued runs besides")
    arguments = made.parse_args()
    with reported(arguments) as (report, directory), ExitStack() as stack:
        asyncio.run(measure(stack, directory, arguments, report))


if __name__ == "__main__":
    main()
