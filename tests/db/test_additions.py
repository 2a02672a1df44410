"""What the database itself holds to when attempts are added or done again: nothing that came to its end is changed."""

import json
from dataclasses import replace

import asyncpg
import pytest

from db import artifacts, executions, exports, rollouts, runs, trials
from db.runs import EvaluationRun
from db.tenant import Tenant
from db.trials import EvaluationTrial
from resolvers.trials import TrialFilter
from tests.db.conftest import Connection
from tests.factory import Attempt, create_run, create_version, step

ATTEMPTS = [
    Attempt(1.0, stages={"stage_a": 1}, steps=[step(1)], log="passed"),
    Attempt(None, "errored", "agent_crashed", {"stage_a": 0.5}, [step(1)], "crashed"),
]


@pytest.fixture
async def ended(acme: Tenant) -> tuple[EvaluationRun, list[EvaluationTrial]]:
    return await create_run(acme, await create_version(acme), ATTEMPTS)


async def rerun(tenant: Tenant, run: EvaluationRun, job_id: int = 7) -> list[EvaluationTrial]:
    async with tenant.transaction() as transaction:
        again = await transaction.fetch(trials.RERUN, run.id, job_id)
        await transaction.fetch(rollouts.SUPERSEDE, [trial.id for trial in again])
        return again


async def found(tenant: Tenant, words: str) -> list[int]:
    arguments = (*TrialFilter(text=words).arguments(), None, None, 10)
    return [trial.attempt for trial in await tenant.fetch(trials.PAGE_NEWEST, *arguments)]


async def test_an_unscored_trial_is_queued_again_and_its_execution_keeps_what_it_came_to(
    acme: Tenant, ended: tuple[EvaluationRun, list[EvaluationTrial]]
) -> None:
    run, (passed, crashed) = ended
    before = await acme.fetch(executions.BY_TRIALS, [passed.id, crashed.id])
    (again,) = await rerun(acme, run)
    assert again == replace(
        crashed,
        status="queued",
        failure_category=None,
        stages=again.stages,
        trajectory_artifact_id=None,
        job_id=7,
        started_at=None,
        finished_at=None,
    )
    assert json.loads(again.stages) == []
    assert await acme.fetch(executions.BY_TRIALS, [passed.id, crashed.id]) == before
    assert await acme.fetch(trials.BY_IDS, [passed.id]) == [passed]
    (kept,) = await acme.fetch(artifacts.FILE, crashed.trajectory_artifact_id)
    assert json.loads(kept.log) == "crashed"
    assert await rerun(acme, run) == []


async def test_words_are_those_of_the_latest_execution(
    acme: Tenant, ended: tuple[EvaluationRun, list[EvaluationTrial]]
) -> None:
    run, (_, crashed) = ended
    assert (await found(acme, "crashed"), await found(acme, "-nowhere")) == ([2], [2, 1])
    await rerun(acme, run)
    assert (await found(acme, "crashed"), await found(acme, "-nowhere")) == ([], [1])
    async with acme.transaction() as transaction:
        assert await transaction.fetch(trials.CLAIM, crashed.id, 1, "worker", 7)
        await transaction.fetch(artifacts.CREATE, crashed.id, 2, "trial-2-trajectory.json", '"better"', "[]", 0, None)
    assert (await found(acme, "crashed"), await found(acme, "better")) == ([], [2])


async def test_a_trial_is_claimed_for_its_job_only(
    acme: Tenant, ended: tuple[EvaluationRun, list[EvaluationTrial]]
) -> None:
    run, (_, crashed) = ended
    await rerun(acme, run)
    async with acme.transaction() as transaction:
        for job_id in (None, 8):
            assert await transaction.fetch(trials.CLAIM, crashed.id, 1, "worker", job_id) == []
        (claimed,) = await transaction.fetch(trials.CLAIM, crashed.id, 1, "worker", 7)
    assert (claimed.execution, claimed.lost_executions) == (2, 0)


