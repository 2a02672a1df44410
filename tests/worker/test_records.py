"""What a worker writes counts only while its execution is the latest; a run ends with pass@k over all its attempts."""

import asyncio
import json
from dataclasses import replace
from uuid import UUID

import asyncpg
import pytest

from agentforge.worker import records
from agentforge.worker.atif import AtifVerdict
from agentforge.worker.attempt import Outcome
from agentforge.worker.files import KeptFile
from agentforge.worker.records import MOST_LOST_EXECUTIONS, SupersededError
from agentforge.worker.steps import Step
from db import artifact_files, artifacts, atif_verdicts, rollouts, runs, trials
from db.embedded import DatabaseUrls
from db.runs import EvaluationRun
from db.tenant import Tenant
from db.trials import EvaluationTrial
from resolvers.pass_at_k import decode
from resolvers.runs import cancel
from tests.factory import Attempt, create_run, create_version

OUTCOME = Outcome(
    status="completed",
    reward=0.7,
    failure_category="checkout_incomplete",
    failure_detail=None,
    stages=(("stage_inventory", 1.0),),
    metrics={"orders": 2, "odd \ud800": "\0"},
    log="a log \0 \ud800",
    steps=[Step(1, "mcp", "initialize", "\0\ud800\u2028")],
    agent_trajectory=b"\xff",
    atif=AtifVerdict(version="1\\x00", errors=("not UTF-8",)),
    files=(
        KeptFile(path="\n\udcff", byte_size=1, content=b"\0"),
        KeptFile(path="large", byte_size=2**40, omitted="too large"),
    ),
)
QUEUED = Attempt(status="queued")
WORKER, OTHER_WORKER = "here/1/a", "there/1/b"


async def queued_run(tenant: Tenant, attempts: int = 1) -> tuple[EvaluationRun, list[EvaluationTrial]]:
    return await create_run(tenant, await create_version(tenant), [QUEUED] * attempts, status="running")


async def trial_now(tenant: Tenant, trial: EvaluationTrial) -> EvaluationTrial:
    (now,) = await tenant.fetch(trials.BY_IDS, [trial.id])
    return now


async def claimed(tenant: Tenant, trial: EvaluationTrial) -> EvaluationTrial:
    taken = await records.claim(tenant, trial, WORKER)
    assert taken is not None
    return taken


async def run_now(tenant: Tenant, run_id: UUID) -> EvaluationRun:
    (now,) = await tenant.fetch(runs.BY_IDS, [run_id])
    return now


async def test_trial_artifact_and_rollout_are_stored_together(acme: Tenant, statements: list[str]) -> None:
    _, (trial,) = await queued_run(acme)
    mine = await claimed(acme, trial)
    statements.clear()
    await records.finish(acme, mine, OUTCOME)
    assert statements == [
        *("trials.hold", "artifacts.create", "atif_verdicts.create", "artifact_files.create"),
        *("trials.finish", "rollouts.create"),
    ]
    now = await trial_now(acme, trial)
    assert (now.status, now.reward, now.failure_category, now.execution) == ("completed", 0.7, "checkout_incomplete", 1)
    assert json.loads(now.stages) == [{"name": "stage_inventory", "value": 1.0}]
    assert json.loads(now.metrics or "") == OUTCOME.metrics
    (kept,) = await acme.fetch(artifacts.FILE, now.trajectory_artifact_id)
    assert (kept.name, json.loads(kept.log)) == ("trial-1-trajectory.json", OUTCOME.log)
    assert json.loads(kept.steps) == [
        {"step": 1, "tool": "mcp", "command": "initialize", "observation": "\0\ud800\u2028"}
    ]
    (verdict,) = await acme.fetch(atif_verdicts.OF_ARTIFACTS, [now.trajectory_artifact_id])
    assert (verdict.valid, verdict.version, verdict.errors) == (False, "1\\x00", ["not UTF-8"])
    files = await acme.fetch(artifact_files.OF_ARTIFACTS, [now.trajectory_artifact_id])
    assert [(json.loads(file.path), file.byte_size, file.omitted) for file in files] == [
        ("\n\udcff", 1, None),
        ("large", 2**40, "too large"),
    ]
    assert [row.reward for row in await acme.fetch(rollouts.BY_TRIALS, [trial.id])] == [0.7]


