"""Attempts that are added or done again, the whole way: real agents, a worker, and exports before and after."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
import pytest

from agentforge.publishing import publish_directory
from db import executions
from db.embedded import DatabaseUrls
from db.executions import TrialExecution
from db.runs import EvaluationRun
from db.tenant import Tenant
from db.trials import EvaluationTrial
from resolvers.additions import add_attempts, rerun_unscored
from resolvers.pass_at_k import decode
from resolvers.runs import cancel
from tests.factory import MANIFEST
from tests.streaming.web import application, lines
from tests.worker.conftest import ECHO_WORLD, PROGRAMS
from tests.worker.test_job import drained, jobs_left, run_and_trials, start, working

#: Says that its attempt has begun, waits while it is held, and crashes where it is told to.
AGENT = f"""
import sys, time
from pathlib import Path
sys.path.insert(0, {str(PROGRAMS)!r})
from agent_kit import Client
config, folder, attempt = sys.argv[1], Path(sys.argv[2]), sys.argv[3]
client = Client(config)
client.call("echo", text="crashes" if (folder / f"crash-{{attempt}}").exists() else "works")
(folder / f"began-{{attempt}}").touch()
while (folder / f"hold-{{attempt}}").exists(): time.sleep(0.02)
client.close()
sys.exit(3 if (folder / f"crash-{{attempt}}").exists() else 0)
"""
#: The third attempt is half a success.
SCORE = """
import json, os
print(json.dumps({"reward": 0.5 if os.environ["AGENTFORGE_ATTEMPT"] == "3" else 1, "stage_done": 1}))
"""
KINDS = ("all", "successful", "failed", "recovery", "preference")


async def eventually(condition: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(60):
        while not await condition():  # noqa: ASYNC110 - other processes cannot set an event
            await asyncio.sleep(0.02)


@dataclass(frozen=True)
class Scene:
    """A queued run, and the folder by which its agents are told what to do."""

    tenant: Tenant
    database: DatabaseUrls
    folder: Path
    version_id: UUID
    run_id: UUID

    def tell(self, *words: str) -> None:
        for word in words:
            (self.folder / word).touch()

    def tell_no_more(self, *words: str) -> None:
        for word in words:
            (self.folder / word).unlink()

    async def drained(self, name: str) -> tuple[EvaluationRun, list[EvaluationTrial]]:
        await drained(self.database, self.folder / name)
        assert await jobs_left(self.tenant.pool) == 0
        return await run_and_trials(self.tenant, self.run_id)

    async def began(self, attempt: int) -> None:
        async def there() -> bool:
            return (self.folder / f"began-{attempt}").exists()

        await eventually(there)

    async def statuses(self) -> list[str]:
        return [trial.status for trial in (await run_and_trials(self.tenant, self.run_id))[1]]

    async def ended(self) -> None:
        async def done() -> bool:
            return (await run_and_trials(self.tenant, self.run_id))[0].finished_at is not None

        await eventually(done)

    async def executions(self) -> list[list[TrialExecution]]:
        _, trials = await run_and_trials(self.tenant, self.run_id)
        return [await self.tenant.fetch(executions.BY_TRIALS, [trial.id]) for trial in trials]

    async def exported(self, tenant: Tenant | None = None) -> dict[str, list[Any]]:
        """What each kind of export holds."""
        async with client(tenant or self.tenant) as web:
            answers = {kind: await web.get(f"/api/v1/rollouts?kind={kind}") for kind in KINDS}
        return {kind: lines(answer.content) for kind, answer in answers.items()}


def client(tenant: Tenant) -> httpx.AsyncClient:
    transport = httpx.ASGITransport(application(tenant))
    return httpx.AsyncClient(transport=transport, base_url="http://a", headers={"Accept-Encoding": "identity"})


async def artifact(tenant: Tenant, artifact_id: UUID | None) -> httpx.Response:
    async with client(tenant) as web:
        return await web.get(f"/api/v1/artifacts/{artifact_id}")


@pytest.fixture
def scene_of(acme: Tenant, database: DatabaseUrls, tmp_path: Path) -> Callable[[int], Awaitable[Scene]]:
    async def make(attempts: int) -> Scene:
        folder = tmp_path / "environment"
        folder.mkdir()
        (folder / "world.py").write_text(ECHO_WORLD)
        (folder / "score.py").write_text(SCORE)
        commands = {
            name: {"command": ["{python}", "-m", module]}
            for name, module in (("world", "world"), ("evaluator", "score"))
        }
        (folder / "environment.json").write_text(json.dumps(MANIFEST | commands | {"stages": ["stage_done"]}))
        version = await publish_directory(acme, folder, "echo", "Echo")
        command = ("{python}", "-c", AGENT, "{mcp_config}", str(tmp_path), "{attempt}")
        run_id = await start(acme, version, *command, attempts=attempts, seed=11)
        return Scene(acme, database, tmp_path, version.id, run_id)

    return make


def rewards(exported: list[Any]) -> list[float | None]:
    return [line["reward"] for line in exported]


async def test_an_attempt_that_crashed_is_done_again_and_what_was_before_stays(
    scene_of: Callable[[int], Awaitable[Scene]], rival: Tenant
) -> None:
    scene = await scene_of(3)
    scene.tell("crash-2")
    run, before = await scene.drained("first")
    assert [(trial.status, trial.reward) for trial in before] == [
        ("completed", 1.0),
        ("errored", None),
        ("completed", 0.5),
    ]
    assert (run.status, run.unscored_attempts) == ("completed", 1)
    assert [one.estimate for one in decode(run.pass_at_k)] == pytest.approx([1 / 3, 2 / 3, 1])
    exported = await scene.exported()
    assert [len(exported[kind]) for kind in KINDS] == [3, 1, 1, 1, 1]
    crashed = {line["rolloutId"]: line for line in exported["all"] if line["reward"] is None}
    downloaded = await artifact(scene.tenant, before[1].trajectory_artifact_id)

    await rerun_unscored(scene.tenant, str(scene.run_id))
    waiting = await scene.exported()
    assert [line for line in waiting["all"] if line["rolloutId"] in crashed] == []
    assert [len(waiting[kind]) for kind in KINDS] == [2, 1, 1, 1, 1]

    scene.tell_no_more("crash-2")
    run, after = await scene.drained("second")
    assert (run.status, run.unscored_attempts) == ("completed", 0)
    assert [one.estimate for one in decode(run.pass_at_k)] == pytest.approx([2 / 3, 1, 1])
    assert (after[0], after[2]) == (before[0], before[2])
    assert [after[1].id, after[1].attempt, after[1].seed] == [before[1].id, 2, 11]
    assert (after[1].status, after[1].reward, after[1].execution) == ("completed", 1.0, 2)
    told = await scene.executions()
    assert [[one.status for one in ones] for ones in told] == [["completed"], ["errored", "completed"], ["completed"]]
    earlier, latest = told[1]
    assert (earlier.failure_category, earlier.failure_detail) == ("agent_crashed", "the agent exited with code 3")
    assert earlier.trajectory_artifact_id == before[1].trajectory_artifact_id
    assert latest.trajectory_artifact_id == after[1].trajectory_artifact_id
    # Both are there to download, the earlier one byte for byte as before.
    assert (await artifact(scene.tenant, earlier.trajectory_artifact_id)).content == downloaded.content
    assert "crashes" in downloaded.text
    assert "works" in (await artifact(scene.tenant, latest.trajectory_artifact_id)).text
    assert (await artifact(rival, earlier.trajectory_artifact_id)).status_code == 404

    exported_after = await scene.exported()
    assert [len(exported_after[kind]) for kind in KINDS] == [3, 2, 1, 1, 1]
    assert rewards(exported_after["all"]) == [1, *rewards(waiting["all"])]
    newest, *others = exported_after["all"]
    assert others == waiting["all"]
    assert "works" in str(newest["trajectory"])
    (pair,) = exported_after["preference"]
    assert (pair["preferred"], pair["rejectedReward"]) == (newest["rolloutId"], 0.5)
    assert await scene.exported(rival) == {kind: [] for kind in KINDS}


async def test_attempts_that_are_added_count_with_those_there(scene_of: Callable[[int], Awaitable[Scene]]) -> None:
    scene = await scene_of(2)
    run, before = await scene.drained("first")
    assert [one.estimate for one in decode(run.pass_at_k)] == [1, 1]
    scene.tell("crash-4")
    await add_attempts(scene.tenant, str(scene.run_id), 2)
    run, after = await scene.drained("second")
    assert after[:2] == before
    assert [(trial.attempt, trial.reward, trial.seed) for trial in after[2:]] == [(3, 0.5, 11), (4, None, 11)]
    assert (run.status, run.attempt_count, run.unscored_attempts) == ("completed", 4, 1)
    assert [one.estimate for one in decode(run.pass_at_k)] == pytest.approx([1 / 2, 5 / 6, 1, 1])
    assert [len(ones) for ones in await scene.executions()] == [1, 1, 1, 1]


async def test_attempts_are_added_while_the_run_is_executed(scene_of: Callable[[int], Awaitable[Scene]]) -> None:
    """By the same worker at the same time: each of the run's jobs leaves the other's attempts alone."""
    scene = await scene_of(1)
    scene.tell("hold-1")

    async def others_ended() -> bool:
        return await scene.statuses() == ["running", "completed", "completed"]

    async with working(scene.database, scene.folder / "worker", drain=False):
        await scene.began(1)
        await add_attempts(scene.tenant, str(scene.run_id), 1)
        await add_attempts(scene.tenant, str(scene.run_id), 1)
        await eventually(others_ended)
        run, _ = await run_and_trials(scene.tenant, scene.run_id)
        assert (run.status, run.finished_at, decode(run.pass_at_k)) == ("running", None, [])
        scene.tell_no_more("hold-1")
        await scene.ended()
    run, trials = await run_and_trials(scene.tenant, scene.run_id)
    assert (run.status, run.unscored_attempts) == ("completed", 0)
    assert [one.estimate for one in decode(run.pass_at_k)] == pytest.approx([2 / 3, 1, 1])
    assert [(trial.execution, trial.lost_executions) for trial in trials] == [(1, 0)] * 3
    assert len((await scene.exported())["all"]) == 3


async def test_a_cancelled_run_is_resumed_while_its_agents_are_still_being_ended(
    scene_of: Callable[[int], Awaitable[Scene]],
) -> None:
    scene = await scene_of(4)
    scene.tell("hold-1", "hold-2")
    async with working(scene.database, scene.folder / "worker", drain=False):
        await scene.began(1)
        await scene.began(2)
        await cancel(scene.tenant, str(scene.run_id))
        await rerun_unscored(scene.tenant, str(scene.run_id))
        scene.tell_no_more("hold-1", "hold-2")
        await scene.ended()
    run, trials = await run_and_trials(scene.tenant, scene.run_id)
    assert (run.status, run.unscored_attempts) == ("completed", 0)
    assert [(trial.status, trial.reward) for trial in trials] == [
        ("completed", reward) for reward in (1.0, 1.0, 0.5, 1.0)
    ]
    # The job before may have begun one more, which it hands back when it hears that it was superseded.
    told = [[one.status for one in ones if one.status != "handed_back"] for ones in await scene.executions()]
    assert told == [["cancelled", "completed"]] * 2 + [["completed"]] * 2
    assert [trial.lost_executions for trial in trials] == [0] * 4
    assert rewards((await scene.exported())["failed"]) == [0.5]


async def test_a_run_that_could_not_be_carried_out_is_done_again(
    scene_of: Callable[[int], Awaitable[Scene]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agentforge.worker.job.RETRY_DELAY", timedelta(seconds=0.01))
    scene = await scene_of(2)
    folder = scene.folder / "broken"
    async with working(scene.database, folder, drain=True):
        (folder / "bundles").rmdir()
        (folder / "bundles").write_text("in the way")
    failed, before = await run_and_trials(scene.tenant, scene.run_id)
    assert (failed.status, {trial.failure_category for trial in before}) == ("failed", {"environment_failed"})
    await rerun_unscored(scene.tenant, str(scene.run_id))
    run, after = await scene.drained("mended")
    assert (run.status, run.failure_detail, run.unscored_attempts) == ("completed", None, 0)
    assert [(trial.id, trial.reward) for trial in after] == [(trial.id, 1.0) for trial in before]


async def test_a_job_finds_attempts_of_another_organization_nowhere(
    scene_of: Callable[[int], Awaitable[Scene]], rival: Tenant
) -> None:
    scene = await scene_of(1)
    before = await scene.drained("first")
    for change in (add_attempts(rival, str(scene.run_id), 1), rerun_unscored(rival, str(scene.run_id))):
        with pytest.raises(Exception, match="There is no such evaluation run"):
            await change
    assert await scene.drained("second") == before
