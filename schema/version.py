"""Environment versions."""

from datetime import datetime

import strawberry
from strawberry.scalars import JSON

from db import versions
from resolvers.loaders import (
    CAPABILITY_GAPS_OF_VERSION,
    ENVIRONMENT,
    PARTIAL_REWARDS_OF_VERSION,
    PASS_AT_K_OF_VERSION,
    PREFERENCE_OF_VERSION,
)
from resolvers.reports import gap_report
from schema.connection import Connection
from schema.environment import Environment
from schema.node import Node
from schema.pass_at_k import PassAtK
from schema.report import CapabilityGapReport, PartialReward
from schema.rollout import PreferencePair, RolloutExport
from schema.run import EvaluationRun, runs_of_version
from schema.sources import OverRow, computed, edge, listed, stored
from schema.trial import EvaluationTrial, trials_of_version


@strawberry.type(description="Immutable: published once, never changed or deleted.")
class EnvironmentVersion(OverRow, Node):
    row = versions.EnvironmentVersion

    version: int
    digest: str = strawberry.field(
        description="SHA-256 over the manifest in canonical JSON and the bundle's digest, lower-case hex."
    )
    manifest: JSON = stored("manifest")
    bundle_sha256: str | None
    created_at: datetime
    environment: Environment = edge(ENVIRONMENT, key="environment_id")
    runs: Connection[EvaluationRun] = listed(runs_of_version, key="id")
    trials: Connection[EvaluationTrial] = listed(trials_of_version, key="id")
    pass_at_k: list[PassAtK] = edge(
        PASS_AT_K_OF_VERSION,
        key="id",
        description="The mean over this version's ended runs of each run's own estimate.",
    )
    capability_gaps: CapabilityGapReport = edge(CAPABILITY_GAPS_OF_VERSION, key="id", of=gap_report)
    partial_rewards: list[PartialReward] = edge(PARTIAL_REWARDS_OF_VERSION, key="id")
    preference: PreferencePair | None = edge(PREFERENCE_OF_VERSION, key="id")
    exports: list[RolloutExport] = computed(lambda id: RolloutExport.all_of(id))
