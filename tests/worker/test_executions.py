"""Every start of an attempt is kept, with what it had recorded when it was lost."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import asyncpg
import pytest

from agentforge.worker import progress, records
from agentforge.worker.progress import keep_steps
from agentforge.worker.records import SupersededError
from agentforge.worker.steps import Step
from db import executions
from db.embedded import DatabaseUrls
from db.executions import TrialExecution
from db.tenant import Tenant
from db.trials import EvaluationTrial
from resolvers.runs import cancel
from tests.db.conftest import Connection
from tests.schema.asking import ask
from tests.worker.test_records import OTHER_WORKER, OUTCOME, WORKER, claimed, queued_run, trial_now

RECORDED = """query($id: ID!) { evaluationTrial(id: $id) { executions {
  execution worker status failureCategory trajectory { stepCount } recordedStepCount
  recordedSteps(first: 2) { totalCount pageInfo { hasNextPage } edges { cursor node { step command observation } } }
} } }"""
NEXT_PAGE = """query($id: ID!, $after: String) { evaluationTrial(id: $id) { executions {
  recordedSteps(first: 2, after: $after) { edges { node { step } } }
} } }"""


def steps(*numbers: int) -> list[Step]:
    return [Step(number, "mcp", f"c{number}", "\0\ud800\u2028") for number in numbers]


async def executions_of(tenant: Tenant, trial: EvaluationTrial) -> list[TrialExecution]:
    return await tenant.fetch(executions.BY_TRIALS, [trial.id])


@asynccontextmanager
async def keeping(tenant: Tenant, trial: EvaluationTrial, recorded: list[Step]) -> AsyncIterator["asyncio.Task[None]"]:
    task = asyncio.create_task(keep_steps(tenant, trial, recorded))
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.wait([task])


async def kept(tenant: Tenant, trial: EvaluationTrial, count: int) -> None:
    async with asyncio.timeout(20):
        while (await executions_of(tenant, trial))[-1].recorded_step_count < count:  # noqa: ASYNC110
            await asyncio.sleep(0.02)


@pytest.fixture(autouse=True)
def _often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "KEEP_SECONDS", 0.05)


async def test_an_execution_follows_its_trial(acme: Tenant) -> None:
    _, (trial,) = await queued_run(acme)
    assert await executions_of(acme, trial) == []
    handed_back = await claimed(acme, trial)
    await records.release(acme, handed_back)
    await claimed(acme, handed_back)
    lost = await trial_now(acme, trial)
    mine = await records.claim(acme, lost, OTHER_WORKER)
    assert mine is not None
    await records.finish(acme, mine, OUTCOME)
    told = await executions_of(acme, trial)
    assert [(one.execution, one.worker, one.status, one.failure_category) for one in told] == [
        (1, WORKER, "handed_back", None),
        (2, WORKER, "lost", "worker_lost"),
        (3, OTHER_WORKER, "completed", "checkout_incomplete"),
    ]
    assert [one.reward for one in told] == [None, None, 0.7]
    now = await trial_now(acme, trial)
    assert (told[2].trajectory_artifact_id, told[2].ended_at) == (now.trajectory_artifact_id, now.finished_at)
    assert (told[2].stages, told[2].metrics) == (now.stages, now.metrics)
    assert all(one.ended_at and one.started_at <= one.ended_at for one in told)


async def test_what_a_lost_execution_recorded_stays_and_is_seen(acme: Tenant, rival: Tenant) -> None:
    _, (trial,) = await queued_run(acme)
    mine, recorded = await claimed(acme, trial), steps(1, 2)
    async with keeping(acme, mine, recorded):
        await kept(acme, trial, 2)
        recorded.extend(steps(3))
        await kept(acme, trial, 3)
    another = await records.claim(acme, mine, OTHER_WORKER)
    assert another is not None
    async with keeping(acme, another, steps(1)):
        await kept(acme, trial, 1)
    lost, running = (await ask(acme, RECORDED, id=str(trial.id)))["evaluationTrial"]["executions"]
    assert (lost["status"], lost["recordedStepCount"], lost["trajectory"]) == ("LOST", 3, None)
    shown = lost["recordedSteps"]
    assert (shown["totalCount"], shown["pageInfo"]) == (3, {"hasNextPage": True})
    assert [edge["node"] for edge in shown["edges"]] == [
        {"step": number, "command": f"c{number}", "observation": "\0\ud800\u2028"} for number in (1, 2)
    ]
    after = shown["edges"][-1]["cursor"]
    (rest, _) = (await ask(acme, NEXT_PAGE, id=str(trial.id), after=after))["evaluationTrial"]["executions"]
    assert rest["recordedSteps"]["edges"] == [{"node": {"step": 3}}]
    assert (running["status"], running["recordedStepCount"]) == ("RUNNING", 1)
    assert await ask(rival, RECORDED, id=str(trial.id)) == {"evaluationTrial": None}
    # An artifact holds them all, and takes the place of those that its own execution had recorded.
    await records.finish(acme, another, OUTCOME)
    lost, ended = (await ask(acme, RECORDED, id=str(trial.id)))["evaluationTrial"]["executions"]
    assert (lost["status"], lost["recordedStepCount"]) == ("LOST", 3)
    assert (ended["recordedStepCount"], ended["trajectory"]) == (0, {"stepCount": 1})


async def test_an_execution_that_lost_its_trial_hears_of_it_and_keeps_nothing_more(acme: Tenant) -> None:
    _, (trial,) = await queued_run(acme)
    mine = await claimed(acme, trial)
    for recorded in ([], steps(1)):
        async with keeping(acme, mine, recorded) as task:
            if not recorded:
                await records.claim(acme, mine, OTHER_WORKER)
            await asyncio.wait_for(asyncio.shield(task), 20)
    assert [one.recorded_step_count for one in await executions_of(acme, trial)] == [0, 0]
    with pytest.raises(SupersededError):
        await records.finish(acme, mine, OUTCOME)


async def test_an_execution_that_was_cancelled_keeps_its_trajectory(acme: Tenant) -> None:
    run, (trial,) = await queued_run(acme)
    mine = await claimed(acme, trial)
    async with keeping(acme, mine, steps(1)) as task:
        await kept(acme, trial, 1)
        await cancel(acme, str(run.id))
        await asyncio.wait_for(asyncio.shield(task), 20)
    await records.finish(acme, mine, replace(OUTCOME, status="cancelled", reward=None, failure_category=None))
    (told,) = await executions_of(acme, trial)
    assert (told.status, told.recorded_step_count) == ("cancelled", 0)
    assert told.trajectory_artifact_id is not None


async def test_what_the_database_did_not_take_is_kept_when_it_is_back(acme: Tenant, database: DatabaseUrls) -> None:
    _, (trial,) = await queued_run(acme)
    mine = await claimed(acme, trial)
    owner = await asyncpg.connect(database.owner)
    await owner.execute("alter table execution_steps rename to away")
    async with keeping(acme, mine, steps(1, 2)) as task:
        await asyncio.sleep(0.2)
        assert not task.done()
        await owner.execute("alter table away rename to execution_steps")
        await kept(acme, trial, 2)
    await owner.close()


async def test_what_the_database_stopped_is_kept_the_next_time(acme: Tenant, administrator: Connection) -> None:
    _, (trial,) = await queued_run(acme)
    mine = await claimed(acme, trial)
    await administrator.execute("""
        create function slowly() returns trigger language plpgsql as $$begin perform pg_sleep(60); return new; end$$;
        create trigger slowly before insert on execution_steps for each row execute function slowly();
    """)
    stop = "select pg_cancel_backend(pid) from pg_stat_activity where wait_event = 'PgSleep'"
    async with keeping(acme, mine, steps(1, 2)) as task, asyncio.timeout(30):
        while not await administrator.fetchval(stop):  # noqa: ASYNC110 - the server sends no event for it
            await asyncio.sleep(0.02)
        await administrator.execute("drop function slowly cascade")
        await kept(acme, trial, 2)
        assert not task.done()
