"""The entry points of reading."""

from collections.abc import Callable
from typing import Any

import strawberry

from db.rollouts import RolloutKind
from resolvers import configurations, environments, reports, rollouts, runs, trials
from resolvers.ids import parse_id
from resolvers.loaders import (
    CONFIGURATION,
    ENVIRONMENT,
    ENVIRONMENT_BY_SLUG,
    NODE,
    ROLLOUT,
    RUN,
    TRIAL,
    VERSION,
    One,
)
from resolvers.names import is_slug
from schema.configuration import EvaluatorConfiguration
from schema.connection import Connection, connection
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
from schema.rollout import Rollout, RolloutFilterInput
from schema.run import EvaluationRun, EvaluationRunFilter, EvaluationRunOrder
from schema.trial import EvaluationTrial, EvaluationTrialFilter, EvaluationTrialOrder
from schema.version import EnvironmentVersion
from schema.viewer import Viewer, current_organization

#: How each kind of thing with an id is loaded and shown; an organization's own id is the current one's.
NODES: dict[str, tuple[One[Any], Callable[[Any], Node]]] = {
    "Environment": (ENVIRONMENT, Environment.of),
    "EnvironmentVersion": (VERSION, EnvironmentVersion.of),
    "EvaluatorConfiguration": (CONFIGURATION, EvaluatorConfiguration.of),
    "EvaluationRun": (RUN, EvaluationRun.of),
    "EvaluationTrial": (TRIAL, EvaluationTrial.of),
    "Rollout": (ROLLOUT, Rollout.of),
}


async def by_id(info: Info, kind: str, identifier: str) -> Any:
    edge, of = NODES[kind]
    row = await info.context.load(edge, parse_id(identifier))
    return of(row) if row else None


@strawberry.type
class Query:
    @strawberry.field
    async def viewer(self, info: Info) -> Viewer:
        return Viewer.of(info.context.identity)

    @strawberry.field(description="Whatever has this id in the viewer's organization.")
    async def node(self, info: Info, id: strawberry.ID) -> Node | None:
        found = await info.context.load(NODE, parse_id(id))
        if found is None:
            return None
        if found.kind == "Organization":
            return await current_organization(info)
        node: Node | None = await by_id(info, found.kind, id)
        return node

    @strawberry.field
    async def environments(
        self, info: Info, first: int | None = None, after: str | None = None
    ) -> Connection[Environment]:
        return connection(await environments.newest(info.context.tenant, first, after), Environment.of)

    @strawberry.field
    async def environment(self, info: Info, slug: str) -> Environment | None:
        row = await info.context.load(ENVIRONMENT_BY_SLUG, slug if is_slug(slug) else None)
        return Environment.of(row) if row else None

    @strawberry.field
    async def environment_version(self, info: Info, id: strawberry.ID) -> EnvironmentVersion | None:
        version: EnvironmentVersion | None = await by_id(info, "EnvironmentVersion", id)
        return version

    @strawberry.field
    async def evaluator_configurations(
        self, info: Info, first: int | None = None, after: str | None = None
    ) -> Connection[EvaluatorConfiguration]:
        page = await configurations.newest(info.context.tenant, first, after)
        return connection(page, EvaluatorConfiguration.of)

    @strawberry.field
    async def evaluation_run(self, info: Info, id: strawberry.ID) -> EvaluationRun | None:
        run: EvaluationRun | None = await by_id(info, "EvaluationRun", id)
        return run

    @strawberry.field
    async def evaluation_runs(
        self,
        info: Info,
        filter: EvaluationRunFilter | None = None,
        order_by: EvaluationRunOrder | None = None,
        first: int | None = None,
        after: str | None = None,
    ) -> Connection[EvaluationRun]:
        order = (order_by or EvaluationRunOrder.NEWEST).value
        page = await runs.in_order(info.context.tenant, EvaluationRunFilter.parse(filter), order, first, after)
        return connection(page, EvaluationRun.of)

    @strawberry.field
    async def evaluation_trial(self, info: Info, id: strawberry.ID) -> EvaluationTrial | None:
        trial: EvaluationTrial | None = await by_id(info, "EvaluationTrial", id)
        return trial

    @strawberry.field
    async def evaluation_trials(
        self,
        info: Info,
        filter: EvaluationTrialFilter | None = None,
        order_by: EvaluationTrialOrder | None = None,
        first: int | None = None,
        after: str | None = None,
    ) -> Connection[EvaluationTrial]:
        order = (order_by or EvaluationTrialOrder.NEWEST).value
        page = await trials.in_order(info.context.tenant, EvaluationTrialFilter.parse(filter), order, first, after)
        return connection(page, EvaluationTrial.of)

    @strawberry.field
    async def rollout(self, info: Info, id: strawberry.ID) -> Rollout | None:
        rollout: Rollout | None = await by_id(info, "Rollout", id)
        return rollout

    @strawberry.field
    async def rollouts(
        self,
        info: Info,
        kind: RolloutKind | None = None,
        filter: RolloutFilterInput | None = None,
        first: int | None = None,
        after: str | None = None,
    ) -> Connection[Rollout]:
        rollout_filter = RolloutFilterInput.parse(filter)
        page = await rollouts.newest(info.context.tenant, kind or RolloutKind.ALL, rollout_filter, first, after)
        return connection(page, Rollout.of)

    @strawberry.field
    async def capability_gaps(self, info: Info, filter: CapabilityGapFilter | None = None) -> CapabilityGapReport:
        report = await reports.capability_gaps(info.context.tenant, parse_report_filter(filter))
        return CapabilityGapReport.of(report)

    @strawberry.field
    async def partial_rewards(self, info: Info, filter: PartialRewardFilter | None = None) -> list[PartialReward]:
        rows = await reports.partial_rewards(info.context.tenant, parse_report_filter(filter))
        return [PartialReward.of(row) for row in rows]
