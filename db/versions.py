"""Environment versions: immutable manifests, each with its bundle of files."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from db.counts import ParentCount
from db.query import Json, query


@dataclass(frozen=True, slots=True)
class EnvironmentVersion:
    id: UUID
    environment_id: UUID
    version: int
    digest: str
    manifest: Json
    bundle_sha256: str | None
    created_at: datetime


@dataclass(frozen=True, slots=True)
class VersionPassAtK:
    environment_version_id: UUID
    k: int
    estimate: float | None
    pass_hat_k: float | None


BY_IDS = query("versions.by_ids", EnvironmentVersion)
LATEST_OF_ENVIRONMENTS = query("versions.latest_of_environments", EnvironmentVersion)
PAGE_OF_ENVIRONMENTS = query("versions.page_of_environments", EnvironmentVersion)
COUNT_OF_ENVIRONMENTS = query("versions.count_of_environments", ParentCount)
BY_DIGEST = query("versions.by_digest", EnvironmentVersion)
PUBLISH = query("versions.publish", EnvironmentVersion)
PASS_AT_K = query("versions.pass_at_k", VersionPassAtK)
