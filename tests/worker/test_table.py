"""`agentforge worker --watch` on a terminal, and what a worker tells of itself: a real process on a real database."""

import asyncio
import io
import json
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from fcntl import ioctl
from pathlib import Path
from threading import Thread
from uuid import UUID

import pytest
from rich.console import Console

from agentforge.publishing import ensure_configuration, publish_directory
from agentforge.worker.metrics import Metrics
from agentforge.worker.table import Display
from db import executions, runs, trials
from db.embedded import DatabaseUrls
from db.tenant import Tenant, fetch_before_organization
from db.workers import PRESENT, TOTALS, Waiting
from resolvers import runs as run_operations
from tests.factory import MANIFEST
from tests.service import command, environment
from tests.worker.conftest import ECHO_WORLD, until
from tests.worker.scenes import eventually
from tests.worker.test_records import queued_run

ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
WAITING_AGENT = "import pathlib, sys, time\nwhile not pathlib.Path(sys.argv[1]).exists(): time.sleep(0.02)"


class Terminal:
    """The other side of a pseudo-terminal: reads all that is written, as a person's would."""

    def __init__(self, master: int) -> None:
        self._master = master
        self._data = b""
        self._thread = Thread(target=self._read)
        self._thread.start()

    def _read(self) -> None:
        with suppress(OSError):  # Linux's end of a pseudo-terminal
            while data := os.read(self._master, 65_536):
                self._data += data

    def raw(self) -> str:
        return self._data.decode("utf-8", "replace")

    def text(self) -> str:
        return ESCAPES.sub("", self.raw())

    def close(self) -> None:
        self._thread.join()
        os.close(self._master)


@contextmanager
def watched(
    database: DatabaseUrls, folder: Path, *options: str
) -> Iterator[tuple["subprocess.Popen[bytes]", Terminal]]:
    """A worker on a terminal of 100 columns."""
    master, slave = pty.openpty()
    ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
    worker = subprocess.Popen(
        [sys.executable, "-m", "agentforge", "worker", "--watch", *options],
        env=environment(
            AGENTFORGE_DATABASE_URL=database.app,
            AGENTFORGE_DATA_DIR=str(folder),
            AGENTFORGE_STOP_SECONDS="0.1",
            TERM="xterm-256color",
        ),
        stdin=slave,
        stdout=slave,
        stderr=slave,
    )
    os.close(slave)
    terminal = Terminal(master)
    try:
        yield worker, terminal
    finally:
        if worker.poll() is None:
            worker.kill()
        worker.wait()
        terminal.close()


@contextmanager
def logged(database: DatabaseUrls, folder: Path, log: Path) -> Iterator[None]:
    """A worker without a terminal."""
    settings = {"AGENTFORGE_DATABASE_URL": database.app, "AGENTFORGE_DATA_DIR": str(folder)}
    command_line = [sys.executable, "-m", "agentforge", "worker"]
    with log.open("w") as output:
        worker = subprocess.Popen(command_line, env=environment(**settings), stdout=output, stderr=output)
    try:
        yield
    finally:
        worker.terminate()
        worker.wait(60)


@pytest.fixture
def go(tmp_path: Path) -> Callable[[], None]:
    """Lets agents end."""
    return (tmp_path / "go").touch


@pytest.fixture
async def run_id(acme: Tenant, tmp_path: Path) -> UUID:
    """A queued run of three attempts whose agents wait."""
    folder = tmp_path / "environment"
    folder.mkdir()
    (folder / "world.py").write_text(ECHO_WORLD)
    (folder / "score.py").write_text('print(\'{"reward": 0.5, "failure_category": "half_done"}\')')
    manifest = MANIFEST | {
        "world": {"command": ["{python}", "-m", "world"]},
        "evaluator": {"command": ["{python}", "-m", "score"]},
    }
    (folder / "environment.json").write_text(json.dumps(manifest))
    version = await publish_directory(acme, folder, "echo", "Echo")
    configuration = await ensure_configuration(acme, ("{python}", "-c", WAITING_AGENT, str(tmp_path / "go")), 3)
    return (await run_operations.start(acme, str(version.id), str(configuration.id), 1)).id


async def has_ended(tenant: Tenant, run_id: UUID) -> bool:
    (run,) = await tenant.fetch(runs.BY_IDS, [run_id])
    return run.status == "completed"


