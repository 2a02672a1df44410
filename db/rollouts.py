"""Rollouts: what training consumes, and the preference pairs among them."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from db.counts import Count
from db.query import Json, query


class RolloutKind(StrEnum):
    ALL = "all"
    SUCCESSFUL = "successful"  # reward = 1
    FAILED = "failed"  # scored below 1
    RECOVERY = "recovery"  # scored between 0 and 1


@dataclass(frozen=True, slots=True)
class RolloutId:
    id: UUID


@dataclass(frozen=True, slots=True)
class Rollout:
    id: UUID
    evaluation_trial_id: UUID
    evaluation_run_id: UUID
    environment_version_id: UUID
    seed: int
    reward: float | None
    stages: Json
    superseded: bool
    created_at: datetime


@dataclass(frozen=True, slots=True)
class PreferencePair:
    environment_version_id: UUID
    preferred: UUID
    rejected: UUID
    preferred_reward: float
    rejected_reward: float


BY_IDS = query("rollouts.by_ids", Rollout)
BY_TRIALS = query("rollouts.by_trials", Rollout)
PAGE = query("rollouts.page", Rollout)
COUNT = query("rollouts.count", Count)
CREATE = query("rollouts.create", RolloutId)
SUPERSEDE = query("rollouts.supersede", RolloutId)
PREFERENCES_OF_VERSIONS = query("rollouts.preferences_of_versions", PreferencePair)
