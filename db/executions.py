"""Executions: every start of an attempt, and what a running one has recorded so far."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from db.artifacts import Steps
from db.query import Json, query


class ExecutionStatus(StrEnum):
    RUNNING = "running"
    COMPLETED = "completed"
    ERRORED = "errored"
    TIMED_OUT = "timed_out"
    CANCELLED = "cancelled"
    LOST = "lost"  # with its worker
    HANDED_BACK = "handed_back"  # by a worker that stopped


@dataclass(frozen=True, slots=True)
class TrialExecution:
    """One start of a trial; `recorded_step_count` counts steps that no artifact has taken the place of."""

    evaluation_trial_id: UUID
    execution: int
    worker: str | None
    status: str
    reward: float | None
    failure_category: str | None
    failure_detail: str | None
    stages: Json
    metrics: Json | None
    trajectory_artifact_id: UUID | None
    started_at: datetime
    ended_at: datetime | None
    recorded_step_count: int


@dataclass(frozen=True, slots=True)
class Held:
    is_held: bool


BY_TRIALS = query("executions.by_trials", TrialExecution)
IS_HELD = query("executions.is_held", Held)
RECORD = query("executions.record", Held)
STEPS = query("executions.steps", Steps)
