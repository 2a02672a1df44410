"""Evaluation runs: one job of several attempts on one environment version."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from db.counts import Count, ParentCount
from db.query import Json, query


class RunStatus(StrEnum):
    QUEUED = "queued"
    RUNNING = "running"
    COMPLETED = "completed"  # every attempt has ended, whatever its outcome
    CANCELLED = "cancelled"  # a person stopped it
    FAILED = "failed"  # the run itself could not be carried out


class RunTrigger(StrEnum):
    EVALUATION = "evaluation"
    RESET = "reset"
    IMPORT = "import"


class ResetMode(StrEnum):
    NEW_WORKSPACE = "new_workspace"  # fresh working directory, same world seed
    NEW_WORLD = "new_world"  # fresh working directory and a new world seed


RUN_ENDED = frozenset({RunStatus.COMPLETED, RunStatus.CANCELLED, RunStatus.FAILED})


@dataclass(frozen=True, slots=True)
class EvaluationRun:
    id: UUID
    environment_version_id: UUID
    evaluator_configuration_id: UUID
    trigger: str
    reset_mode: str | None
    seed: int
    attempt_count: int
    status: str
    pass_at_k: Json
    unscored_attempts: int | None
    failure_detail: str | None
    job_id: int | None
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None


BY_IDS = query("runs.by_ids", EvaluationRun)
PAGE_NEWEST = query("runs.page_newest", EvaluationRun)
PAGE_OLDEST = query("runs.page_oldest", EvaluationRun)
COUNT = query("runs.count", Count)
PAGE_OF_VERSIONS = query("runs.page_of_versions", EvaluationRun)
COUNT_OF_VERSIONS = query("runs.count_of_versions", ParentCount)
NEWEST_OF_VERSION = query("runs.newest_of_version", EvaluationRun)
CREATE = query("runs.create", EvaluationRun)
SET_JOB = query("runs.set_job", EvaluationRun)
LOCK = query("runs.lock", EvaluationRun)
REOPEN = query("runs.reopen", EvaluationRun)
START = query("runs.start", EvaluationRun)
FINISH = query("runs.finish", EvaluationRun)
