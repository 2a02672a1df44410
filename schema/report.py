"""Capability gaps and partial rewards."""

from datetime import datetime

import strawberry

from db import reports as rows
from resolvers import reports
from resolvers.loaders import TRIAL
from resolvers.reports import ReportFilter
from schema.filters import filter_id, moment
from schema.sources import OverRow, edge
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
class CapabilityGap(OverRow):
    row = reports.CapabilityGap

    failure_category: str
    trials: int
    latest_trial: EvaluationTrial = edge(TRIAL, key="latest_trial_id")


@strawberry.type(description="Real failure_category values, counted. Nothing else.")
class CapabilityGapReport(OverRow):
    row = reports.CapabilityGapReport

    trials: int = strawberry.field(description="Trials looked at that have ended.")
    categorized: int = strawberry.field(description="Those of them with a failure category.")
    gaps: list[CapabilityGap]


@strawberry.type(description="One stage_* key over the trials whose worker wrote it.")
class PartialReward(OverRow):
    row = rows.PartialReward

    stage: str
    trials: int
    mean: float
    min: float
    max: float
    full: int = strawberry.field(description="Trials whose value is 1.")
