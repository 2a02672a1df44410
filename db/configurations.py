"""Evaluator configurations: which agent to run, and how often."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from db.counts import Count
from db.query import query


@dataclass(frozen=True, slots=True)
class EvaluatorConfiguration:
    """`secrets` are names of secrets that the agent gets as variables."""

    id: UUID
    name: str
    attempt_count: int
    agent_command: list[str]
    secrets: list[str]
    created_at: datetime


BY_IDS = query("configurations.by_ids", EvaluatorConfiguration)
BY_NAME = query("configurations.by_name", EvaluatorConfiguration)
PAGE = query("configurations.page", EvaluatorConfiguration)
COUNT = query("configurations.count", Count)
CREATE = query("configurations.create", EvaluatorConfiguration)
