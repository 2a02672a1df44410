"""Every filter, alone and combined, against a model in Python."""

from collections.abc import Callable
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.schema.asking import ask, nodes
from tests.schema.filter_model import (
    BOUNDS,
    REPORT_FILTER,
    ROLLOUT_FILTER,
    RUN_FILTER,
    STAGES,
    TRIAL_FILTER,
    Choice,
    Pair,
    filters,
    matching,
    trial_status,
)
from tests.schema.world import Trial, World

many = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@given(filters(TRIAL_FILTER))
@many
async def test_trials(world: World, choices: dict[str, Choice]) -> None:
    given_filter = {name: choose(world) for name, choose in choices.items()}
    text = """query($filter: EvaluationTrialFilter, $version: ID!) {
      evaluationTrials(filter: $filter, orderBy: OLDEST) { totalCount edges { node { id } } }
      environmentVersion(id: $version) { trials(filter: $filter) { totalCount edges { node { id } } } }
    }"""
    expected = matching(world, given_filter, trial_status)
    answered = await ask(world.tenant, text, filter=given_filter, version=str(world.versions[0].id))
    found = answered["evaluationTrials"]
    assert nodes(found) == [{"id": str(trial.row.id)} for _, trial in expected]
    assert found["totalCount"] == len(expected)
    nested = answered["environmentVersion"]["trials"]
    of_version = [trial for run, trial in reversed(expected) if run.version == world.versions[0]]
    assert nodes(nested) == [{"id": str(trial.row.id)} for trial in of_version]
    assert nested["totalCount"] == len(of_version)


async def test_stages_and_rewards_at_each_bound(world: World) -> None:
    listed = "evaluationTrials(filter: $f, orderBy: OLDEST) { edges { node { id } } }"
    text = f"query($f: EvaluationTrialFilter) {{ {listed} }}"
    asked: list[dict[str, Any]] = [
        *({"stage": stage, "stageBelow": below} for stage in STAGES for below in BOUNDS),
        *({"rewardAtLeast": least, "rewardBelow": below} for least in BOUNDS for below in BOUNDS),
    ]
    for given_filter in asked:
        expected = matching(world, given_filter, trial_status)
        found = nodes((await ask(world.tenant, text, f=given_filter))["evaluationTrials"])
        assert found == [{"id": str(trial.row.id)} for _, trial in expected]


@given(filters(RUN_FILTER))
@many
async def test_runs(world: World, choices: dict[str, Choice]) -> None:
    given_filter = {name: choose(world) for name, choose in choices.items()}
    text = """query($filter: EvaluationRunFilter, $version: ID!) {
      evaluationRuns(filter: $filter, orderBy: OLDEST) { totalCount edges { node { id } } }
      environmentVersion(id: $version) { runs(filter: $filter) { totalCount edges { node { id } } } }
    }"""
    pairs = matching(world, given_filter, lambda run, _: run.row.status.upper())
    expected = [run for run in world.runs if any(run is matched for matched, _ in pairs)]
    answered = await ask(world.tenant, text, filter=given_filter, version=str(world.versions[0].id))
    assert nodes(answered["evaluationRuns"]) == [{"id": str(run.row.id)} for run in expected]
    assert answered["evaluationRuns"]["totalCount"] == len(expected)
    nested, of_version = answered["environmentVersion"]["runs"], [r for r in expected if r.version == world.versions[0]]
    assert nodes(nested) == [{"id": str(run.row.id)} for run in reversed(of_version)]
    assert nested["totalCount"] == len(of_version)


KINDS: dict[str | None, Callable[[float | None], bool]] = {
    None: lambda _: True,
    "ALL": lambda _: True,
    "SUCCESSFUL": lambda reward: reward == 1,
    "FAILED": lambda reward: reward is not None and reward < 1,
    "RECOVERY": lambda reward: reward is not None and 0 < reward < 1,
}


@given(st.sampled_from(list(KINDS)), filters(ROLLOUT_FILTER))
@many
async def test_rollouts(world: World, kind: str | None, choices: dict[str, Choice]) -> None:
    given_filter = {name: choose(world) for name, choose in choices.items()}
    text = """query($kind: RolloutKind, $filter: RolloutFilter) {
      rollouts(kind: $kind, filter: $filter) { totalCount edges { node { id } } } }"""
    pairs = reversed(matching(world, given_filter, trial_status))
    expected = [trial.rollout.id for _, trial in pairs if trial.rollout and KINDS[kind](trial.rollout.reward)]
    found = (await ask(world.tenant, text, kind=kind, filter=given_filter))["rollouts"]
    assert nodes(found) == [{"id": str(key)} for key in expected]
    assert found["totalCount"] == len(expected)


def expected_gaps(pairs: list[Pair]) -> dict[str, Any]:
    ended = [trial for _, trial in pairs if trial.outcome.status not in ("queued", "running")]
    by_category: dict[str, list[Trial]] = {}
    for trial in ended:
        if trial.outcome.category is not None:
            by_category.setdefault(trial.outcome.category, []).append(trial)
    ordered = sorted(by_category.items(), key=lambda item: (-len(item[1]), item[0]))
    gaps = [
        {"failureCategory": category, "trials": len(having), "latestTrial": {"id": str(having[-1].row.id)}}
        for category, having in ordered
    ]
    return {"trials": len(ended), "categorized": sum(map(len, by_category.values())), "gaps": gaps}


def expected_rewards(pairs: list[Pair]) -> list[dict[str, Any]]:
    values: dict[str, list[float]] = {}
    for _, trial in pairs:
        for stage, value in trial.outcome.stages.items():
            values.setdefault(stage, []).append(value)
    return [
        {
            "stage": stage,
            "trials": len(found),
            "mean": sum(found) / len(found),
            "min": min(found),
            "max": max(found),
            "full": found.count(1),
        }
        for stage, found in sorted(values.items())
    ]


@given(filters(REPORT_FILTER))
@many
async def test_reports(world: World, choices: dict[str, Choice]) -> None:
    given_filter = {name: choose(world) for name, choose in choices.items()}
    text = """query($gaps: CapabilityGapFilter, $rewards: PartialRewardFilter) {
      capabilityGaps(filter: $gaps) { trials categorized gaps { failureCategory trials latestTrial { id } } }
      partialRewards(filter: $rewards) { stage trials mean min max full }
    }"""
    pairs = matching(world, given_filter, trial_status)
    answered = await ask(world.tenant, text, gaps=given_filter, rewards=given_filter)
    assert answered["capabilityGaps"] == expected_gaps(pairs)
    assert answered["partialRewards"] == expected_rewards(pairs)
