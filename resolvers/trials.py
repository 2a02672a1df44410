"""Evaluation trials: pages in every order, and the steps of their trajectories."""

import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from db import trials
from db.artifacts import Steps
from db.executions import TrialExecution
from db.query import Query
from db.trials import EvaluationTrial
from resolvers.context import Context
from resolvers.loaders import RECORDED_STEPS, STEPS, TRIAL_COUNT_OF_VERSION, TRIALS_OF_VERSION
from resolvers.pages import (
    Listing,
    Page,
    decode_id_cursor,
    decode_position_cursor,
    decode_reward_cursor,
    encode_cursor,
    newest_first,
    page,
    page_size,
)

PAGES: dict[str, Query[EvaluationTrial]] = {
    "newest": trials.PAGE_NEWEST,
    "oldest": trials.PAGE_OLDEST,
    "reward_highest": trials.PAGE_REWARD_HIGHEST,
    "reward_lowest": trials.PAGE_REWARD_LOWEST,
}


@dataclass(frozen=True, slots=True)
class TrialFilter:
    """What must hold of a trial; None asks nothing."""

    environment_version_id: UUID | None = None
    evaluation_run_id: UUID | None = None
    status: tuple[str, ...] | None = None
    failure_category: tuple[str, ...] | None = None
    scored: bool | None = None
    reward_at_least: float | None = None
    reward_below: float | None = None
    stage: str | None = None
    stage_below: float | None = None
    created_after: datetime | None = None
    created_before: datetime | None = None
    text: str | None = None

    def arguments(self) -> tuple[object, ...]:
        return (
            self.environment_version_id,
            self.evaluation_run_id,
            self.status,
            self.failure_category,
            self.scored,
            self.reward_at_least,
            self.reward_below,
            self.stage,
            self.stage_below,
            self.created_after,
            self.created_before,
            self.text,
        )


@dataclass(frozen=True, slots=True)
class Step:
    """One exchange of the agent with its environment; `step` as recorded, `position` in the list, both from 1."""

    position: int
    step: int
    tool: str
    command: str
    observation: str


def in_order(trial_filter: TrialFilter, order: str, first: int | None, after: str | None) -> Listing[EvaluationTrial]:
    """Raises InvalidInputError for a page size or cursor that it cannot have."""
    name, by_reward = f"trials {order}", order in ("reward_highest", "reward_lowest")
    size = page_size(first)
    return Listing(
        name,
        PAGES[order],
        trials.COUNT,
        trial_filter.arguments(),
        decode_reward_cursor(name, after) if by_reward else (decode_id_cursor(name, after), None),
        size,
        after is not None,
        ("id", "reward") if by_reward else ("id",),
    )


def of_version(trial_filter: TrialFilter, first: int | None, after: str | None) -> Listing[EvaluationTrial]:
    return newest_first(
        "trials newest", TRIALS_OF_VERSION, TRIAL_COUNT_OF_VERSION, trial_filter.arguments(), first, after
    )


def steps_at(wanted: range, stored: Sequence[Steps]) -> list[Step]:
    """The steps at these positions, as far as there are any, of one artifact."""
    return [
        Step(position, one["step"], one["tool"], one["command"], one["observation"])
        for held in stored
        for position, one in enumerate(json.loads(held.steps), held.first_position)
        if position in wanted
    ]


async def steps(
    context: Context, artifact_id: UUID, step_count: int, first: int | None, after: str | None
) -> Page[Step]:
    """A page of an artifact's steps; a cursor names a position, since an artifact never changes."""

    async def load(wanted: range) -> list[Steps]:
        return await context.load(STEPS, artifact_id, wanted[0], wanted[-1])

    return await _steps("steps", load, step_count, first, after)


async def recorded_steps(
    context: Context, execution: TrialExecution, first: int | None, after: str | None
) -> Page[Step]:
    """A page of what an execution recorded and no artifact holds: of one that is running, or was lost."""

    async def load(wanted: range) -> list[Steps]:
        return await context.load(
            RECORDED_STEPS, execution.evaluation_trial_id, execution.execution, wanted[0], wanted[-1]
        )

    return await _steps("recorded steps", load, execution.recorded_step_count, first, after)


async def _steps(
    name: str,
    load: Callable[[range], Awaitable[list[Steps]]],
    step_count: int,
    first: int | None,
    after: str | None,
) -> Page[Step]:
    size, start = page_size(first), decode_position_cursor(name, after)
    wanted = range(start + 1, start + size + 2)
    rows = steps_at(wanted, await load(wanted)) if start < step_count else []

    async def count() -> int:
        return step_count

    return page(rows, size, after is not None, lambda row: encode_cursor(name, row.position), count)
