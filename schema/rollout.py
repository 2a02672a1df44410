"""Rollouts, preference pairs and exports."""

from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Self
from urllib.parse import urlencode
from uuid import UUID

import strawberry

from db import rollouts
from db.rollouts import RolloutKind
from resolvers.loaders import ROLLOUT, RUN, TRIAL, VERSION
from resolvers.rollouts import ExportKind, RolloutFilter
from schema.filters import filter_id, moment
from schema.info import Info
from schema.node import Node
from schema.run import EvaluationRun
from schema.scalars import BigInt
from schema.stage import Stage
from schema.trial import EvaluationTrial

if TYPE_CHECKING:
    from schema.version import EnvironmentVersion

strawberry.enum(RolloutKind)
strawberry.enum(ExportKind, name="RolloutExportKind")


@strawberry.input(name="RolloutFilter")
class RolloutFilterInput:
    environment_version_id: strawberry.ID | None = None
    evaluation_run_id: strawberry.ID | None = None
    created_after: datetime | None = None
    created_before: datetime | None = None

    @staticmethod
    def parse(given: "RolloutFilterInput | None") -> RolloutFilter:
        if given is None:
            return RolloutFilter()
        return RolloutFilter(
            environment_version_id=filter_id(given.environment_version_id, "environmentVersionId"),
            evaluation_run_id=filter_id(given.evaluation_run_id, "evaluationRunId"),
            created_after=moment(given.created_after, "createdAfter"),
            created_before=moment(given.created_before, "createdBefore"),
        )


@strawberry.type
class Rollout(Node):
    seed: BigInt
    reward: float | None
    stages: list[Stage]
    created_at: datetime
    row: strawberry.Private[rollouts.Rollout]

    @classmethod
    def of(cls, row: rollouts.Rollout) -> Self:
        return cls(
            id=strawberry.ID(str(row.id)),
            seed=BigInt(row.seed),
            reward=row.reward,
            stages=Stage.all_of(row.stages),
            created_at=row.created_at,
            row=row,
        )

    @strawberry.field
    async def trial(self, info: Info) -> EvaluationTrial:
        return EvaluationTrial.of(await info.context.load.required(TRIAL, self.row.evaluation_trial_id))

    @strawberry.field
    async def environment_version(
        self, info: Info
    ) -> Annotated["EnvironmentVersion", strawberry.lazy("schema.version")]:
        from schema.version import EnvironmentVersion

        return EnvironmentVersion.of(await info.context.load.required(VERSION, self.row.environment_version_id))

    @strawberry.field
    async def evaluation_run(self, info: Info) -> EvaluationRun:
        return EvaluationRun.of(await info.context.load.required(RUN, self.row.evaluation_run_id))


@strawberry.type(
    description="The highest against the lowest scored rollout of one environment version; "
    "null where they do not differ."
)
class PreferencePair:
    preferred_reward: float
    rejected_reward: float
    row: strawberry.Private[rollouts.PreferencePair]

    @classmethod
    def of(cls, row: rollouts.PreferencePair) -> Self:
        return cls(preferred_reward=row.preferred_reward, rejected_reward=row.rejected_reward, row=row)

    @strawberry.field
    async def preferred(self, info: Info) -> Rollout:
        return Rollout.of(await info.context.load.required(ROLLOUT, self.row.preferred))

    @strawberry.field
    async def rejected(self, info: Info) -> Rollout:
        return Rollout.of(await info.context.load.required(ROLLOUT, self.row.rejected))


@strawberry.type
class RolloutExport:
    kind: ExportKind
    url: str = strawberry.field(description="Path of the export on this service.")
    filename: str

    @classmethod
    def all_of(cls, environment_version_id: UUID) -> list[Self]:
        return [
            cls(
                kind=kind,
                url="/api/v1/rollouts?" + urlencode({"kind": kind, "environmentVersionId": environment_version_id}),
                filename=kind.filename,
            )
            for kind in ExportKind
        ]
