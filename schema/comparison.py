"""Attempts side by side."""

import strawberry

from resolvers import comparisons
from resolvers.loaders import VERSION
from schema.sources import OverRow, edge
from schema.trial import EvaluationTrial
from schema.version import EnvironmentVersion


@strawberry.type
class ComparedTrial(OverRow):
    row = comparisons.ComparedTrial

    trial: EvaluationTrial
    reward: float | None = strawberry.field(description="Null when unscored.")
    duration_seconds: float | None = strawberry.field(description="Null unless the attempt was started and has ended.")
    step_count: int = strawberry.field(description="0 without a trajectory.")


@strawberry.type
class ComparedStage(OverRow):
    row = comparisons.ComparedStage

    name: str
    values: list[float | None] = strawberry.field(description="One for each trial; null where it has no such stage.")


@strawberry.type
class StepAction(OverRow):
    row = comparisons.StepAction

    tool: str
    command: str


@strawberry.type
class TrialDivergence(OverRow):
    row = comparisons.TrialDivergence

    step: int = strawberry.field(description="The position in the trajectories, from 1.")
    actions: list[StepAction | None] = strawberry.field(
        description="One for each trial; null where its trajectory has ended."
    )


@strawberry.type(description="Attempts of one environment version, everywhere in the order asked for.")
class TrialComparison(OverRow):
    row = comparisons.TrialComparison

    environment_version: EnvironmentVersion = edge(VERSION, key="environment_version_id")
    trials: list[ComparedTrial]
    stages: list[ComparedStage]

    @strawberry.field(
        description="The first step at which tool and command are not the same in all trials; null if none is."
    )
    async def first_divergence(self, root: strawberry.Parent[comparisons.TrialComparison]) -> TrialDivergence | None:
        found = await root.divergence()
        return None if found is None else TrialDivergence.of(found)
