"""A trial's one way through life: claimed, fenced, ended once; and what its row refuses to hold."""

import asyncio
import math
import re
from enum import StrEnum
from typing import Any

import asyncpg
import pytest

from db import artifacts, rollouts, runs, trials
from db.runs import ResetMode, RunStatus, RunTrigger
from db.tenant import Tenant
from db.trials import EvaluationTrial, TrialStatus
from tests.db.conftest import Connection
from tests.factory import Attempt, create_configuration, create_run, create_version


@pytest.fixture
async def queued(acme: Tenant) -> EvaluationTrial:
    _, (trial,) = await create_run(acme, await create_version(acme), [Attempt(status="queued")], status="running")
    return trial


async def claim(tenant: Tenant, trial: EvaluationTrial, execution: int) -> EvaluationTrial | None:
    async with tenant.transaction() as transaction:
        return await transaction.fetch_one(trials.CLAIM, trial.id, execution, "worker", None)


async def finish(
    tenant: Tenant, trial: EvaluationTrial, execution: int, reward: float | None = None, status: str = "completed"
) -> EvaluationTrial | None:
    async with tenant.transaction() as transaction:
        return await transaction.fetch_one(
            trials.FINISH, trial.id, execution, status, reward, None, None, "[]", None, None, 0
        )


async def stored(tenant: Tenant, trial: EvaluationTrial) -> EvaluationTrial:
    found = await tenant.fetch_one(trials.BY_IDS, [trial.id])
    assert found is not None
    return found


async def test_each_execution_has_a_number_of_its_own(acme: Tenant, queued: EvaluationTrial) -> None:
    assert (queued.execution, queued.status, queued.started_at) == (0, "queued", None)
    first = await claim(acme, queued, 0)
    assert first is not None
    assert (first.execution, first.status) == (1, "running")
    assert await claim(acme, queued, 0) is None
    second = await claim(acme, queued, 1)
    assert second is not None
    assert (second.execution, second.status) == (2, "running")


async def test_of_claims_at_once_one_is_granted(acme: Tenant, queued: EvaluationTrial) -> None:
    claims = await asyncio.gather(*(claim(acme, queued, 0) for _ in range(5)))
    assert sorted(granted.execution for granted in claims if granted) == [1]


async def test_a_late_result_changes_nothing(acme: Tenant, queued: EvaluationTrial) -> None:
    await claim(acme, queued, 0)
    present = await claim(acme, queued, 1)
    assert await finish(acme, queued, 1, 0.0) is None
    async with acme.transaction() as transaction:
        assert await transaction.fetch(trials.INTERRUPT, queued.id, 1, None) == []
    assert await stored(acme, queued) == present
    ended = await finish(acme, queued, 2, 1.0)
    assert ended is not None
    assert (ended.status, ended.reward) == ("completed", 1.0)
    # Ended, it is neither ended again, nor claimed, nor lost.
    assert await finish(acme, queued, 2, 0.0) is None
    assert await claim(acme, queued, 2) is None
    async with acme.transaction() as transaction:
        assert await transaction.fetch(trials.INTERRUPT, queued.id, 2, None) == []
        assert await transaction.fetch(trials.END_OPEN, ended.evaluation_run_id, "cancelled", None, None) == []
    assert await stored(acme, queued) == ended


async def test_a_trial_that_nobody_claimed_cannot_be_finished(acme: Tenant, queued: EvaluationTrial) -> None:
    assert await finish(acme, queued, 0, 1.0) is None
    assert await stored(acme, queued) == queued


async def test_a_lost_trial_ends_interrupted(acme: Tenant, queued: EvaluationTrial) -> None:
    await claim(acme, queued, 0)
    async with acme.transaction() as transaction:
        lost = await transaction.fetch_one(trials.INTERRUPT, queued.id, 1, "three executions were lost")
    assert lost is not None
    assert (lost.status, lost.failure_category, lost.reward) == ("interrupted", "worker_lost", None)
    assert lost.finished_at is not None
    assert await finish(acme, queued, 1, 1.0) is None


async def test_what_is_open_is_ended_and_keeps_its_steps(acme: Tenant) -> None:
    attempts = [Attempt(1.0), Attempt(status="queued"), Attempt(status="queued")]
    run, (ended, running, queued) = await create_run(acme, await create_version(acme), attempts, status="running")
    await claim(acme, running, 0)
    async with acme.transaction() as transaction:
        cancelled = await transaction.fetch(trials.END_OPEN, run.id, "cancelled", "cancelled", "by a person")
        assert {trial.id for trial in cancelled} == {running.id, queued.id}
        artifact = await transaction.fetch_one(artifacts.CREATE, running.id, 1, "trial-2.json", '""', "[]", 0, None)
        assert artifact is not None
        assert await transaction.fetch(trials.ATTACH, running.id, 0, artifact.id, 0) == []
        attached = await transaction.fetch_one(trials.ATTACH, running.id, 1, artifact.id, 3)
        assert attached is not None
        assert (attached.status, attached.trajectory_artifact_id) == ("cancelled", artifact.id)
        assert attached.redactions == 3
        assert await transaction.fetch(trials.ATTACH, running.id, 1, artifact.id, 0) == []
        assert await transaction.fetch(trials.ATTACH, ended.id, 1, artifact.id, 0) == []
    assert await stored(acme, ended) == ended


