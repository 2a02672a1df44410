"""Every filter, alone and combined, against a model in Python."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.schema.asking import UNKNOWN, ask, nodes, refusals
from tests.schema.world import Run, Trial, World

Pair = tuple[Run, Trial]
#: Chooses a value for a filter field from what the world holds.
Choice = Callable[[World], Any]


def one_of(*choices: Choice) -> st.SearchStrategy[Choice]:
    return st.sampled_from(choices)


def fixed(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Choice]:
    return values.map(lambda value: lambda _: value)


def moment(index: int) -> Choice:
    return lambda world: world.runs[index].row.created_at.isoformat()


UNKNOWN_ID: Choice = lambda _: UNKNOWN  # noqa: E731 - one of the choices below, all of them lambdas
VERSION = one_of(UNKNOWN_ID, *(lambda world, i=i: str(world.versions[i].id) for i in range(4)))
ENVIRONMENT = one_of(UNKNOWN_ID, *(lambda world, i=i: str(world.environments[i].id) for i in range(2)))
CONFIGURATION = one_of(UNKNOWN_ID, *(lambda world, i=i: str(world.configurations[i].id) for i in range(2)))
RUN = one_of(UNKNOWN_ID, *(lambda world, i=i: str(world.runs[i].row.id) for i in range(7)))
MOMENT = one_of(*map(moment, range(7)))
STATUSES = ["QUEUED", "RUNNING", "COMPLETED", "ERRORED", "TIMED_OUT", "CANCELLED", "INTERRUPTED"]
CATEGORIES = ["checkout_incomplete", "agent_crashed", "agent_timeout", "worker_lost", "step_limit", "never_seen"]
REWARD = fixed(st.sampled_from([-1.0, 0.0, 0.25, 0.3, 0.30000000000000004, 1.0, 2.0]))
CREATED = {"createdAfter": MOMENT, "createdBefore": MOMENT}

TRIAL_FILTER = CREATED | {
    "environmentVersionId": VERSION,
    "evaluationRunId": RUN,
    "status": fixed(st.lists(st.sampled_from(STATUSES), max_size=3)),
    "failureCategory": fixed(st.lists(st.sampled_from(CATEGORIES), max_size=3)),
    "scored": fixed(st.booleans()),
    "rewardAtLeast": REWARD,
    "rewardBelow": REWARD,
    "stage": fixed(st.sampled_from(["stage_inventory", "stage_checkout", "stage_none"])),
    "stageBelow": REWARD,
}
RUN_FILTER = CREATED | {
    "environmentVersionId": VERSION,
    "evaluatorConfigurationId": CONFIGURATION,
    "status": fixed(st.lists(st.sampled_from(["QUEUED", "RUNNING", "COMPLETED", "CANCELLED", "FAILED"]), max_size=3)),
    "trigger": fixed(st.sampled_from(["EVALUATION", "RESET", "IMPORT"])),
}
ROLLOUT_FILTER = CREATED | {"environmentVersionId": VERSION, "evaluationRunId": RUN}
REPORT_FILTER = CREATED | {
    "environmentVersionId": VERSION,
    "environmentId": ENVIRONMENT,
    "evaluatorConfigurationId": CONFIGURATION,
}


def filters(fields: dict[str, st.SearchStrategy[Choice]]) -> st.SearchStrategy[dict[str, Choice]]:
    """Each field alone, or any of them together; now and then one that is null, which asks nothing."""
    alone = st.one_of([st.fixed_dictionaries({name: choice}) for name, choice in fields.items()])
    nothing = st.just(lambda _: None)
    return alone | st.fixed_dictionaries({}, optional={name: choice | nothing for name, choice in fields.items()})


def stage_matches(trial: Trial, name: str, below: float | None) -> bool:
    value = trial.outcome.stages.get(name)
    return value is not None and (below is None or value < below)


def at_least(reward: float | None, bound: float) -> bool:
    return reward is not None and reward >= bound


HOLDS: dict[str, Callable[[Run, Trial, Any, dict[str, Any]], bool]] = {
    "environmentVersionId": lambda run, _, value, __: run.version.id == UUID(value),
    "environmentId": lambda run, _, value, __: run.version.environment_id == UUID(value),
    "evaluatorConfigurationId": lambda run, _, value, __: run.configuration.id == UUID(value),
    "evaluationRunId": lambda run, _, value, __: run.row.id == UUID(value),
    "failureCategory": lambda _, trial, value, __: trial.outcome.category in value,
    "scored": lambda _, trial, value, __: (trial.outcome.reward is not None) == value,
    "rewardAtLeast": lambda _, trial, value, __: at_least(trial.outcome.reward, value),
    "rewardBelow": lambda _, trial, value, __: trial.outcome.reward is not None and trial.outcome.reward < value,
    "stage": lambda _, trial, value, given: stage_matches(trial, value, given.get("stageBelow")),
    "stageBelow": lambda *_: True,
    "trigger": lambda run, _, value, __: run.row.trigger == value.lower(),
    "createdAfter": lambda run, _, value, __: run.row.created_at.isoformat() > value,
    "createdBefore": lambda run, _, value, __: run.row.created_at.isoformat() < value,
}


def matching(world: World, given: dict[str, Any], status: Callable[[Run, Trial], str]) -> list[Pair]:
    asked = {name: value for name, value in given.items() if value is not None and name != "status"}
    wanted = given.get("status")
    return [
        (run, trial)
        for run in world.runs
        for trial in run.trials
        if (wanted is None or status(run, trial) in wanted)
        and all(HOLDS[name](run, trial, value, given) for name, value in asked.items())
    ]


def trial_status(_: Run, trial: Trial) -> str:
    return trial.outcome.status.upper()


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


LISTED = {
    "evaluationRuns": ("EvaluationRunFilter", "totalCount", RUN_FILTER),
    "evaluationTrials": ("EvaluationTrialFilter", "totalCount", TRIAL_FILTER),
    "rollouts": ("RolloutFilter", "totalCount", ROLLOUT_FILTER),
    "capabilityGaps": ("CapabilityGapFilter", "trials", REPORT_FILTER),
    "partialRewards": ("PartialRewardFilter", "trials", REPORT_FILTER),
}
OUT_OF_RANGE = ["9999-12-31T23:59:59-14:00", "0001-01-01T00:00:00+14:00"]
WRONG_IDS = ["", "nope", "\0", "\ud800", UNKNOWN[:-1], UNKNOWN.replace("-", ""), f"{{{UNKNOWN}}}", f" {UNKNOWN}"]


async def test_values_that_no_filter_can_have_are_refused_before_any_statement(
    world: World, statements: list[str], subtests: pytest.Subtests
) -> None:
    statements.clear()
    for listed, (kind, selected, fields) in LISTED.items():
        text = f"query($filter: {kind}) {{ {listed}(filter: $filter) {{ {selected} }} }}"
        wrong = {name: WRONG_IDS for name in fields if name.endswith("Id")} | {
            name: ["2026-01-01T00:00:00", "2026-01-01", *OUT_OF_RANGE] for name in CREATED
        }
        for name, value in [(name, value) for name, values in wrong.items() for value in values]:
            with subtests.test(f"{listed} {name} {value!r}"):
                (error,) = await refusals(world.tenant, text, filter={name: value})
                assert error["extensions"] == {"code": "INVALID_INPUT", "field": ["filter", name]}
                assert "Something went wrong" not in error["message"]
    assert statements == []


async def test_text_that_no_column_holds_is_refused(
    world: World, statements: list[str], subtests: pytest.Subtests
) -> None:
    text = "query($filter: EvaluationTrialFilter) { evaluationTrials(filter: $filter) { totalCount } }"
    statements.clear()
    for value in ("\0", "\ud800"):
        for name, given_value in (("stage", value), ("failureCategory", ["step_limit", value])):
            with subtests.test(f"{name} {value!r}"):
                (error,) = await refusals(world.tenant, text, filter={name: given_value})
                assert error["extensions"] == {"code": "INVALID_INPUT", "field": ["filter", name]}
    assert statements == []


async def test_a_moment_may_be_written_with_any_offset(world: World) -> None:
    text = "query($filter: EvaluationRunFilter) { evaluationRuns(filter: $filter) { totalCount } }"
    for early, late in (
        ("2000-01-01T00:00:00Z", "2999-01-01T00:00:00+14:00"),
        ("1999-12-31T23:00-01:00", "2999-01-01T00Z"),
    ):
        answered = await ask(world.tenant, text, filter={"createdAfter": early, "createdBefore": late})
        assert answered["evaluationRuns"]["totalCount"] == len(world.runs)


async def test_ids_that_name_nothing_find_nothing(
    world: World, statements: list[str], subtests: pytest.Subtests
) -> None:
    for field in ("node", "environmentVersion", "evaluationRun", "evaluationTrial", "rollout"):
        with subtests.test(field):
            statements.clear()
            for wrong in WRONG_IDS:
                assert await ask(world.tenant, f"query($id: ID!) {{ {field}(id: $id) {{ id }} }}", id=wrong) == {
                    field: None
                }
            assert statements == []
            assert await ask(world.tenant, f"query($id: ID!) {{ {field}(id: $id) {{ id }} }}", id=UNKNOWN) == {
                field: None
            }
    for slug in ("", "no", "\0", "A", "a" * 1000, "ä", "mail\n"):
        assert await ask(world.tenant, "query($s: String!) { environment(slug: $s) { id } }", s=slug) == {
            "environment": None
        }
