"""The entry points of reading."""

from importlib.metadata import version as release_of
from typing import Any
from uuid import UUID

import strawberry

from resolvers import comparisons, configurations, environments, reports
from resolvers.ids import parse_id
from resolvers.loaders import (
    CONFIGURATION,
    ENVIRONMENT,
    ENVIRONMENT_BY_SLUG,
    NODE,
    ORGANIZATION,
    ROLLOUT,
    RUN,
    TRIAL,
    VERSION,
    One,
)
from resolvers.names import is_slug
from schema.comparison import TrialComparison
from schema.configuration import EvaluatorConfiguration
from schema.connection import Connection
from schema.environment import Environment
from schema.info import Info
from schema.node import Node
from schema.report import (
    CapabilityGapFilter,
    CapabilityGapReport,
    PartialReward,
    PartialRewardFilter,
    parse_report_filter,
)
from schema.rollout import Rollout, rollouts_of_kind
from schema.run import EvaluationRun, runs_in_order
from schema.sources import found, listed
from schema.trial import EvaluationTrial, trials_in_order
from schema.version import EnvironmentVersion
from schema.viewer import Viewer

RELEASE = release_of("agentforge")

#: How each kind of thing with an id is loaded.
NODES: dict[str, One[Any]] = {
    "Organization": ORGANIZATION,
    "Environment": ENVIRONMENT,
    "EnvironmentVersion": VERSION,
    "EvaluatorConfiguration": CONFIGURATION,
    "EvaluationRun": RUN,
    "EvaluationTrial": TRIAL,
    "Rollout": ROLLOUT,
}


def _by_id(id: strawberry.ID) -> UUID | None:
    return parse_id(id)


def _by_slug(slug: str) -> str | None:
    return slug if is_slug(slug) else None


@strawberry.type
class Query:
    @strawberry.field
    async def viewer(self, info: Info) -> Viewer:
        return Viewer.of(info.context.identity)

    @strawberry.field(description="The release of AgentForge that answers.")
    def service_version(self) -> str:
        return RELEASE

    @strawberry.field(description="Whatever has this id in the viewer's organization.")
    async def node(self, info: Info, id: strawberry.ID) -> Node | None:
        key = parse_id(id)
        which = await info.context.load(NODE, key)
        if which is None:
            return None
        node: Node | None = await info.context.load(NODES[which.kind], key)
        return node

    environments: Connection[Environment] = listed(environments.newest)
    environment: Environment | None = found(ENVIRONMENT_BY_SLUG, key=_by_slug)
    environment_version: EnvironmentVersion | None = found(VERSION, key=_by_id)
    evaluator_configurations: Connection[EvaluatorConfiguration] = listed(configurations.newest)
    evaluation_run: EvaluationRun | None = found(RUN, key=_by_id)
    evaluation_runs: Connection[EvaluationRun] = listed(runs_in_order)
    evaluation_trial: EvaluationTrial | None = found(TRIAL, key=_by_id)
    evaluation_trials: Connection[EvaluationTrial] = listed(trials_in_order)
    rollout: Rollout | None = found(ROLLOUT, key=_by_id)
    rollouts: Connection[Rollout] = listed(rollouts_of_kind)

    @strawberry.field
    async def capability_gaps(self, info: Info, filter: CapabilityGapFilter | None = None) -> CapabilityGapReport:
        return CapabilityGapReport.of(await reports.capability_gaps(info.context.tenant, parse_report_filter(filter)))

    @strawberry.field
    async def partial_rewards(self, info: Info, filter: PartialRewardFilter | None = None) -> list[PartialReward]:
        rows = await reports.partial_rewards(info.context.tenant, parse_report_filter(filter))
        return [PartialReward.of(row) for row in rows]

    @strawberry.field(description="Two to eight attempts of one environment version, side by side.")
    async def compare_trials(self, info: Info, ids: list[strawberry.ID]) -> TrialComparison:
        return TrialComparison.of(await comparisons.compare(info.context, ids))
