"""Values for every filter, and which trials of a world each lets through."""

import re
from collections.abc import Callable
from typing import Any
from uuid import UUID

from hypothesis import strategies as st

from tests.schema.asking import UNKNOWN
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
BOUNDS = [-1.0, 0.0, 0.25, 0.3, 0.30000000000000004, 1.0, 2.0]
STAGES = ["stage_inventory", "stage_checkout", "stage_none"]
#: What to search for, and whether it is among the words of a trial.
TEXTS: dict[str, Callable[[list[str]], bool]] = {
    "log": lambda words: "log" in words,
    "tools/LIST sku-9": lambda words: {"tools", "list", "sku", "9"} <= set(words),
    "initialize -order": lambda words: "initialize" in words and "order" not in words,
    '"started ended"': lambda words: words[:2] == ["started", "ended"],
    '"ended started"': lambda words: False,
    "naïve or nowhere": lambda words: "naïve" in words,
}
REWARD = fixed(st.sampled_from(BOUNDS))
CREATED = {"createdAfter": MOMENT, "createdBefore": MOMENT}

TRIAL_FILTER = CREATED | {
    "environmentVersionId": VERSION,
    "evaluationRunId": RUN,
    "status": fixed(st.lists(st.sampled_from(STATUSES), max_size=3)),
    "failureCategory": fixed(st.lists(st.sampled_from(CATEGORIES), max_size=3)),
    "scored": fixed(st.booleans()),
    "rewardAtLeast": REWARD,
    "rewardBelow": REWARD,
    "stage": fixed(st.sampled_from(STAGES)),
    "stageBelow": REWARD,
    "text": fixed(st.sampled_from(sorted(TEXTS))),
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


def text_matches(trial: Trial, text: str) -> bool:
    """Whether the trial has a trajectory in whose words it is."""
    if trial.row.trajectory_artifact_id is None:
        return False
    said = [trial.outcome.log, *(str(value) for step in trial.outcome.steps for value in step.values())]
    return TEXTS[text](re.findall(r"\w+", " ".join(said).lower()))


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
    "text": lambda _, trial, value, __: text_matches(trial, value),
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
