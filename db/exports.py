"""What leaves as lines, put together in the database."""

from dataclasses import dataclass

from db.query import query


@dataclass(frozen=True, slots=True)
class Line:
    """One JSON object, without the line's end."""

    line: str


ROLLOUTS = query("exports.rollouts", Line)
PREFERENCES = query("exports.preferences", Line)
ROLLOUT = query("exports.rollout", Line)
