"""Trajectories: what an attempt said and did."""

import json
from typing import Self

import strawberry

from db.artifacts import TrajectoryArtifact
from resolvers import trials
from schema.connection import Connection, connection
from schema.info import Info


@strawberry.type
class Step:
    step: int
    tool: str
    command: str
    observation: str

    @classmethod
    def of(cls, row: trials.Step) -> Self:
        return cls(step=row.step, tool=row.tool, command=row.command, observation=row.observation)


@strawberry.type
class Trajectory:
    artifact_id: strawberry.ID
    artifact_url: str = strawberry.field(description="Path of the artifact's file on this service.")
    agent_trajectory_url: str | None = strawberry.field(
        description="Path of the trajectory.json that the agent itself left, byte for byte."
    )
    log: str
    step_count: int
    row: strawberry.Private[TrajectoryArtifact]

    @classmethod
    def of(cls, row: TrajectoryArtifact) -> Self:
        url = f"/api/v1/artifacts/{row.id}"
        return cls(
            artifact_id=strawberry.ID(str(row.id)),
            artifact_url=url,
            agent_trajectory_url=f"{url}/agent-trajectory" if row.has_agent_trajectory else None,
            log=json.loads(row.log),
            step_count=row.step_count,
            row=row,
        )

    @strawberry.field
    async def steps(self, info: Info, first: int | None = None, after: str | None = None) -> Connection[Step]:
        page = await trials.steps(info.context, self.row.id, self.row.step_count, first, after)
        return connection(page, Step.of)
