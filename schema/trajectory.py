"""Trajectories: what an attempt said and did."""

from typing import cast

import orjson
import strawberry
from strawberry.scalars import JSON

from db import artifact_files
from db.artifacts import TrajectoryArtifact
from db.atif_verdicts import AtifVerdict
from resolvers import trials
from resolvers.loaders import ATIF_DOCUMENT, ATIF_OF_ARTIFACT, FILES_OF_ARTIFACT
from schema.connection import Connection, connection
from schema.info import Info
from schema.scalars import BigInt
from schema.sources import OverRow, computed, edge, stored


@strawberry.type
class Step(OverRow):
    row = trials.Step

    step: int
    tool: str
    command: str
    observation: str


@strawberry.type(
    description="A trajectory.json that the agent left, as one in the Agent Trajectory Interchange Format."
)
class Atif(OverRow):
    row = AtifVerdict

    valid: bool
    version: str | None = strawberry.field(description="The schema_version that it names.")
    errors: list[str] = strawberry.field(description="Why it is not valid: the first 20, and how many more.")
    url: str | None = computed(
        lambda trajectory_artifact_id, is_kept: _agent_trajectory_url(trajectory_artifact_id, is_kept),
        description="Path of its bytes on this service; null for what was too large, or no file.",
    )

    @strawberry.field(description="As the agent wrote it, also where it is not valid; null for what is not JSON.")
    async def document(self, info: Info, root: strawberry.Parent[AtifVerdict]) -> JSON | None:
        found = await info.context.load(ATIF_DOCUMENT, root.trajectory_artifact_id)
        # On one line, which events need; in JSON a line break is only space between tokens.
        text = found and orjson.Fragment(found.document.replace("\n", " ").replace("\r", " "))
        return cast("JSON | None", text)


@strawberry.type(description="A file of the agent's workspace that the manifest's `artifacts` name.")
class ArtifactFile(OverRow):
    row = artifact_files.ArtifactFile

    path: str = stored("path", description="Bytes that are no UTF-8 are lone surrogates, U+DC80 to U+DCFF.")
    bytes: BigInt = computed(lambda byte_size: byte_size, description="Of what is kept, or of the file left out.")
    sha256: str | None = strawberry.field(description="Of what is kept, from which secrets have been taken.")
    url: str | None = computed(
        lambda id, trajectory_artifact_id, sha256: (
            f"/api/v1/artifacts/{trajectory_artifact_id}/files/{id}" if sha256 else None
        ),
        description="Path of its bytes on this service.",
    )
    omitted: str | None = strawberry.field(description="Why it was left out.")


def _agent_trajectory_url(artifact_id: object, is_kept: bool) -> str | None:
    return f"/api/v1/artifacts/{artifact_id}/agent-trajectory" if is_kept else None


@strawberry.type
class Trajectory(OverRow):
    row = TrajectoryArtifact

    artifact_id: strawberry.ID = computed(lambda id: id)
    artifact_url: str = computed(
        lambda id: f"/api/v1/artifacts/{id}", description="Path of the artifact's file on this service."
    )
    agent_trajectory_url: str | None = computed(
        lambda id, has_agent_trajectory: _agent_trajectory_url(id, has_agent_trajectory),
        description="Path of the trajectory.json that the agent itself left, byte for byte.",
    )
    atif: Atif | None = edge(ATIF_OF_ARTIFACT, key="id", description="Null when the agent left none.")
    files: list[ArtifactFile] = edge(
        FILES_OF_ARTIFACT, key="id", description="Files that the manifest's `artifacts` name, in order of their paths."
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
