"""Evaluator configurations."""

from datetime import datetime

import strawberry

from db import configurations
from schema.node import Node
from schema.sources import OverRow


@strawberry.type
class EvaluatorConfiguration(OverRow, Node):
    row = configurations.EvaluatorConfiguration

    name: str
    attempt_count: int = strawberry.field(description="1 to 8 independent trials in one job.")
    agent_command: list[str]
    secrets: list[str] = strawberry.field(description="Names of secrets that the agent gets as variables.")
    created_at: datetime
