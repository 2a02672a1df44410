"""Counts over trials: capability gaps and partial rewards."""

from dataclasses import dataclass
from uuid import UUID

from db.query import query


@dataclass(frozen=True, slots=True)
class CategoryCount:
    """Ended trials with one failure category; without a category where it is None."""

    failure_category: str | None
    trials: int
    latest_trial_id: UUID


@dataclass(frozen=True, slots=True)
class VersionCategoryCount(CategoryCount):
    environment_version_id: UUID


@dataclass(frozen=True, slots=True)
class PartialReward:
    """One stage_* key over the trials whose worker wrote it; `full` counts the values that are 1."""

    stage: str
    trials: int
    mean: float
    min: float
    max: float
    full: int


@dataclass(frozen=True, slots=True)
class VersionPartialReward(PartialReward):
    environment_version_id: UUID


CAPABILITY_GAPS = query("reports.capability_gaps", CategoryCount)
CAPABILITY_GAPS_OF_VERSIONS = query("reports.capability_gaps_of_versions", VersionCategoryCount)
PARTIAL_REWARDS = query("reports.partial_rewards", PartialReward)
PARTIAL_REWARDS_OF_VERSIONS = query("reports.partial_rewards_of_versions", VersionPartialReward)