async def test_a_late_write_changes_nothing(acme: Tenant) -> None:
    _, (trial,) = await queued_run(acme)
    old = await claimed(acme, trial)
    new = await claimed(acme, old)
    with pytest.raises(SupersededError):
        await records.finish(acme, old, OUTCOME)
    assert await trial_now(acme, trial) == new
    await records.finish(acme, new, replace(OUTCOME, reward=1.0, failure_category=None))
    finished = await trial_now(acme, trial)
    with pytest.raises(SupersededError):
        await records.finish(acme, old, OUTCOME)
    assert await trial_now(acme, trial) == finished
    assert len(await acme.fetch(rollouts.BY_TRIALS, [trial.id])) == 1


async def test_an_outcome_whose_answer_was_lost_can_be_stored_again(acme: Tenant) -> None:
    _, (trial,) = await queued_run(acme)
    mine = await claimed(acme, trial)
    await records.finish(acme, mine, OUTCOME)
    finished = await trial_now(acme, trial)
    await records.finish(acme, mine, OUTCOME)
    assert await trial_now(acme, trial) == finished
    assert len(await acme.fetch(rollouts.BY_TRIALS, [trial.id])) == 1


async def test_only_a_cancelled_run_cancels_its_trials(acme: Tenant) -> None:
    _, (trial,) = await queued_run(acme)
    mine = await claimed(acme, trial)
    with pytest.raises(SupersededError):
        await records.finish(acme, mine, replace(OUTCOME, status="cancelled", reward=None, failure_category=None))
    assert await trial_now(acme, trial) == mine


async def test_only_one_worker_gets_a_trial(acme: Tenant) -> None:
    _, (trial,) = await queued_run(acme)
    mine = await claimed(acme, trial)
    with pytest.raises(SupersededError):
        await records.claim(acme, trial, OTHER_WORKER)
    assert await trial_now(acme, trial) == mine


async def test_a_claim_whose_answer_was_lost_can_be_asked_for_again(acme: Tenant) -> None:
    _, (trial,) = await queued_run(acme)
    assert await claimed(acme, trial) == await claimed(acme, trial)


async def test_the_third_lost_execution_is_the_last(acme: Tenant) -> None:
    run, (trial,) = await queued_run(acme)
    for _ in range(MOST_LOST_EXECUTIONS):
        trial = await claimed(acme, trial)
    assert await records.claim(acme, trial, WORKER) is None
    ended = await trial_now(acme, trial)
    assert (ended.status, ended.reward, ended.failure_category) == ("interrupted", None, "worker_lost")
    assert ended.execution == ended.lost_executions == MOST_LOST_EXECUTIONS
    await records.complete_run(acme, run.id)
    assert (await run_now(acme, run.id)).unscored_attempts == 1


async def test_what_is_handed_back_is_not_lost(acme: Tenant) -> None:
    _, (trial,) = await queued_run(acme)
    for _ in range(MOST_LOST_EXECUTIONS + 2):
        mine = await claimed(acme, trial)
        await records.release(acme, mine)
        trial = await trial_now(acme, trial)
        assert trial.status == "queued"
        with pytest.raises(SupersededError):
            await records.finish(acme, mine, OUTCOME)
    assert (trial.execution, trial.lost_executions) == (MOST_LOST_EXECUTIONS + 2, 0)
    await records.finish(acme, await claimed(acme, trial), OUTCOME)


async def test_a_trial_that_has_ended_is_passed_over(acme: Tenant) -> None:
    _, (trial,) = await queued_run(acme)
    await records.finish(acme, await claimed(acme, trial), OUTCOME)
    assert await records.claim(acme, trial, WORKER) is None


