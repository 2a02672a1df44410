"""Real workers that share a queue, and gates at which an attempt waits while something happens to them."""

import asyncio
import json
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar
from uuid import UUID

import asyncpg
import psutil
import pytest

from agentforge.publishing import ensure_configuration, publish_directory
from db import executions, runs, trials
from db.embedded import DatabaseUrls
from db.executions import TrialExecution
from db.tenant import Tenant
from db.trials import EvaluationTrial
from resolvers import runs as run_operations
from tests.factory import MANIFEST
from tests.service import environment
from tests.worker.conftest import ECHO_WORLD

Value = TypeVar("Value")

SECONDS = 60
LEASE_SECONDS = 1.5
GATES = ("world", "agent", "evaluator")
#: A part of the second attempt says that it is there, and waits for as long as nobody opens the gate.
GATE = """
import os, pathlib, time
def gate(name, attempt):
    folder = pathlib.Path({folder!r})
    if attempt == "2":
        with (folder / name).open("a") as marker: marker.write("here\\n")
        while not (folder / f"open-{{name}}").exists(): time.sleep(0.02)
"""
SCORE = """
import gate, json, os
gate.gate("evaluator", os.environ["AGENTFORGE_ATTEMPT"])
print(json.dumps({"reward": 1}))
"""
AGENT = "import sys; sys.path.insert(0, sys.argv[1]); import gate; gate.gate('agent', sys.argv[2])"
#: What the second attempt writes at the time waits for a lock of the test's.
DATABASE_GATES = {
    "claim": "before update on evaluation_trials for each row when (new.attempt = 2 and new.execution > old.execution)",
    "artifact": "after insert on trajectory_artifacts for each row when (new.name = 'trial-2-trajectory.json')",
}
GATE_OF_DATABASE = """
create function hold() returns trigger language plpgsql as
  $$begin perform pg_advisory_xact_lock_shared(17); return new; end$$;
create trigger zz_hold {trigger} execute function hold();
"""
WAITS = "select exists (select from pg_locks where locktype = 'advisory' and not granted)"


async def eventually(condition: Callable[[], Awaitable[Value]]) -> Value:
    """The first true value of `condition`, asked again and again."""
    async with asyncio.timeout(SECONDS):
        while not (value := await condition()):  # noqa: ASYNC110 - other processes cannot set an event
            await asyncio.sleep(0.02)
    return value


@dataclass
class Scene:
    """An environment with gates, a run of two attempts of it, and any number of workers."""

    tenant: Tenant
    database: DatabaseUrls
    folder: Path
    run_id: UUID
    workers: dict[int, "subprocess.Popen[str]"] = field(default_factory=dict)

    def worker(self, **settings: str) -> "subprocess.Popen[str]":
        """Another worker process, with a folder and a log of its own."""
        folder = self.folder / f"worker-{len(self.workers)}"
        folder.mkdir()
        changes = {
            "AGENTFORGE_DATABASE_URL": self.database.app,
            "AGENTFORGE_DATA_DIR": str(folder),
            "AGENTFORGE_LEASE_SECONDS": str(LEASE_SECONDS),
            "AGENTFORGE_CONCURRENCY": "1",
        }
        with (folder / "log").open("w") as log:
            worker = subprocess.Popen(
                [sys.executable, "-m", "agentforge", "worker"],
                env=environment(**(changes | settings)),
                stdout=log,
                stderr=log,
                text=True,
            )
        self.workers[worker.pid] = worker
        return worker

    def log(self, worker: "subprocess.Popen[str]") -> str:
        return (self.folder / f"worker-{list(self.workers).index(worker.pid)}" / "log").read_text()

    def pass_gates(self, parts: Sequence[str] = GATES) -> None:
        for part in parts:
            (self.folder / f"open-{part}").touch()

    async def reached(self, part: str) -> None:
        """Returns when the second attempt waits at the gate of world, agent or evaluator, or at the database's."""

        async def there() -> bool:
            if part in DATABASE_GATES:
                async with self.tenant.transaction("read only") as transaction:
                    waits: bool = await transaction.connection.fetchval(WAITS)
                return waits
            return (self.folder / part).exists()

        await eventually(there)

    async def trials(self) -> list[EvaluationTrial]:
        return await self.tenant.fetch(trials.BY_RUNS, [self.run_id])

    async def executions(self) -> list[TrialExecution]:
        """Of the second attempt."""
        return await self.tenant.fetch(executions.BY_TRIALS, [(await self.trials())[1].id])

    async def ended(self) -> list[EvaluationTrial]:
        async def done() -> bool:
            (run,) = await self.tenant.fetch(runs.BY_IDS, [self.run_id])
            return run.status == "completed"

        await eventually(done)
        return await self.trials()

    async def stored(self) -> dict[str, list[tuple[int, int]]]:
        """Attempt and execution of what is there of artifacts and of rollouts."""
        async with self.tenant.transaction("read only") as transaction:
            return {
                table: [
                    tuple(row)
                    for row in await transaction.connection.fetch(
                        f"select trial.attempt, stored.execution from {table} stored "
                        "join evaluation_trials trial on trial.id = stored.evaluation_trial_id order by 1, 2"
                    )
                ]
                for table in ("trajectory_artifacts", "rollouts")
            }


@pytest.fixture
async def scene(acme: Tenant, database: DatabaseUrls, tmp_path: Path) -> AsyncIterator[Scene]:
    folder = tmp_path / "environment"
    folder.mkdir()
    (folder / "gate.py").write_text(GATE.format(folder=str(tmp_path)))
    (folder / "world.py").write_text(
        f"import gate, os\ngate.gate('world', os.environ['AGENTFORGE_ATTEMPT'])\n{ECHO_WORLD}"
    )
    (folder / "score.py").write_text(SCORE)
    manifest = MANIFEST | {
        "world": {"command": ["{python}", "-m", "world"]},
        "evaluator": {"command": ["{python}", "-m", "score"]},
    }
    (folder / "environment.json").write_text(json.dumps(manifest))
    version = await publish_directory(acme, folder, "gates", "Gates")
    configuration = await ensure_configuration(acme, ("{python}", "-c", AGENT, "{bundle}", "{attempt}"), 2)
    run_id = (await run_operations.start(acme, str(version.id), str(configuration.id), 1)).id
    scene = Scene(acme, database, tmp_path, run_id)
    yield scene
    scene.pass_gates()
    for worker in scene.workers.values():
        if worker.poll() is None:
            worker.send_signal(signal.SIGCONT)
            worker.kill()
        worker.wait()


@asynccontextmanager
async def gate_in_the_database(scene: Scene, part: str) -> AsyncIterator[None]:
    """Closed during the block, where the part is one of the database's."""
    owner = await asyncpg.connect(scene.database.owner)
    try:
        if trigger := DATABASE_GATES.get(part):
            await owner.execute(GATE_OF_DATABASE.format(trigger=trigger))
            await owner.execute("select pg_advisory_lock(17)")
        yield
    finally:
        await owner.close()


def processes_of(scene: Scene) -> list[psutil.Process]:
    return [
        process
        for process in psutil.process_iter(["cmdline"])
        if str(scene.folder) in str(process.info["cmdline"]) and process.pid not in scene.workers
    ]