OVERWRITING = [
    "update evaluation_trials set reward = 0 where reward is not null",
    "update evaluation_trials set reward = null where reward is not null",
    "update evaluation_trials set stages = '[]' where reward is not null",
    "update evaluation_trials set execution = execution where reward is not null",
    "update trial_executions set reward = 0 where trajectory_artifact_id is not null",
    "update trial_executions set trajectory_artifact_id = null where trajectory_artifact_id is not null",
    "update evaluation_trials set execution = 0, lost_executions = 0 where reward is null",
]


@pytest.mark.usefixtures("ended")
@pytest.mark.parametrize("change", OVERWRITING)
async def test_what_came_to_its_end_is_not_overwritten(change: str, acme: Tenant, administrator: Connection) -> None:
    with pytest.raises(asyncpg.RestrictViolationError):
        async with acme.transaction() as transaction:
            await transaction.connection.execute(change)
    with pytest.raises(asyncpg.RestrictViolationError):
        await administrator.execute(change)


async def test_of_a_trial_one_rollout_counts(acme: Tenant, ended: tuple[EvaluationRun, list[EvaluationTrial]]) -> None:
    run, (_, crashed) = ended
    (first,) = await acme.fetch(rollouts.BY_TRIALS, [crashed.id])
    again = "update evaluation_trials set execution = 2 where id = $1"
    async with acme.transaction() as transaction:
        await transaction.connection.execute(again, crashed.id)
    with pytest.raises(asyncpg.UniqueViolationError, match="rollouts_that_count"):
        async with acme.transaction() as transaction:
            await transaction.fetch(rollouts.CREATE, crashed.id)
    await rerun(acme, run)
    assert await acme.fetch(rollouts.BY_TRIALS, [crashed.id]) == []
    async with acme.transaction() as transaction:
        (second,) = await transaction.fetch(rollouts.CREATE, crashed.id)
    assert [row.id for row in await acme.fetch(rollouts.BY_TRIALS, [crashed.id])] == [second.id]
    # By its id the earlier one is still there, with the stages of its own execution.
    (superseded,) = await acme.fetch(rollouts.BY_IDS, [first.id])
    assert superseded.superseded
    assert json.loads(superseded.stages) == [{"name": "stage_a", "value": 0.5}]
    assert await acme.fetch(exports.ROLLOUT, first.id) == []


async def test_superseded_rollouts_take_no_part_whatever_their_score(acme: Tenant, administrator: Connection) -> None:
    version = await create_version(acme)
    _, made = await create_run(acme, version, [Attempt(reward) for reward in (1.0, 0.5, 0.0)])
    best, middle, worst = [(await acme.fetch(rollouts.BY_TRIALS, [trial.id]))[0] for trial in made]
    for superseded, pair in ((best, (middle.id, worst.id)), (worst, None)):
        await administrator.execute("update rollouts set superseded = true where id = $1", superseded.id)
        shown = await acme.fetch(rollouts.PREFERENCES_OF_VERSIONS, [version.id])
        assert [(one.preferred, one.rejected) for one in shown] == ([pair] if pair else [])
        lines = await acme.fetch(exports.PREFERENCES, *[None] * 6)
        assert [(line["preferred"], line["rejected"]) for line in (json.loads(one.line) for one in lines)] == (
            [tuple(map(str, pair))] if pair else []
        )


async def test_a_run_is_opened_again_without_what_its_end_had_told(
    acme: Tenant, ended: tuple[EvaluationRun, list[EvaluationTrial]]
) -> None:
    run, _ = ended
    async with acme.transaction() as transaction:
        (opened,) = await transaction.fetch(runs.REOPEN, run.id, 2)
    assert opened == replace(
        run, attempt_count=4, status="queued", pass_at_k=opened.pass_at_k, unscored_attempts=None, finished_at=None
    )
    assert json.loads(opened.pass_at_k) == []
    with pytest.raises(asyncpg.CheckViolationError, match="attempt_count"):
        async with acme.transaction() as transaction:
            await transaction.fetch(runs.REOPEN, run.id, 5)
