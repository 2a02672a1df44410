"""Evaluation trials."""

import json
from datetime import datetime
from enum import Enum
from typing import TYPE_CHECKING, Annotated, Self

import strawberry
from strawberry.scalars import JSON

from db import trials
from db.trials import TrialStatus
from resolvers.loaders import ARTIFACT, ROLLOUT_OF_TRIAL, RUN, VERSION
from resolvers.names import check_text
from resolvers.trials import TrialFilter
from schema.filters import filter_id, filter_text, moment, values
from schema.info import Info
from schema.node import Node
from schema.run import EvaluationRun
from schema.scalars import BigInt
from schema.stage import Stage
from schema.trajectory import Trajectory

if TYPE_CHECKING:
    from schema.rollout import Rollout
    from schema.version import EnvironmentVersion

strawberry.enum(TrialStatus)


@strawberry.enum
class EvaluationTrialOrder(Enum):
    NEWEST = "newest"
    OLDEST = "oldest"
    REWARD_HIGHEST = "reward_highest"
    REWARD_LOWEST = "reward_lowest"


@strawberry.input
class EvaluationTrialFilter:
    environment_version_id: strawberry.ID | None = None
    evaluation_run_id: strawberry.ID | None = None
    status: list[TrialStatus] | None = None
    failure_category: list[str] | None = None
    scored: bool | None = None
    reward_at_least: float | None = None
    reward_below: float | None = None
    stage: str | None = None
    stage_below: float | None = strawberry.field(default=None, description="Of the stage that `stage` names.")
    created_after: datetime | None = None
    created_before: datetime | None = None

    @staticmethod
    def parse(given: "EvaluationTrialFilter | None") -> TrialFilter:
        if given is None:
            return TrialFilter()
        return TrialFilter(
            environment_version_id=filter_id(given.environment_version_id, "environmentVersionId"),
            evaluation_run_id=filter_id(given.evaluation_run_id, "evaluationRunId"),
            status=values(given.status),
            failure_category=None
            if given.failure_category is None
            else tuple(check_text(category, "filter", "failureCategory") for category in given.failure_category),
            scored=given.scored,
            reward_at_least=given.reward_at_least,
            reward_below=given.reward_below,
            stage=filter_text(given.stage, "stage"),
            stage_below=given.stage_below,
            created_after=moment(given.created_after, "createdAfter"),
            created_before=moment(given.created_before, "createdBefore"),
        )


@strawberry.type(description="One attempt. Status, reward and failure are separate facts.")
class EvaluationTrial(Node):
    attempt: int = strawberry.field(description="1 to the run's attemptCount.")
    seed: BigInt
    status: TrialStatus
    reward: float | None = strawberry.field(description="Null when unscored.")
    failure_category: str | None
    failure_detail: str | None
    stages: list[Stage] = strawberry.field(description="The stage_* keys that the worker wrote; empty until it did.")
    metrics: JSON | None
    execution: int = strawberry.field(description="How often a worker has started this attempt.")
    started_at: datetime | None
    finished_at: datetime | None
    row: strawberry.Private[trials.EvaluationTrial]

    @classmethod
    def of(cls, row: trials.EvaluationTrial) -> Self:
        return cls(
            id=strawberry.ID(str(row.id)),
            attempt=row.attempt,
            seed=BigInt(row.seed),
            status=TrialStatus(row.status),
            reward=row.reward,
            failure_category=row.failure_category,
            failure_detail=row.failure_detail,
            stages=Stage.all_of(row.stages),
            metrics=None if row.metrics is None else json.loads(row.metrics),
            execution=row.execution,
            started_at=row.started_at,
            finished_at=row.finished_at,
            row=row,
        )

    @strawberry.field
    async def run(self, info: Info) -> EvaluationRun:
        return EvaluationRun.of(await info.context.load.required(RUN, self.row.evaluation_run_id))

    @strawberry.field
    async def environment_version(
        self, info: Info
    ) -> Annotated["EnvironmentVersion", strawberry.lazy("schema.version")]:
        from schema.version import EnvironmentVersion

        return EnvironmentVersion.of(await info.context.load.required(VERSION, self.row.environment_version_id))

    @strawberry.field
    async def trajectory(self, info: Info) -> Trajectory | None:
        if self.row.trajectory_artifact_id is None:
            return None
        return Trajectory.of(await info.context.load.required(ARTIFACT, self.row.trajectory_artifact_id))

    @strawberry.field
    async def rollout(self, info: Info) -> Annotated["Rollout", strawberry.lazy("schema.rollout")] | None:
        from schema.rollout import Rollout

        row = await info.context.load(ROLLOUT_OF_TRIAL, self.row.id)
        return Rollout.of(row) if row else None
