"""What leaves as lines, put together in the database."""

from dataclasses import dataclass
from datetime import datetime

from db.query import query


@dataclass(frozen=True, slots=True)
class Line:
    """One JSON object, without the line's end."""

    line: str


@dataclass(frozen=True, slots=True)
class LineCount:
    lines: int


@dataclass(frozen=True, slots=True)
class Snapshot:
    taken_at: datetime


SNAPSHOT = query("exports.snapshot", Snapshot)
ROLLOUTS = query("exports.rollouts", Line)
COUNT_ROLLOUTS = query("exports.count_rollouts", LineCount)
PREFERENCES = query("exports.preferences", Line)
COUNT_PREFERENCES = query("exports.count_preferences", LineCount)
ATIF = query("exports.atif", Line)
RECORDED = query("exports.recorded", Line)
COUNT_WITHOUT_STEPS = query("exports.count_without_steps", LineCount)
PAIRS_EXTREME = query("exports.pairs_extreme", Line)
PAIRS_ALL = query("exports.pairs_all", Line)
ROLLOUT = query("exports.rollout", Line)
