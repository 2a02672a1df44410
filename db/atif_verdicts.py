"""What was found out about the trajectory that an agent left: whether it is one in ATIF."""

from dataclasses import dataclass
from uuid import UUID

from db.query import query


@dataclass(frozen=True, slots=True)
class VerdictId:
    trajectory_artifact_id: UUID


@dataclass(frozen=True, slots=True)
class AtifVerdict:
    """`version` is the schema_version that it names; `is_kept` tells whether its bytes are there."""

    trajectory_artifact_id: UUID
    valid: bool
    version: str | None
    errors: list[str]
    is_kept: bool


@dataclass(frozen=True, slots=True)
class AtifDocument:
    """`document` is JSON text as the agent wrote it."""

    id: UUID
    document: str


CREATE = query("atif_verdicts.create", VerdictId)
OF_ARTIFACTS = query("atif_verdicts.of_artifacts", AtifVerdict)
DOCUMENTS = query("atif_verdicts.documents", AtifDocument)
