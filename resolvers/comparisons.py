"""Attempts of one environment version side by side."""

import asyncio
import json
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final
from uuid import UUID

from db import artifacts
from db.artifacts import Steps
from db.errors import InvalidInputError, NotFoundError
from db.tenant import Tenant
from db.trials import EvaluationTrial
from resolvers.context import Context
from resolvers.ids import parse_id
from resolvers.loaders import ARTIFACT, TRIAL
from resolvers.trials import steps_at

FEWEST: Final = 2
MOST: Final = 8

#: How many steps of each trajectory are read at once: most attempts part early.
FIRST_BLOCK: Final = 100
NEXT_BLOCK: Final = 500


@dataclass(frozen=True, slots=True)
class ComparedTrial:
    """A trial without a trajectory has no steps; one that has not ended has no duration."""

    trial: EvaluationTrial
    step_count: int

    @property
    def reward(self) -> float | None:
        return self.trial.reward

    @property
    def duration_seconds(self) -> float | None:
        started, finished = self.trial.started_at, self.trial.finished_at
        return (finished - started).total_seconds() if started and finished else None


@dataclass(frozen=True, slots=True)
class ComparedStage:
    """A value for each trial."""

    name: str
    values: tuple[float | None, ...]


@dataclass(frozen=True, slots=True)
class StepAction:
    """What the agent asked for in a step."""

    tool: str
    command: str


@dataclass(frozen=True, slots=True)
class TrialDivergence:
    """The position, from 1, and an action for each trial; None where the trajectory has ended."""

    step: int
    actions: tuple[StepAction | None, ...]


@dataclass(frozen=True, slots=True)
class TrialComparison:
    """In the order asked for."""

    environment_version_id: UUID
    trials: tuple[ComparedTrial, ...]
    stages: tuple[ComparedStage, ...]
    divergence: Callable[[], Awaitable[TrialDivergence | None]]


@dataclass(slots=True)
class _Once:
    """Looks for a comparison's divergence once, under however many names it is asked for."""

    find: Callable[[], Awaitable[TrialDivergence | None]]
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    found: tuple[TrialDivergence | None] | None = None

    async def __call__(self) -> TrialDivergence | None:
        async with self.lock:
            if self.found is None:
                self.found = (await self.find(),)
        return self.found[0]


async def compare(context: Context, ids: Sequence[str]) -> TrialComparison:
    """Raises InvalidInputError or NotFoundError for trials that cannot be compared."""
    found = await asyncio.gather(*(_trial(context, key) for key in _parse(ids)))
    versions = {trial.environment_version_id for trial in found}
    if len(versions) > 1:
        raise InvalidInputError("Only trials of one environment version can be compared.", ["ids"])
    compared = await asyncio.gather(*(_compared(context, trial) for trial in found))
    divergence = _Once(partial(first_divergence, context.tenant, compared))
    return TrialComparison(versions.pop(), tuple(compared), _stages(found), divergence)


def _parse(ids: Sequence[str]) -> list[UUID]:
    if not FEWEST <= len(ids) <= MOST:
        raise InvalidInputError(f"{len(ids)} trials were given; {FEWEST} to {MOST} can be compared.", ["ids"])
    parsed = [parse_id(text) for text in ids]
    known = [key for key in parsed if key is not None]
    if len(known) < len(parsed):
        raise _not_found()
    if len(set(known)) < len(known):
        raise InvalidInputError("A trial is given twice.", ["ids"])
    return known


def _not_found() -> NotFoundError:
    return NotFoundError("There is no such evaluation trial.")


async def _trial(context: Context, key: UUID) -> EvaluationTrial:
    trial = await context.load(TRIAL, key)
    if trial is None:
        raise _not_found()
    return trial


async def _compared(context: Context, trial: EvaluationTrial) -> ComparedTrial:
    artifact = await context.load(ARTIFACT, trial.trajectory_artifact_id)
    return ComparedTrial(trial, artifact.step_count if artifact else 0)


def _stages(trials: Sequence[EvaluationTrial]) -> tuple[ComparedStage, ...]:
    reached = [{stage["name"]: stage["value"] for stage in json.loads(trial.stages)} for trial in trials]
    names = dict.fromkeys(name for stages in reached for name in stages)
    return tuple(ComparedStage(name, tuple(stages.get(name) for stages in reached)) for name in names)


async def first_divergence(tenant: Tenant, trials: Sequence[ComparedTrial]) -> TrialDivergence | None:
    """The first step at which not all of the trials did the same; None when they did the same throughout."""
    counts = [compared.step_count for compared in trials]
    keys = [compared.trial.trajectory_artifact_id for compared in trials]
    # Behind the end of the shortest they differ, if any goes on.
    for wanted in _blocks(min(min(counts) + 1, max(counts))):
        stored = await tenant.fetch(artifacts.STEPS, wanted[0], wanted[-1], [key for key in keys if key])
        for position, actions in zip(wanted, _actions(keys, wanted, stored), strict=True):
            if len(set(actions)) > 1:
                return TrialDivergence(position, actions)
    return None


def _blocks(last: int) -> Iterator[range]:
    first, size = 1, FIRST_BLOCK
    while first <= last:
        yield range(first, min(first + size, last + 1))
        first, size = first + size, NEXT_BLOCK


def _actions(
    keys: Sequence[UUID | None], wanted: range, stored: Sequence[Steps]
) -> Iterator[tuple[StepAction | None, ...]]:
    """For each position an action of each trial."""
    taken: defaultdict[UUID | None, dict[int, StepAction]] = defaultdict(dict)
    for held in stored:
        for step in steps_at(wanted, [held]):
            taken[held.id][step.position] = StepAction(step.tool, step.command)
    for position in wanted:
        yield tuple(taken[key].get(position) for key in keys)
