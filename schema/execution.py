"""Executions: every start of an attempt."""

from datetime import datetime

import strawberry
from strawberry.scalars import JSON

from db import executions
from db.executions import ExecutionStatus
from resolvers import trials
from resolvers.loaders import ARTIFACT
from schema.connection import Connection, connection
from schema.info import Info
from schema.sources import OverRow, edge, stored
from schema.stage import Stage
from schema.trajectory import Step, Trajectory

strawberry.enum(ExecutionStatus)


@strawberry.type(description="One start of an attempt, and what came of it; the latest is what the attempt came to.")
class TrialExecution(OverRow):
    row = executions.TrialExecution

    execution: int = strawberry.field(description="1 for the first start, the next for each further one.")
    worker: str | None = strawberry.field(description="Who began it: host and process.")
    status: ExecutionStatus
    reward: float | None
    failure_category: str | None
    failure_detail: str | None
    stages: list[Stage] = stored("stages", Stage)
    metrics: JSON | None = stored("metrics")
    started_at: datetime
    ended_at: datetime | None
    trajectory: Trajectory | None = edge(
        ARTIFACT, key="trajectory_artifact_id", description="Of an execution that came to an end."
    )
    recorded_step_count: int = strawberry.field(
        description="Steps recorded so far; 0 when the trajectory has taken their place."
    )

    @strawberry.field(description="What one that is running has recorded so far, or one that was lost had recorded.")
    async def recorded_steps(
        self,
        info: Info,
        root: strawberry.Parent[executions.TrialExecution],
        first: int | None = None,
        after: str | None = None,
    ) -> Connection[Step]:
        return connection(await trials.recorded_steps(info.context, root, first, after))
