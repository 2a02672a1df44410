"""A job from the queue to the end of its run, by real processes on a real database."""

import asyncio
import hashlib
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import asyncpg
import pytest
from pgqueuer.adapters.drivers.asyncpg import AsyncpgDriver
from pgqueuer.domain.types import QueueExecutionMode

from agentforge.publishing import ensure_configuration, publish_directory
from agentforge.worker.job import MOST_TRIES, Executor
from db import bundles, runs, trials
from db.embedded import DatabaseUrls
from db.jobs import ENTRYPOINT, queries, queue_manager
from db.runs import EvaluationRun
from db.tenant import Tenant
from db.versions import EnvironmentVersion
from resolvers import environments
from resolvers import runs as run_operations
from resolvers import versions as version_operations
from resolvers.context import NO_KEYS
from resolvers.secret_keys import SecretKeys
from tests.factory import MANIFEST
from tests.worker.conftest import ECHO_WORLD

WAITING_AGENT = "import pathlib, time; pathlib.Path(__import__('sys').argv[1]).write_text('here'); time.sleep(600)"


@pytest.fixture
async def version(acme: Tenant, tmp_path: Path) -> EnvironmentVersion:
    """An environment whose evaluator gives the seed as the reward of an even attempt, and fails on an odd one."""
    folder = tmp_path / "environment"
    folder.mkdir()
    (folder / "world.py").write_text(ECHO_WORLD)
    (folder / "score.py").write_text(
        "import os, json\n"
        "assert int(os.environ['AGENTFORGE_ATTEMPT']) % 2 == 0\n"
        "print(json.dumps({'reward': int(os.environ['AGENTFORGE_SEED']), 'stage_inventory': 0.5}))\n"
    )
    manifest = MANIFEST | {
        "world": {"command": ["{python}", "-m", "world"]},
        "evaluator": {"command": ["{python}", "-m", "score"]},
    }
    (folder / "environment.json").write_text(json.dumps(manifest))
    return await publish_directory(acme, folder, "echo", "Echo")


async def start(tenant: Tenant, version: EnvironmentVersion, *agent: str, attempts: int = 2, seed: int = 1) -> UUID:
    configuration = await ensure_configuration(tenant, agent, attempts)
    return (await run_operations.start(tenant, str(version.id), str(configuration.id), seed)).id


async def run_and_trials(tenant: Tenant, run_id: UUID) -> tuple[EvaluationRun, list[Any]]:
    (run,) = await tenant.fetch(runs.BY_IDS, [run_id])
    return run, await tenant.fetch(trials.BY_RUNS, [run_id])


@asynccontextmanager
async def working(
    database: DatabaseUrls, folder: Path, *, drain: bool, keys: SecretKeys = NO_KEYS
) -> AsyncIterator[Executor]:
    """A worker in this process; with `drain` the block ends when the queue is empty."""
    await asyncio.to_thread((folder / "bundles").mkdir, parents=True)
    async with asyncpg.create_pool(database.app, min_size=1, max_size=8) as pool:
        manager = queue_manager(pool)
        executor = Executor(pool, folder, folder / "bundles", concurrency=2, worker="tests", keys=keys)
        manager.entrypoint(ENTRYPOINT, accepts_context=True)(executor)
        serving = asyncio.create_task(
            manager.run(
                batch_size=1,
                max_concurrent_tasks=2,
                dequeue_timeout=timedelta(seconds=0.2),
                mode=QueueExecutionMode.drain if drain else QueueExecutionMode.continuous,
            )
        )
        try:
            yield executor
            if drain:
                await serving
        finally:
            executor.stopping.set()
            executor.handing_back.set()
            manager.shutdown.set()
            with suppress(asyncio.CancelledError):
                await serving


async def drained(database: DatabaseUrls, folder: Path, keys: SecretKeys = NO_KEYS) -> None:
    async with working(database, folder, drain=True, keys=keys):
        pass


async def jobs_left(pool: "asyncpg.Pool[asyncpg.Record]") -> int:
    left: int = await pool.fetchval("select count(*) from queue.pgqueuer")
    return left


async def test_a_run_goes_from_the_queue_to_its_end(
    acme: Tenant, database: DatabaseUrls, version: EnvironmentVersion, tmp_path: Path
) -> None:
    run_id = await start(acme, version, "true", attempts=4)
    assert await jobs_left(acme.pool) == 1
    await drained(database, tmp_path / "worker")
    run, attempts = await run_and_trials(acme, run_id)
    assert (run.status, run.unscored_attempts) == ("completed", 2)
    assert [(trial.status, trial.reward) for trial in attempts] == [("errored", None), ("completed", 1.0)] * 2
    assert await jobs_left(acme.pool) == 0
    assert list((tmp_path / "worker").glob("attempt-*")) == []


