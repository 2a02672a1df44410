"""Evaluation runs."""

from datetime import datetime
from enum import Enum
from typing import TYPE_CHECKING, Annotated

import strawberry

from db import runs
from db.runs import ResetMode, RunStatus, RunTrigger
from resolvers.loaders import CONFIGURATION, TRIALS_OF_RUN, VERSION
from resolvers.pages import Listing
from resolvers.runs import RunFilter, in_order, of_version
from schema.configuration import EvaluatorConfiguration
from schema.filters import filter_id, moment, values
from schema.node import Node
from schema.pass_at_k import PassAtK
from schema.scalars import BigInt
from schema.sources import OverRow, edge, stored

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


def runs_in_order(
    filter: EvaluationRunFilter | None = None,
    order_by: EvaluationRunOrder | None = None,
    first: int | None = None,
    after: str | None = None,
) -> Listing[runs.EvaluationRun]:
    order = (order_by or EvaluationRunOrder.NEWEST).value
    return in_order(EvaluationRunFilter.parse(filter), order, first, after)


def runs_of_version(
    filter: EvaluationRunFilter | None = None, first: int | None = None, after: str | None = None
) -> Listing[runs.EvaluationRun]:
    return of_version(EvaluationRunFilter.parse(filter), first, after)


@strawberry.type
class EvaluationRun(OverRow, Node):
    row = runs.EvaluationRun

    trigger: RunTrigger
    reset_mode: ResetMode | None = strawberry.field(description="Set on a reset only.")
    seed: BigInt
    attempt_count: int = strawberry.field(description="Those of its start and those that were added.")
    status: RunStatus
    pass_at_k: list[PassAtK] = stored(
        "pass_at_k",
        PassAtK,
        description="Empty while the run is open; then k = 1 to the number of attempts.",
    )
    unscored_attempts: int | None = strawberry.field(
        description="Attempts that errored or were never scored; they count as not passed. Null while the run is open."
    )
    failure_detail: str | None = strawberry.field(description="Why the run could not be carried out.")
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    environment_version: Annotated["EnvironmentVersion", strawberry.lazy("schema.version")] = edge(
        VERSION, key="environment_version_id"
    )
    evaluator_configuration: EvaluatorConfiguration = edge(CONFIGURATION, key="evaluator_configuration_id")
    trials: list[Annotated["EvaluationTrial", strawberry.lazy("schema.trial")]] = edge(TRIALS_OF_RUN, key="id")
