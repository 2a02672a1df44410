"""Two jobs of one run on two workers, one of which is killed: each continues its own attempts, and none is doubled."""

from db import executions
from resolvers.additions import add_attempts
from tests.worker import scenes
from tests.worker.scenes import Scene, eventually

scene = scenes.scene


async def test_what_another_job_runs_is_not_taken_for_lost(scene: Scene) -> None:
    first = scene.worker()
    scene.pass_gates(("world",))
    await scene.reached("agent")
    await add_attempts(scene.tenant, str(scene.run_id), 2)
    second = scene.worker()

    async def added_ended() -> bool:
        return [trial.status for trial in await scene.trials()] == ["completed", "running", "completed", "completed"]

    # The second worker executes what was added beside the attempt that the first one holds.
    await eventually(added_ended)
    assert [(trial.execution, trial.lost_executions) for trial in await scene.trials()] == [(1, 0)] * 4
    first.kill()
    first.wait()
    scene.pass_gates()
    ended = await scene.ended()
    assert [(trial.status, trial.reward) for trial in ended] == [("completed", 1.0)] * 4
    assert [(trial.execution, trial.lost_executions) for trial in ended] == [(1, 0), (2, 1), (1, 0), (1, 0)]
    told = [await scene.tenant.fetch(executions.BY_TRIALS, [trial.id]) for trial in ended]
    assert [[one.status for one in ones] for ones in told] == [
        *(["completed"], ["lost", "completed"], ["completed"], ["completed"])
    ]
    assert {str(second.pid) in str(ones[-1].worker) for ones in told[1:]} == {True}
    once = [(1, 1), (2, 2), (3, 1), (4, 1)]
    assert await scene.stored() == {"trajectory_artifacts": once, "rollouts": once}
