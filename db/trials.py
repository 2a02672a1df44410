"""Evaluation trials: one attempt each; status, reward and failure are separate facts."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from db.counts import Count, ParentCount
from db.query import Json, query


class TrialStatus(StrEnum):
    QUEUED = "queued"
    RUNNING = "running"
    COMPLETED = "completed"  # the agent ended by itself
    ERRORED = "errored"  # agent, environment or evaluator failed
    TIMED_OUT = "timed_out"
    CANCELLED = "cancelled"
    INTERRUPTED = "interrupted"  # its worker was lost, three times


TRIAL_OPEN = frozenset({TrialStatus.QUEUED, TrialStatus.RUNNING})


@dataclass(frozen=True, slots=True)
class EvaluationTrial:
    id: UUID
    evaluation_run_id: UUID
    environment_version_id: UUID
    attempt: int
    seed: int
    status: str
    execution: int
    lost_executions: int
    reward: float | None
    failure_category: str | None
    failure_detail: str | None
    stages: Json
    metrics: Json | None
    redactions: int
    trajectory_artifact_id: UUID | None
    job_id: int | None  # None: the run's own
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None


@dataclass(frozen=True, slots=True)
class Now:
    moment: datetime


BY_IDS = query("trials.by_ids", EvaluationTrial)
BY_RUNS = query("trials.by_runs", EvaluationTrial)
NOW = query("trials.now", Now)
FINISHED_SINCE = query("trials.finished_since", EvaluationTrial)
PAGE_NEWEST = query("trials.page_newest", EvaluationTrial)
PAGE_OLDEST = query("trials.page_oldest", EvaluationTrial)
PAGE_REWARD_HIGHEST = query("trials.page_reward_highest", EvaluationTrial)
PAGE_REWARD_LOWEST = query("trials.page_reward_lowest", EvaluationTrial)
COUNT = query("trials.count", Count)
PAGE_OF_VERSIONS = query("trials.page_of_versions", EvaluationTrial)
COUNT_OF_VERSIONS = query("trials.count_of_versions", ParentCount)
CREATE = query("trials.create", EvaluationTrial)
ADD = query("trials.add", EvaluationTrial)
RERUN = query("trials.rerun", EvaluationTrial)
CLAIM = query("trials.claim", EvaluationTrial)
RELEASE = query("trials.release", EvaluationTrial)
HOLD = query("trials.hold", EvaluationTrial)
FINISH = query("trials.finish", EvaluationTrial)
ATTACH = query("trials.attach", EvaluationTrial)
INTERRUPT = query("trials.interrupt", EvaluationTrial)
END_OPEN = query("trials.end_open", EvaluationTrial)
