"""Counts over trials, and preference pairs: nothing invented, nothing pooled, ties broken as promised."""

from collections.abc import Sequence
from uuid import UUID

import pytest

from db import reports, rollouts, versions
from db.reports import CategoryCount, PartialReward
from db.rollouts import PreferencePair, RolloutKind
from db.tenant import Tenant
from db.versions import EnvironmentVersion
from tests.factory import Attempt, create_run, create_version

ALL: list[object] = [None] * 5


async def test_without_trials_nothing_is_reported(acme: Tenant) -> None:
    version = await create_version(acme)
    assert await acme.fetch(reports.CAPABILITY_GAPS, *ALL) == []
    assert await acme.fetch(reports.PARTIAL_REWARDS, *ALL) == []
    assert await acme.fetch(reports.CAPABILITY_GAPS_OF_VERSIONS, [version.id]) == []
    assert await acme.fetch(versions.PASS_AT_K, [version.id]) == []


async def test_gaps_count_the_categories_of_ended_trials(acme: Tenant) -> None:
    first, second = await create_version(acme, "first"), await create_version(acme, "second")
    run, made = await create_run(
        acme,
        first,
        [
            Attempt(0.0, category="checkout_incomplete"),
            Attempt(None, "errored", "agent_crashed"),
            Attempt(0.5, category="checkout_incomplete"),
            Attempt(1.0),
            Attempt(status="queued"),
        ],
        status="running",
    )
    _, (other,) = await create_run(acme, second, [Attempt(None, "timed_out", "agent_timeout")])
    of_first = [
        CategoryCount("checkout_incomplete", 2, made[2].id),
        CategoryCount("agent_crashed", 1, made[1].id),
        CategoryCount(None, 1, made[3].id),
    ]
    assert await acme.fetch(reports.CAPABILITY_GAPS, first.id, *ALL[1:]) == of_first
    assert await acme.fetch(reports.CAPABILITY_GAPS, None, first.environment_id, *ALL[2:]) == of_first
    everything = await acme.fetch(reports.CAPABILITY_GAPS, None, None, run.evaluator_configuration_id, None, None)
    assert everything == [of_first[0], of_first[1], CategoryCount("agent_timeout", 1, other.id), of_first[2]]
    later = await acme.fetch(reports.CAPABILITY_GAPS, None, None, None, made[0].created_at, None)
    assert later == [CategoryCount("agent_timeout", 1, other.id)]
    earlier = await acme.fetch(reports.CAPABILITY_GAPS, None, None, None, None, other.created_at)
    assert earlier == of_first
    of_versions = await acme.fetch(reports.CAPABILITY_GAPS_OF_VERSIONS, [second.id, first.id])
    assert [(row.environment_version_id, row.failure_category, row.trials) for row in of_versions] == [
        (first.id, "checkout_incomplete", 2),
        (first.id, "agent_crashed", 1),
        (first.id, None, 1),
        (second.id, "agent_timeout", 1),
    ]


async def test_partial_rewards_are_of_trials_that_have_the_stage(acme: Tenant) -> None:
    first, second = await create_version(acme, "first"), await create_version(acme, "second")
    await create_run(
        acme,
        first,
        [
            Attempt(1.0, stages={"stage_a": 1, "stage_b": 1}),
            Attempt(0.5, stages={"stage_a": 0.25}),
            Attempt(None, "errored", "evaluator_failed"),
        ],
    )
    await create_run(acme, second, [Attempt(0.0, stages={"stage_b": 0})])
    assert await acme.fetch(reports.PARTIAL_REWARDS, first.id, *ALL[1:]) == [
        PartialReward("stage_a", 2, 0.625, 0.25, 1.0, 1),
        PartialReward("stage_b", 1, 1.0, 1.0, 1.0, 1),
    ]
    assert await acme.fetch(reports.PARTIAL_REWARDS, *ALL) == [
        PartialReward("stage_a", 2, 0.625, 0.25, 1.0, 1),
        PartialReward("stage_b", 2, 0.5, 0.0, 1.0, 1),
    ]
    of_versions = await acme.fetch(reports.PARTIAL_REWARDS_OF_VERSIONS, [second.id, first.id])
    assert [(row.environment_version_id, row.stage, row.mean) for row in of_versions] == [
        (first.id, "stage_a", 0.625),
        (first.id, "stage_b", 1.0),
        (second.id, "stage_b", 0.0),
    ]


