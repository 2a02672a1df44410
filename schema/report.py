"""Capability gaps and partial rewards."""

from datetime import datetime
from typing import Self
from uuid import UUID

import strawberry

from db import reports as rows
from resolvers import reports
from resolvers.loaders import TRIAL
from resolvers.reports import ReportFilter
from schema.filters import filter_id, moment
from schema.info import Info
from schema.trial import EvaluationTrial


@strawberry.input
class CapabilityGapFilter:
    environment_version_id: strawberry.ID | None = None
    environment_id: strawberry.ID | None = None
    evaluator_configuration_id: strawberry.ID | None = None
    created_after: datetime | None = None
    created_before: datetime | None = None


@strawberry.input
class PartialRewardFilter:
    environment_version_id: strawberry.ID | None = None
    environment_id: strawberry.ID | None = None
    evaluator_configuration_id: strawberry.ID | None = None
    created_after: datetime | None = None
    created_before: datetime | None = None


def parse_report_filter(given: CapabilityGapFilter | PartialRewardFilter | None) -> ReportFilter:
    if given is None:
        return ReportFilter()
    return ReportFilter(
        environment_version_id=filter_id(given.environment_version_id, "environmentVersionId"),
        environment_id=filter_id(given.environment_id, "environmentId"),
        evaluator_configuration_id=filter_id(given.evaluator_configuration_id, "evaluatorConfigurationId"),
        created_after=moment(given.created_after, "createdAfter"),
        created_before=moment(given.created_before, "createdBefore"),
    )


@strawberry.type
class CapabilityGap:
    failure_category: str
    trials: int
    latest_trial_id: strawberry.Private[UUID]

    @classmethod
    def of(cls, gap: reports.CapabilityGap) -> Self:
        return cls(failure_category=gap.failure_category, trials=gap.trials, latest_trial_id=gap.latest_trial_id)

    @strawberry.field
    async def latest_trial(self, info: Info) -> EvaluationTrial:
        return EvaluationTrial.of(await info.context.load.required(TRIAL, self.latest_trial_id))


@strawberry.type(description="Real failure_category values, counted. Nothing else.")
class CapabilityGapReport:
    trials: int = strawberry.field(description="Trials looked at that have ended.")
    categorized: int = strawberry.field(description="Those of them with a failure category.")
    gaps: list[CapabilityGap]

    @classmethod
    def of(cls, report: reports.CapabilityGapReport) -> Self:
        return cls(
            trials=report.trials,
            categorized=report.categorized,
            gaps=[CapabilityGap.of(gap) for gap in report.gaps],
        )


@strawberry.type(description="One stage_* key over the trials whose worker wrote it.")
class PartialReward:
    stage: str
    trials: int
    mean: float
    min: float
    max: float
    full: int = strawberry.field(description="Trials whose value is 1.")

    @classmethod
    def of(cls, row: rows.PartialReward) -> Self:
        return cls(stage=row.stage, trials=row.trials, mean=row.mean, min=row.min, max=row.max, full=row.full)