async def test_a_bundle_that_cannot_be_unpacked_fails_the_run(
    acme: Tenant, database: DatabaseUrls, tmp_path: Path
) -> None:
    content = b"no archive"
    sha256 = hashlib.sha256(content).hexdigest()
    async with acme.transaction() as transaction:
        await transaction.fetch(bundles.PUT, sha256, content)
    environment = await environments.create(acme, "broken", "Broken")
    version = await version_operations.publish(acme, str(environment.id), MANIFEST, sha256)
    run_id = await start(acme, version, "true")
    await drained(database, tmp_path / "worker")
    run, attempts = await run_and_trials(acme, run_id)
    assert run.status == "failed"
    assert run.failure_detail is not None
    assert sha256 in run.failure_detail
    assert {(trial.status, trial.failure_category) for trial in attempts} == {("errored", "environment_failed")}


async def test_an_unexpected_error_is_tried_again_and_then_ends_the_run(
    acme: Tenant, database: DatabaseUrls, version: EnvironmentVersion, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agentforge.worker.job.RETRY_DELAY", timedelta(seconds=0.01))
    run_id = await start(acme, version, "true")
    folder = tmp_path / "worker"
    async with working(database, folder, drain=True):
        (folder / "bundles").rmdir()
        (folder / "bundles").write_text("in the way")
    run, _ = await run_and_trials(acme, run_id)
    assert run.status == "failed"
    assert run.failure_detail is not None
    assert run.failure_detail.startswith("unexpected error, logged as ")
    tries = await acme.pool.fetchval("select count(*) from queue.pgqueuer_log where status = 'queued'")
    assert tries >= MOST_TRIES - 1


async def test_a_worker_that_stops_hands_its_run_to_the_next(
    acme: Tenant, database: DatabaseUrls, version: EnvironmentVersion, tmp_path: Path
) -> None:
    marker = tmp_path / "began"
    run_id = await start(acme, version, "{python}", "-c", WAITING_AGENT, str(marker), attempts=1)
    async with working(database, tmp_path / "first", drain=False):
        async with asyncio.timeout(30):
            while not marker.exists():  # noqa: ASYNC110 - the agent is another process
                await asyncio.sleep(0.02)
    run, (trial,) = await run_and_trials(acme, run_id)
    assert (run.status, trial.status) == ("running", "queued")
    assert (trial.execution, trial.lost_executions) == (1, 0)
    assert await jobs_left(acme.pool) == 1


async def test_a_cancelled_run_stops_its_agents_at_once(
    acme: Tenant, database: DatabaseUrls, version: EnvironmentVersion, tmp_path: Path
) -> None:
    marker = tmp_path / "began"
    run_id = await start(acme, version, "{python}", "-c", WAITING_AGENT, str(marker), attempts=1)
    async with working(database, tmp_path / "worker", drain=False), asyncio.timeout(30):
        while not marker.exists():  # noqa: ASYNC110 - the agent is another process
            await asyncio.sleep(0.02)
        await run_operations.cancel(acme, str(run_id))
        while (await run_and_trials(acme, run_id))[1][0].trajectory_artifact_id is None:  # noqa: ASYNC110
            await asyncio.sleep(0.02)
    run, (trial,) = await run_and_trials(acme, run_id)
    assert (run.status, trial.status) == ("cancelled", "cancelled")
    assert await jobs_left(acme.pool) == 0


async def test_an_error_in_one_attempt_loses_no_execution_of_the_others(
    acme: Tenant, database: DatabaseUrls, version: EnvironmentVersion, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agentforge.worker.job.RETRY_DELAY", timedelta(seconds=0.01))
    owner = await asyncpg.connect(database.owner)
    await owner.execute("""
        create function refuse() returns trigger language plpgsql as $$begin raise 'a bug'; end$$;
        create trigger refuse before insert on trajectory_artifacts
          for each row when (new.name = 'trial-1-trajectory.json') execute function refuse();
    """)
    await owner.close()
    waits_in_the_second = "import sys, time; time.sleep(0.5 if sys.argv[1] == '2' else 0)"
    run_id = await start(acme, version, "{python}", "-c", waits_in_the_second, "{attempt}")
    await drained(database, tmp_path / "worker")
    run, attempts = await run_and_trials(acme, run_id)
    assert run.status == "failed"
    assert run.failure_detail is not None
    assert run.failure_detail.startswith("unexpected error, logged as ")
    assert {trial.failure_category for trial in attempts} == {"environment_failed"}
    assert [trial.lost_executions for trial in attempts] == [0, 0]


async def test_a_job_that_cannot_be_read_is_dropped(acme: Tenant, database: DatabaseUrls, tmp_path: Path) -> None:
    async with acme.transaction() as transaction:
        await queries(AsyncpgDriver(transaction.connection)).enqueue(ENTRYPOINT, b"rubbish")  # type: ignore[arg-type]
    await drained(database, tmp_path / "worker")
    assert await jobs_left(acme.pool) == 0
