"""Reports over trials: capability gaps and partial rewards, counted from what workers stored."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from db import reports
from db.reports import CategoryCount, PartialReward
from db.tenant import Tenant


@dataclass(frozen=True, slots=True)
class ReportFilter:
    """Which trials to look at; None asks nothing."""

    environment_version_id: UUID | None = None
    environment_id: UUID | None = None
    evaluator_configuration_id: UUID | None = None
    created_after: datetime | None = None
    created_before: datetime | None = None

    def arguments(self) -> tuple[object, ...]:
        return (
            self.environment_version_id,
            self.environment_id,
            self.evaluator_configuration_id,
            self.created_after,
            self.created_before,
        )


@dataclass(frozen=True, slots=True)
class CapabilityGap:
    failure_category: str
    trials: int
    latest_trial_id: UUID


@dataclass(frozen=True, slots=True)
class CapabilityGapReport:
    """`trials` have ended; `categorized` of them have a category. Most frequent first, then by name."""

    trials: int
    categorized: int
    gaps: tuple[CapabilityGap, ...]


def gap_report(counts: Sequence[CategoryCount]) -> CapabilityGapReport:
    gaps = tuple(
        CapabilityGap(count.failure_category, count.trials, count.latest_trial_id)
        for count in counts
        if count.failure_category is not None
    )
    return CapabilityGapReport(sum(count.trials for count in counts), sum(gap.trials for gap in gaps), gaps)


async def capability_gaps(tenant: Tenant, report_filter: ReportFilter) -> CapabilityGapReport:
    return gap_report(await tenant.fetch(reports.CAPABILITY_GAPS, *report_filter.arguments()))


async def partial_rewards(tenant: Tenant, report_filter: ReportFilter) -> list[PartialReward]:
    return await tenant.fetch(reports.PARTIAL_REWARDS, *report_filter.arguments())
