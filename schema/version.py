"""Environment versions."""

import json
from datetime import datetime
from typing import Self

import strawberry
from strawberry.scalars import JSON

from db import versions
from resolvers import pass_at_k, reports, runs, trials
from resolvers.loaders import (
    CAPABILITY_GAPS_OF_VERSION,
    ENVIRONMENT,
    PARTIAL_REWARDS_OF_VERSION,
    PASS_AT_K_OF_VERSION,
    PREFERENCE_OF_VERSION,
)
from schema.connection import Connection, connection
from schema.environment import Environment
from schema.info import Info
from schema.node import Node
from schema.pass_at_k import PassAtK
from schema.report import CapabilityGapReport, PartialReward
from schema.rollout import PreferencePair, RolloutExport
from schema.run import EvaluationRun, EvaluationRunFilter
from schema.trial import EvaluationTrial, EvaluationTrialFilter


@strawberry.type(description="Immutable: published once, never changed or deleted.")
class EnvironmentVersion(Node):
    version: int
    digest: str = strawberry.field(
        description="SHA-256 over the manifest in canonical JSON and the bundle's digest, lower-case hex."
    )
    manifest: JSON
    bundle_sha256: str | None
    created_at: datetime
    row: strawberry.Private[versions.EnvironmentVersion]

    @classmethod
    def of(cls, row: versions.EnvironmentVersion) -> Self:
        return cls(
            id=strawberry.ID(str(row.id)),
            version=row.version,
            digest=row.digest,
            manifest=json.loads(row.manifest),
            bundle_sha256=row.bundle_sha256,
            created_at=row.created_at,
            row=row,
        )

    @strawberry.field
    async def environment(self, info: Info) -> Environment:
        return Environment.of(await info.context.load.required(ENVIRONMENT, self.row.environment_id))

    @strawberry.field
    async def runs(
        self,
        info: Info,
        filter: EvaluationRunFilter | None = None,
        first: int | None = None,
        after: str | None = None,
    ) -> Connection[EvaluationRun]:
        page = await runs.of_version(info.context, self.row.id, EvaluationRunFilter.parse(filter), first, after)
        return connection(page, EvaluationRun.of)

    @strawberry.field
    async def trials(
        self,
        info: Info,
        filter: EvaluationTrialFilter | None = None,
        first: int | None = None,
        after: str | None = None,
    ) -> Connection[EvaluationTrial]:
        page = await trials.of_version(info.context, self.row.id, EvaluationTrialFilter.parse(filter), first, after)
        return connection(page, EvaluationTrial.of)

    @strawberry.field(description="The mean over this version's ended runs of each run's own estimate.")
    async def pass_at_k(self, info: Info) -> list[PassAtK]:
        return [
            PassAtK.of(pass_at_k.PassAtK(row.k, row.estimate, row.pass_hat_k))
            for row in await info.context.load(PASS_AT_K_OF_VERSION, self.row.id)
        ]

    @strawberry.field
    async def capability_gaps(self, info: Info) -> CapabilityGapReport:
        counts = await info.context.load(CAPABILITY_GAPS_OF_VERSION, self.row.id)
        return CapabilityGapReport.of(reports.gap_report(counts))

    @strawberry.field
    async def partial_rewards(self, info: Info) -> list[PartialReward]:
        return [PartialReward.of(row) for row in await info.context.load(PARTIAL_REWARDS_OF_VERSION, self.row.id)]

    @strawberry.field
    async def preference(self, info: Info) -> PreferencePair | None:
        row = await info.context.load(PREFERENCE_OF_VERSION, self.row.id)
        return PreferencePair.of(row) if row else None

    @strawberry.field
    async def exports(self) -> list[RolloutExport]:
        return RolloutExport.all_of(self.row.id)