async def test_cancelling_waits_for_a_trial_that_is_being_stored(acme: Tenant, database: DatabaseUrls) -> None:
    run, (trial,) = await queued_run(acme)
    mine = await claimed(acme, trial)
    owner = await asyncpg.connect(database.owner)
    await owner.execute("""
        create function slowly() returns trigger language plpgsql as $$begin perform pg_sleep(0.3); return new; end$$;
        create trigger slowly before insert on trajectory_artifacts for each row execute function slowly();
    """)
    await owner.close()
    storing = asyncio.create_task(records.finish(acme, mine, OUTCOME))
    asleep = "select exists (select from pg_stat_activity where wait_event = 'PgSleep')"
    async with asyncio.timeout(30):
        while not await acme.pool.fetchval(asleep):  # noqa: ASYNC110 - the server sends no event for it
            await asyncio.sleep(0.01)
    assert (await cancel(acme, str(run.id))).status == "cancelled"
    await storing
    now = await trial_now(acme, trial)
    assert (now.status, now.reward) == ("completed", 0.7)


async def test_a_cancelled_trial_keeps_its_steps_and_gives_no_rollout(acme: Tenant) -> None:
    run, (trial,) = await queued_run(acme)
    mine = await claimed(acme, trial)
    await cancel(acme, str(run.id))
    await records.finish(acme, mine, replace(OUTCOME, status="cancelled", reward=None, failure_category=None))
    now = await trial_now(acme, trial)
    assert (now.status, now.reward, now.failure_category) == ("cancelled", None, None)
    assert now.trajectory_artifact_id is not None
    assert await acme.fetch(rollouts.BY_TRIALS, [trial.id]) == []
    await records.finish(acme, mine, OUTCOME)
    assert await trial_now(acme, trial) == now


async def test_a_run_completes_when_its_last_attempt_has_ended(acme: Tenant) -> None:
    run, attempts = await queued_run(acme, 3)
    outcomes = [
        replace(OUTCOME, reward=1.0, failure_category=None),
        OUTCOME,
        replace(OUTCOME, status="errored", reward=None, failure_category="agent_crashed"),
    ]
    for trial, outcome in zip(attempts, outcomes, strict=True):
        await records.complete_run(acme, run.id)
        assert (await run_now(acme, run.id)).status == "running"
        await records.finish(acme, await claimed(acme, trial), outcome)
    await records.complete_run(acme, run.id)
    completed = await run_now(acme, run.id)
    assert (completed.status, completed.unscored_attempts) == ("completed", 1)
    estimates = decode(completed.pass_at_k)
    assert [one.estimate for one in estimates] == pytest.approx([1 / 3, 2 / 3, 1])
    assert [one.pass_hat_k for one in estimates] == pytest.approx([1 / 3, 0, 0])
    await records.complete_run(acme, run.id)
    await records.fail_run(acme, run.id, None, "too late")
    assert await run_now(acme, run.id) == completed


async def test_a_failed_run_keeps_the_attempts_that_had_ended(acme: Tenant) -> None:
    run, attempts = await queued_run(acme, 2)
    await records.finish(acme, await claimed(acme, attempts[0]), OUTCOME)
    await records.fail_run(acme, run.id, None, "the bundle is missing")
    failed = await run_now(acme, run.id)
    assert (failed.status, failed.failure_detail) == ("failed", "the bundle is missing")
    assert [(one.k, one.estimate) for one in decode(failed.pass_at_k)] == [(1, None), (2, None)]
    ended = await acme.fetch(trials.BY_RUNS, [run.id])
    assert [trial.status for trial in ended] == ["completed", "errored"]
    assert [trial.failure_category for trial in ended] == ["checkout_incomplete", "environment_failed"]


async def test_another_organization_can_write_none_of_it(acme: Tenant, rival: Tenant) -> None:
    run, (trial,) = await queued_run(acme)
    with pytest.raises(SupersededError):
        await records.claim(rival, trial, WORKER)
    mine = await claimed(acme, trial)
    with pytest.raises(SupersededError):
        await records.finish(rival, mine, OUTCOME)
    await records.release(rival, mine)
    await records.complete_run(rival, run.id)
    await records.fail_run(rival, run.id, None, "not theirs")
    assert await trial_now(acme, trial) == mine
    assert (await run_now(acme, run.id)).status == "running"
