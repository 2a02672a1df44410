"""Evaluation runs."""

from datetime import datetime
from enum import Enum
from typing import TYPE_CHECKING, Annotated, Self

import strawberry

from db import runs
from db.runs import ResetMode, RunStatus, RunTrigger
from resolvers import pass_at_k
from resolvers.loaders import CONFIGURATION, TRIALS_OF_RUN, VERSION
from resolvers.runs import RunFilter
from schema.configuration import EvaluatorConfiguration
from schema.filters import filter_id, moment, values
from schema.info import Info
from schema.node import Node
from schema.pass_at_k import PassAtK
from schema.scalars import BigInt

if TYPE_CHECKING:
    from schema.trial import EvaluationTrial
    from schema.version import EnvironmentVersion

for _closed_set in (ResetMode, RunStatus, RunTrigger):
    strawberry.enum(_closed_set)


@strawberry.enum
class EvaluationRunOrder(Enum):
    NEWEST = "newest"
    OLDEST = "oldest"


@strawberry.input
class EvaluationRunFilter:
    environment_version_id: strawberry.ID | None = None
    evaluator_configuration_id: strawberry.ID | None = None
    status: list[RunStatus] | None = None
    trigger: RunTrigger | None = None
    created_after: datetime | None = None
    created_before: datetime | None = None

    @staticmethod
    def parse(given: "EvaluationRunFilter | None") -> RunFilter:
        if given is None:
            return RunFilter()
        return RunFilter(
            environment_version_id=filter_id(given.environment_version_id, "environmentVersionId"),
            evaluator_configuration_id=filter_id(given.evaluator_configuration_id, "evaluatorConfigurationId"),
            status=values(given.status),
            trigger=given.trigger.value if given.trigger else None,
            created_after=moment(given.created_after, "createdAfter"),
            created_before=moment(given.created_before, "createdBefore"),
        )


@strawberry.type
class EvaluationRun(Node):
    trigger: RunTrigger
    reset_mode: ResetMode | None = strawberry.field(description="Set on a reset only.")
    seed: BigInt
    attempt_count: int
    status: RunStatus
    pass_at_k: list[PassAtK] = strawberry.field(
        description="Empty until the run has ended; then k = 1 to the number of attempts."
    )
    unscored_attempts: int | None = strawberry.field(
        description="Attempts that errored or were never scored; they count as not passed. Null until the run ended."
    )
    failure_detail: str | None = strawberry.field(description="Why the run could not be carried out.")
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    row: strawberry.Private[runs.EvaluationRun]

    @classmethod
    def of(cls, row: runs.EvaluationRun) -> Self:
        return cls(
            id=strawberry.ID(str(row.id)),
            trigger=RunTrigger(row.trigger),
            reset_mode=ResetMode(row.reset_mode) if row.reset_mode else None,
            seed=BigInt(row.seed),
            attempt_count=row.attempt_count,
            status=RunStatus(row.status),
            pass_at_k=[PassAtK.of(estimate) for estimate in pass_at_k.decode(row.pass_at_k)],
            unscored_attempts=row.unscored_attempts,
            failure_detail=row.failure_detail,
            created_at=row.created_at,
            started_at=row.started_at,
            finished_at=row.finished_at,
            row=row,
        )

    @strawberry.field
    async def environment_version(
        self, info: Info
    ) -> Annotated["EnvironmentVersion", strawberry.lazy("schema.version")]:
        from schema.version import EnvironmentVersion

        return EnvironmentVersion.of(await info.context.load.required(VERSION, self.row.environment_version_id))

    @strawberry.field
    async def evaluator_configuration(self, info: Info) -> EvaluatorConfiguration:
        row = await info.context.load.required(CONFIGURATION, self.row.evaluator_configuration_id)
        return EvaluatorConfiguration.of(row)

    @strawberry.field
    async def trials(self, info: Info) -> list[Annotated["EvaluationTrial", strawberry.lazy("schema.trial")]]:
        from schema.trial import EvaluationTrial

        return [EvaluationTrial.of(row) for row in await info.context.load(TRIALS_OF_RUN, self.row.id)]
