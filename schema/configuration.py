"""Evaluator configurations."""

from datetime import datetime
from typing import Self

import strawberry

from db import configurations
from schema.node import Node


@strawberry.type
class EvaluatorConfiguration(Node):
    name: str
    attempt_count: int = strawberry.field(description="1 to 8 independent trials in one job.")
    agent_command: list[str]
    created_at: datetime

    @classmethod
    def of(cls, row: configurations.EvaluatorConfiguration) -> Self:
        return cls(
            id=strawberry.ID(str(row.id)),
            name=row.name,
            attempt_count=row.attempt_count,
            agent_command=row.agent_command,
            created_at=row.created_at,
        )