@pytest.mark.parametrize("reward", [math.nan, math.inf, -math.inf])
async def test_a_reward_is_a_finite_number(reward: float, acme: Tenant, queued: EvaluationTrial) -> None:
    await claim(acme, queued, 0)
    with pytest.raises(asyncpg.CheckViolationError, match="reward"):
        await finish(acme, queued, 1, reward)
    with pytest.raises(asyncpg.CheckViolationError, match="reward"):
        async with acme.transaction() as transaction:
            await transaction.connection.execute(
                "insert into rollouts "
                "(evaluation_trial_id, execution, evaluation_run_id, environment_version_id, seed, reward) "
                "values ($1, 1, $2, $3, 0, $4)",
                queued.id,
                queued.evaluation_run_id,
                queued.environment_version_id,
                reward,
            )
    assert (await stored(acme, queued)).status == "running"


@pytest.mark.parametrize("reward", [0.0, -0.0, -3.5, 1.0, 1e308, 5e-324, 0.1])
async def test_a_finite_reward_comes_back_as_it_was(reward: float, acme: Tenant, queued: EvaluationTrial) -> None:
    await claim(acme, queued, 0)
    await finish(acme, queued, 1, reward, "timed_out")
    async with acme.transaction() as transaction:
        await transaction.fetch(rollouts.CREATE, queued.id)
    kept = (await stored(acme, queued)).reward
    (rollout,) = await acme.fetch(rollouts.BY_TRIALS, [queued.id])
    assert repr(kept) == repr(rollout.reward) == repr(reward)


@pytest.mark.parametrize("status", ["cancelled", "interrupted"])
async def test_a_trial_that_was_stopped_has_no_reward(status: str, acme: Tenant, queued: EvaluationTrial) -> None:
    await claim(acme, queued, 0)
    with pytest.raises(asyncpg.CheckViolationError):
        await finish(acme, queued, 1, 0.5, status)


@pytest.mark.parametrize("attempt", [0, 9, -1])
async def test_attempts_are_numbered_from_1_to_8(attempt: int, acme: Tenant, queued: EvaluationTrial) -> None:
    with pytest.raises(asyncpg.CheckViolationError, match="attempt"):
        async with acme.transaction() as transaction:
            await transaction.connection.execute(
                "insert into evaluation_trials (evaluation_run_id, environment_version_id, attempt, seed) "
                "values ($1, $2, $3, 0)",
                queued.evaluation_run_id,
                queued.environment_version_id,
                attempt,
            )
    configuration_id = await create_configuration(acme)
    with pytest.raises(asyncpg.CheckViolationError, match="attempt_count"):
        async with acme.transaction() as transaction:
            await transaction.fetch(
                runs.CREATE, queued.environment_version_id, configuration_id, "evaluation", None, 0, attempt
            )
    with pytest.raises(asyncpg.CheckViolationError, match="attempt_count"):
        await create_configuration(acme, "other", attempt)


@pytest.mark.parametrize("seed", [0, 2**31, 2**53 + 1, 2**63 - 1, -(2**63)])
async def test_seeds_are_64_bits_wide(seed: int, acme: Tenant) -> None:
    run, (trial,) = await create_run(acme, await create_version(acme), [Attempt(1.0)], seed=seed)
    (rollout,) = await acme.fetch(rollouts.BY_TRIALS, [trial.id])
    assert run.seed == trial.seed == rollout.seed == seed


@pytest.mark.parametrize(
    ("table", "column", "values"),
    [
        ("evaluation_trials", "status", TrialStatus),
        ("evaluation_runs", "status", RunStatus),
        ("evaluation_runs", "trigger", RunTrigger),
        ("evaluation_runs", "reset_mode", ResetMode),
    ],
)
async def test_closed_sets_are_the_same_in_both_languages(
    table: str, column: str, values: type[StrEnum], administrator: Connection
) -> None:
    definition: Any = await administrator.fetchval(
        "select pg_get_constraintdef(oid) from pg_constraint where conname = $1", f"{table}_{column}_check"
    )
    assert set(re.findall(r"'(\w+)'", definition)) == {value.value for value in values}