async def test_estimates_of_a_version_are_averaged_over_its_runs(acme: Tenant) -> None:
    version = await create_version(acme)
    # Pooled over attempts this would be 1/5.
    await create_run(acme, version, [Attempt(1.0)])
    await create_run(acme, version, [Attempt(0.0)] * 4)
    await create_run(acme, version, [Attempt(status="queued")], status="running")
    (estimate,) = await acme.fetch(versions.PASS_AT_K, [version.id])
    assert (estimate.k, estimate.estimate, estimate.pass_hat_k) == (1, 0.5, 0.5)


async def made(tenant: Tenant, version: EnvironmentVersion, rewards: Sequence[float | None]) -> list[UUID]:
    """The rollouts of a run with these rewards, oldest first."""
    attempts = [Attempt(reward) if reward is not None else Attempt(None, "errored") for reward in rewards]
    _, ended = await create_run(tenant, version, attempts)
    found = {r.evaluation_trial_id: r for r in await tenant.fetch(rollouts.BY_TRIALS, [trial.id for trial in ended])}
    return sorted(found[trial.id].id for trial in ended)


async def test_a_pair_is_the_newest_of_the_best_and_the_oldest_of_the_worst(acme: Tenant) -> None:
    version = await create_version(acme)
    made_ids = await made(acme, version, [None, 0.25, 1.0, 0.25, 0.5, 1.0, 0.25, None])
    assert await acme.fetch(rollouts.PREFERENCES_OF_VERSIONS, [version.id]) == [
        PreferencePair(version.id, made_ids[5], made_ids[1], 1.0, 0.25)
    ]
    (newer,) = await made(acme, version, [1.0])
    await made(acme, version, [0.25])
    assert await acme.fetch(rollouts.PREFERENCES_OF_VERSIONS, [version.id]) == [
        PreferencePair(version.id, newer, made_ids[1], 1.0, 0.25)
    ]


@pytest.mark.parametrize("rewards", [[None, None], [0.5], [None, 0.5], [0.5, 0.5, 0.5], [0.0, -0.0]])
async def test_without_two_different_scores_there_is_no_pair(acme: Tenant, rewards: list[float | None]) -> None:
    version = await create_version(acme)
    await made(acme, version, rewards)
    assert await acme.fetch(rollouts.PREFERENCES_OF_VERSIONS, [version.id]) == []


async def test_versions_are_never_compared_with_each_other(acme: Tenant) -> None:
    first, second, third = [await create_version(acme, slug) for slug in ("first", "second", "third")]
    await made(acme, first, [1.0, 1.0])
    await made(acme, second, [0.0])
    low, high = await made(acme, third, [-1.0, 2.5])
    assert await acme.fetch(rollouts.PREFERENCES_OF_VERSIONS, [first.id, second.id, third.id]) == [
        PreferencePair(third.id, high, low, 2.5, -1.0)
    ]


async def test_classes_of_rollouts(acme: Tenant) -> None:
    version = await create_version(acme)
    await made(acme, version, [None, -1.0, 0.0, 0.15, 0.99, 1.0, 1.5])
    expected = {
        RolloutKind.ALL: [1.5, 1.0, 0.99, 0.15, 0.0, -1.0, None],
        RolloutKind.SUCCESSFUL: [1.0],
        RolloutKind.FAILED: [0.99, 0.15, 0.0, -1.0],
        RolloutKind.RECOVERY: [0.99, 0.15],
    }
    for kind, rewards in expected.items():
        asked = None if kind is RolloutKind.ALL else kind.value
        page = await acme.fetch(rollouts.PAGE, asked, None, None, None, None, None, 100)
        assert [rollout.reward for rollout in page] == rewards, kind
        count = await acme.fetch_one(rollouts.COUNT, asked, None, None, None, None)
        assert count is not None
        assert count.total == len(rewards), kind
