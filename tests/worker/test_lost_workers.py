"""Workers that are killed, stopped and woken: real processes share a queue, and one of them goes at a bad moment."""

import signal
from dataclasses import replace

import pytest

from db import runs
from resolvers import runs as run_operations
from tests.worker.scenes import GATES, SECONDS, Scene, eventually, gate_in_the_database, processes_of, scene

__all__ = ["scene"]


@pytest.mark.parametrize(
    ("part", "told"),
    [
        ("claim", ["completed"]),
        ("world", ["lost", "completed"]),
        ("agent", ["lost", "completed"]),
        ("evaluator", ["lost", "completed"]),
        ("artifact", ["lost", "completed"]),
    ],
)
async def test_a_worker_that_is_killed_is_followed_by_another(scene: Scene, part: str, told: list[str]) -> None:
    async with gate_in_the_database(scene, part):
        first = scene.worker()
        scene.pass_gates(GATES[: GATES.index(part)] if part in GATES else GATES)
        await scene.reached(part)
        first.kill()
        first.wait()
        finished = (await scene.trials())[0]
        assert (finished.status, finished.execution) == ("completed", 1)
        scene.pass_gates()
    second = scene.worker()
    ended = await scene.ended()
    assert ended[0] == finished
    assert [(trial.status, trial.reward) for trial in ended] == [("completed", 1.0)] * 2
    assert [(trial.execution, trial.lost_executions) for trial in ended] == [(1, 0), (len(told), len(told) - 1)]
    kept = await scene.executions()
    assert [one.status for one in kept] == told
    assert [str(worker.pid) in str(one.worker) for one, worker in zip(kept, (first, second)[-len(told) :], strict=True)]
    once = [(1, 1), (2, len(told))]
    assert await scene.stored() == {"trajectory_artifacts": once, "rollouts": once}
    assert processes_of(scene) == []


async def test_a_worker_that_wakes_up_after_its_lease_was_taken_changes_nothing(scene: Scene) -> None:
    paused = scene.worker()
    await scene.reached("agent")
    paused.send_signal(signal.SIGSTOP)
    follower = scene.worker()

    async def followed() -> bool:
        return len(await scene.executions()) == 2

    await eventually(followed)
    # Both now execute the same attempt; the agent of the paused one ends too.
    scene.pass_gates()
    ended = await scene.ended()
    before = (ended, await scene.executions(), await scene.stored())
    paused.send_signal(signal.SIGCONT)

    async def woken() -> bool:
        return "superseded" in scene.log(paused)

    await eventually(woken)
    assert (await scene.trials(), await scene.executions(), await scene.stored()) == before
    assert [one.status for one in before[1]] == ["lost", "completed"]
    assert before[2] == {"trajectory_artifacts": [(1, 1), (2, 2)], "rollouts": [(1, 1), (2, 2)]}
    for worker in (paused, follower):
        worker.terminate()
        assert worker.wait(SECONDS) == 0


async def test_two_workers_share_what_is_queued_and_double_nothing(scene: Scene) -> None:
    scene.pass_gates()
    (run,) = await scene.tenant.fetch(runs.BY_IDS, [scene.run_id])
    others = [
        await run_operations.start(
            scene.tenant, str(run.environment_version_id), str(run.evaluator_configuration_id), seed
        )
        for seed in range(5)
    ]
    for _ in range(2):
        scene.worker()
    await scene.ended()
    for other in others:
        await replace(scene, run_id=other.id).ended()
    async with scene.tenant.transaction("read only") as transaction:
        workers = await transaction.connection.fetch("select worker, execution from trial_executions")
    assert len(workers) == 12
    assert {row["execution"] for row in workers} == {1}
    assert len({row["worker"] for row in workers}) == 2


async def test_a_worker_that_is_told_to_stop_lets_its_attempt_end_and_begins_no_other(scene: Scene) -> None:
    worker = scene.worker(AGENTFORGE_STOP_SECONDS="300")
    await scene.reached("agent")
    worker.terminate()

    async def stopping() -> bool:
        return "worker_stopping" in scene.log(worker)

    await eventually(stopping)
    scene.pass_gates()
    assert worker.wait(SECONDS) == 0
    assert [trial.status for trial in await scene.ended()] == ["completed"] * 2


async def test_what_does_not_end_in_time_is_handed_back(scene: Scene) -> None:
    worker = scene.worker(AGENTFORGE_STOP_SECONDS="0.1")
    await scene.reached("agent")
    worker.terminate()
    assert worker.wait(SECONDS) == 0
    assert [(trial.status, trial.lost_executions) for trial in await scene.trials()] == [
        ("completed", 0),
        ("queued", 0),
    ]
    assert [one.status for one in await scene.executions()] == ["handed_back"]
    assert processes_of(scene) == []
    scene.pass_gates()
    scene.worker()
    assert [trial.status for trial in await scene.ended()] == ["completed"] * 2
    assert [one.status for one in await scene.executions()] == ["handed_back", "completed"]


async def test_a_second_signal_hands_back_at_once(scene: Scene) -> None:
    worker = scene.worker(AGENTFORGE_STOP_SECONDS="300")
    await scene.reached("agent")
    worker.terminate()

    async def stopping() -> bool:
        return "worker_stopping" in scene.log(worker)

    await eventually(stopping)
    worker.terminate()
    assert worker.wait(SECONDS) == 0
    assert [one.status for one in await scene.executions()] == ["handed_back"]
