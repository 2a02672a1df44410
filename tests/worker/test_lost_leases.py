"""Runs whose attempts are not all in one worker's hands."""

import asyncio
from datetime import timedelta
from pathlib import Path

import pytest

from agentforge.worker import records
from db import executions, trials
from db.embedded import DatabaseUrls
from db.tenant import Tenant
from db.trials import EvaluationTrial
from db.versions import EnvironmentVersion
from tests.db.conftest import Connection
from tests.worker.test_job import run_and_trials, start, version, working
from tests.worker.test_records import OTHER_WORKER

__all__ = ["version"]

AGENT = """
import pathlib, signal, sys, time
if sys.argv[2] == '1':
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # so that it ends after the second
(pathlib.Path(sys.argv[1]) / sys.argv[2]).write_text('here')
time.sleep(600)
"""
AGENT_THAT_WAITS = """
import pathlib, sys, time
folder = pathlib.Path(sys.argv[1])
(folder / 'here').touch()
while not (folder / 'open').exists(): time.sleep(0.02)
"""


@pytest.fixture(autouse=True)
def _often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agentforge.worker.progress.KEEP_SECONDS", 0.05)
    monkeypatch.setattr("agentforge.worker.job.RETRY_DELAY", timedelta(hours=1))


async def test_attempts_that_nobody_else_has_begun_are_handed_back(
    acme: Tenant, database: DatabaseUrls, version: EnvironmentVersion, tmp_path: Path
) -> None:
    """Another worker has taken the run, and begun its first attempt; the second waits for a place there."""
    run_id = await start(acme, version, "{python}", "-c", AGENT, str(tmp_path), "{attempt}")

    async def attempts() -> list[EvaluationTrial]:
        return await acme.fetch(trials.BY_RUNS, [run_id])

    async with working(database, tmp_path / "worker", drain=False) as executor, asyncio.timeout(30):
        while not ((tmp_path / "1").exists() and (tmp_path / "2").exists()):  # noqa: ASYNC110 - other processes
            await asyncio.sleep(0.02)
        taken = await records.claim(acme, (await attempts())[0], OTHER_WORKER)
        while executor.places.taken:  # noqa: ASYNC110 - places wake workers, not tests
            await asyncio.sleep(0.02)
    first, second = await attempts()
    assert first == taken
    assert (second.status, second.execution, second.lost_executions) == ("queued", 1, 0)
    assert [one.status for one in await acme.fetch(executions.BY_TRIALS, [second.id])] == ["handed_back"]


async def test_a_run_with_an_open_attempt_stays_in_the_queue(
    acme: Tenant,
    database: DatabaseUrls,
    administrator: Connection,
    version: EnvironmentVersion,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One that was not there when the run was taken, and that nobody else would begin."""
    monkeypatch.setattr("agentforge.worker.job.RETRY_DELAY", timedelta(seconds=0.01))
    run_id = await start(acme, version, "{python}", "-c", AGENT_THAT_WAITS, str(tmp_path), attempts=1)
    async with asyncio.timeout(60), working(database, tmp_path / "worker", drain=True):
        while not (tmp_path / "here").exists():  # noqa: ASYNC110 - the agent is another process
            await asyncio.sleep(0.02)
        await administrator.execute("""
            insert into evaluation_trials (organization_id, evaluation_run_id, environment_version_id, attempt, seed)
            select organization_id, evaluation_run_id, environment_version_id, 2, seed from evaluation_trials
        """)
        (tmp_path / "open").touch()
    run, attempts = await run_and_trials(acme, run_id)
    assert (run.status, len(attempts)) == ("completed", 2)
