"""Trajectory artifacts: what an attempt left behind."""

from dataclasses import dataclass
from uuid import UUID

from db.query import Json, query


@dataclass(frozen=True, slots=True)
class ArtifactId:
    id: UUID


@dataclass(frozen=True, slots=True)
class TrajectoryArtifact:
    """`log` is a JSON string."""

    id: UUID
    evaluation_trial_id: UUID
    log: Json
    step_count: int
    has_agent_trajectory: bool


@dataclass(frozen=True, slots=True)
class Steps:
    """`steps` is a JSON array of {step, tool, command, observation}; the first of them is at `first_position`."""

    id: UUID
    first_position: int
    steps: Json


@dataclass(frozen=True, slots=True)
class ArtifactFile:
    name: str
    log: Json
    steps: Json


@dataclass(frozen=True, slots=True)
class AgentTrajectory:
    content: bytes | None


CREATE = query("artifacts.create", ArtifactId)
BY_IDS = query("artifacts.by_ids", TrajectoryArtifact)
STEPS = query("artifacts.steps", Steps)
FILE = query("artifacts.file", ArtifactFile)
AGENT_TRAJECTORY = query("artifacts.agent_trajectory", AgentTrajectory)
