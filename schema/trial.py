"""Evaluation trials."""

from datetime import datetime
from enum import Enum
from typing import TYPE_CHECKING, Annotated

import strawberry
from strawberry.scalars import JSON

from db import trials
from db.trials import TrialStatus
from resolvers.loaders import ARTIFACT, EXECUTIONS_OF_TRIAL, ROLLOUT_OF_TRIAL, RUN, VERSION
from resolvers.names import check_text
from resolvers.pages import Listing
from resolvers.trials import TrialFilter, in_order, of_version
from schema.execution import TrialExecution
from schema.filters import filter_id, filter_text, filter_words, moment, values
from schema.node import Node
from schema.run import EvaluationRun
from schema.scalars import BigInt
from schema.sources import OverRow, edge, stored
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
    text: str | None = strawberry.field(
        default=None,
        description='Words that log and steps must hold, all of them; "a phrase", -word and or as in web searches.',
    )

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
            text=filter_words(given.text, "text"),
        )


def trials_in_order(
    filter: EvaluationTrialFilter | None = None,
    order_by: EvaluationTrialOrder | None = None,
    first: int | None = None,
    after: str | None = None,
) -> Listing[trials.EvaluationTrial]:
    order = (order_by or EvaluationTrialOrder.NEWEST).value
    return in_order(EvaluationTrialFilter.parse(filter), order, first, after)


def trials_of_version(
    filter: EvaluationTrialFilter | None = None, first: int | None = None, after: str | None = None
) -> Listing[trials.EvaluationTrial]:
    return of_version(EvaluationTrialFilter.parse(filter), first, after)


@strawberry.type(description="One attempt. Status, reward and failure are separate facts.")
class EvaluationTrial(OverRow, Node):
    row = trials.EvaluationTrial

    attempt: int = strawberry.field(description="1 to the run's attemptCount.")
    seed: BigInt
    status: TrialStatus
    reward: float | None = strawberry.field(description="Null when unscored.")
    failure_category: str | None
    failure_detail: str | None
    stages: list[Stage] = stored(
        "stages", Stage, description="The stage_* keys that the worker wrote; empty until it did."
    )
    metrics: JSON | None = stored("metrics")
    redactions: int = strawberry.field(description="How often a secret was replaced in what the attempt left.")
    execution: int = strawberry.field(description="How often a worker has started this attempt.")
    executions: list[TrialExecution] = edge(
        EXECUTIONS_OF_TRIAL, key="id", description="Each start, first to last: also those that were lost or done again."
    )
    started_at: datetime | None
    finished_at: datetime | None
    run: EvaluationRun = edge(RUN, key="evaluation_run_id")
    environment_version: Annotated["EnvironmentVersion", strawberry.lazy("schema.version")] = edge(
        VERSION, key="environment_version_id"
    )
    trajectory: Trajectory | None = edge(ARTIFACT, key="trajectory_artifact_id")
    rollout: Annotated["Rollout", strawberry.lazy("schema.rollout")] | None = edge(
        ROLLOUT_OF_TRIAL, key="id", description="Of its latest execution; null for one that is queued again."
    )