async def test_a_worker_shows_what_it_does(
    acme: Tenant, database: DatabaseUrls, run_id: UUID, go: Callable[[], None], tmp_path: Path
) -> None:
    with watched(database, tmp_path / "data", "--concurrency", "2") as (worker, terminal):
        await until(lambda: len(re.findall(rf"{run_id} +\d +1 +agent +\d+\.\d", terminal.text())) > 1)
        assert "2 under way, 0 trials in the last minute" in terminal.text()
        assert not re.search(r"[3-9] under way", terminal.text())
        go()
        await eventually(lambda: has_ended(acme, run_id))
        await until(lambda: "ended: 3 evaluator" in terminal.text())
        await until(lambda: "queue: 0 runs, 0 attempts" in terminal.text())
        worker.send_signal(signal.SIGTERM)
        assert await asyncio.to_thread(worker.wait, 60) == 0
        await until(lambda: terminal.raw().rstrip().endswith("\x1b[?25h"))
    shown = terminal.text().splitlines()
    # Logs stand above the table, each on a line of its own and whole.
    logged = [json.loads("{" + line.partition("{")[2]) for line in unwrapped(shown) if '"event":' in line]
    assert [line["event"] for line in logged][-1] == "worker_stopped"
    assert {"worker_started", "run_started", "trial_started", "trial_ended", "run_ended"} <= {
        line["event"] for line in logged
    }
    assert "0 under way, 3 trials in the last minute" in "\n".join(shown[-8:])
    assert str(acme.organization_id) not in "".join(line for line in shown if '"event"' not in line)


def unwrapped(lines: list[str]) -> list[str]:
    """Log lines that the terminal has broken, put together."""
    whole: list[str] = []
    for line in lines:
        if whole and whole[-1].count("{") > whole[-1].count("}"):
            whole[-1] += line.strip("\r")
        else:
            whole.append(line.strip("\r"))
    return whole


async def test_counts_reach_the_database_and_stay_there(
    acme: Tenant, database: DatabaseUrls, run_id: UUID, go: Callable[[], None], tmp_path: Path
) -> None:
    go()
    with watched(database, tmp_path / "data") as (worker, _):

        async def is_present() -> bool:
            (present,) = await fetch_before_organization(acme.pool, PRESENT)
            return present.workers == 1

        await eventually(is_present)
        await eventually(lambda: has_ended(acme, run_id))
        worker.send_signal(signal.SIGTERM)
        assert await asyncio.to_thread(worker.wait, 60) == 0
    assert not await is_present()
    totals = {total.series: total.value for total in await fetch_before_organization(acme.pool, TOTALS)}
    for name, labels, value in (
        ("trials", {"failure_category": "evaluator", "status": "completed"}, 3),
        ("executions", {"ending": "stored"}, 3),
    ):
        assert totals[json.dumps([f"agentforge_{name}", f"agentforge_{name}_total", labels])] == value
    for part in ("world", "agent", "evaluator", "keeping", "storing", "whole"):
        name = "agentforge_execution_seconds"
        assert totals[json.dumps([name, f"{name}_count", {"part": part}])] == 3
        assert totals[json.dumps([name, f"{name}_sum", {"part": part}])] > 0
    wait = "agentforge_trial_wait_seconds"
    assert totals[json.dumps([wait, f"{wait}_count", {}])] == 3


async def test_logs_carry_run_trial_and_execution(
    acme: Tenant, database: DatabaseUrls, run_id: UUID, go: Callable[[], None], tmp_path: Path
) -> None:
    go()
    log = tmp_path / "log"
    with logged(database, tmp_path / "data", log):
        await eventually(lambda: has_ended(acme, run_id))
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    attempts = await acme.fetch(trials.BY_RUNS, [run_id])
    kept = await acme.fetch(executions.BY_TRIALS, [trial.id for trial in attempts])
    for event in ("trial_started", "trial_ended"):
        told = [line for line in lines if line["event"] == event]
        assert {line["evaluation_run_id"] for line in told} == {str(run_id)}
        assert {line["organization_id"] for line in told} == {str(acme.organization_id)}
        assert {(line["evaluation_trial_id"], line["execution"]) for line in told} == {
            (str(one.evaluation_trial_id), one.execution) for one in kept
        }
        assert {(line["evaluation_trial_id"], line["attempt"]) for line in told} == {
            (str(trial.id), trial.attempt) for trial in attempts
        }
    (started,) = [line for line in lines if line["event"] == "worker_started"]
    assert {one.worker for one in kept} == {started["worker"]}


def test_without_a_terminal_watching_is_refused(tmp_path: Path) -> None:
    done = command("worker", "--watch", data_dir=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert "--watch draws a table, which needs a terminal" in done.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("number", ["0", "-1", "many"])
def test_a_concurrency_that_is_none_is_refused(number: str, tmp_path: Path) -> None:
    assert command("worker", "--concurrency", number, data_dir=tmp_path).returncode == 2


async def test_more_executions_than_lines_are_counted(acme: Tenant) -> None:
    _, (trial,) = await queued_run(acme)
    metrics = Metrics()
    with metrics.execution(trial) as execution:
        metrics.under_way |= {UUID(int=number): execution for number in range(20)}
        console = Console(width=100, height=20, record=True, force_terminal=True, file=io.StringIO())
        with Display(console) as display:
            display.show(metrics, Waiting(1, 0, 8, 61.5))
            display.show(metrics, None)
        shown = console.export_text()
    assert "and 8 more" in shown
    assert "queue: 1 runs, 8 attempts, the oldest 62 s old" in shown
    assert "queue: the database does not answer" in shown
