"""Trajectories: what an attempt said and did."""

import strawberry

from db.artifacts import TrajectoryArtifact
from resolvers import trials
from schema.connection import Connection, connection
from schema.info import Info
from schema.sources import OverRow, computed, stored


@strawberry.type
class Step(OverRow):
    row = trials.Step

    step: int
    tool: str
    command: str
    observation: str


@strawberry.type
class Trajectory(OverRow):
    row = TrajectoryArtifact

    artifact_id: strawberry.ID = computed(lambda id: id)
    artifact_url: str = computed(
        lambda id: f"/api/v1/artifacts/{id}", description="Path of the artifact's file on this service."
    )
    agent_trajectory_url: str | None = computed(
        lambda id, has_agent_trajectory: f"/api/v1/artifacts/{id}/agent-trajectory" if has_agent_trajectory else None,
        description="Path of the trajectory.json that the agent itself left, byte for byte.",
    )
    log: str = stored("log")
    step_count: int

    @strawberry.field
    async def steps(
        self,
        info: Info,
        root: strawberry.Parent[TrajectoryArtifact],
        first: int | None = None,
        after: str | None = None,
    ) -> Connection[Step]:
        page = await trials.steps(info.context, root.id, root.step_count, first, after)
        return connection(page)
