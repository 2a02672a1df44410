"""Files of an agent's workspace that were kept, or left out with a reason."""

from dataclasses import dataclass
from uuid import UUID

from db.query import Json, query


@dataclass(frozen=True, slots=True)
class ArtifactFileId:
    id: UUID


@dataclass(frozen=True, slots=True)
class ArtifactFile:
    """`path` is a JSON string; `sha256` is of what is kept, None where `omitted` says why it is not."""

    id: UUID
    trajectory_artifact_id: UUID
    path: Json
    byte_size: int
    sha256: str | None
    omitted: str | None


@dataclass(frozen=True, slots=True)
class FileContent:
    path: Json
    sha256: str
    content: bytes


CREATE = query("artifact_files.create", ArtifactFileId)
OF_ARTIFACTS = query("artifact_files.of_artifacts", ArtifactFile)
CONTENT = query("artifact_files.content", FileContent)
