"""Rollouts, preference pairs and exports."""

from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Self
from urllib.parse import urlencode
from uuid import UUID

import strawberry

from db import rollouts
from db.rollouts import RolloutKind
from resolvers.loaders import ROLLOUT, RUN, TRIAL, VERSION
from resolvers.pages import Listing
from resolvers.rollouts import RolloutFilter, newest
from schema.export_kind import ExportKind
from schema.filters import filter_id, moment
from schema.node import Node
from schema.run import EvaluationRun
from schema.scalars import BigInt
from schema.sources import OverRow, edge, stored
from schema.stage import Stage
from schema.trial import EvaluationTrial

if TYPE_CHECKING:
    from schema.version import EnvironmentVersion

strawberry.enum(RolloutKind)


@strawberry.input(name="RolloutFilter")
class RolloutFilterInput:
    environment_version_id: strawberry.ID | None = None
    evaluation_run_id: strawberry.ID | None = None
    created_after: datetime | None = None
    created_before: datetime | None = None

    @staticmethod
    def parse(given: "RolloutFilterInput | None") -> RolloutFilter:
        if given is None:
            return RolloutFilter()
        return RolloutFilter(
            environment_version_id=filter_id(given.environment_version_id, "environmentVersionId"),
            evaluation_run_id=filter_id(given.evaluation_run_id, "evaluationRunId"),
            created_after=moment(given.created_after, "createdAfter"),
            created_before=moment(given.created_before, "createdBefore"),
        )


def rollouts_of_kind(
    kind: RolloutKind | None = None,
    filter: RolloutFilterInput | None = None,
    first: int | None = None,
    after: str | None = None,
) -> Listing[rollouts.Rollout]:
    return newest(kind or RolloutKind.ALL, RolloutFilterInput.parse(filter), first, after)


@strawberry.type
class Rollout(OverRow, Node):
    row = rollouts.Rollout

    seed: BigInt
    reward: float | None
    stages: list[Stage] = stored("stages", Stage)
    superseded: bool = strawberry.field(
        description="Its attempt was done again: listings and exports leave it out, and it is found by its id only."
    )
    created_at: datetime
    trial: EvaluationTrial = edge(TRIAL, key="evaluation_trial_id")
    environment_version: Annotated["EnvironmentVersion", strawberry.lazy("schema.version")] = edge(
        VERSION, key="environment_version_id"
    )
    evaluation_run: EvaluationRun = edge(RUN, key="evaluation_run_id")


@strawberry.type(
    description="The highest against the lowest scored rollout of one environment version; "
    "null where they do not differ."
)
class PreferencePair(OverRow):
    row = rollouts.PreferencePair

    preferred_reward: float
    rejected_reward: float
    preferred: Rollout = edge(ROLLOUT, key="preferred")
    rejected: Rollout = edge(ROLLOUT, key="rejected")


@strawberry.type(description="The lines of an export in another shape.")
class RolloutExportFormat:
    name: str = strawberry.field(description="As the parameter `format` names it.")
    url: str
    filename: str


@strawberry.type
class RolloutExport:
    kind: ExportKind
    url: str = strawberry.field(description="Path of the export on this service.")
    filename: str
    formats: list[RolloutExportFormat] = strawberry.field(description="All there are, that of `url` first.")

    @classmethod
    def all_of(cls, environment_version_id: UUID | None = None) -> list[Self]:
        """Those of a version, or of the whole organization."""
        return [cls._of(kind, environment_version_id) for kind in ExportKind]

    @classmethod
    def _of(cls, kind: ExportKind, environment_version_id: UUID | None) -> Self:
        of_version = {"environmentVersionId": environment_version_id} if environment_version_id else {}
        url = "/api/v1/rollouts?" + urlencode({"kind": kind, **of_version})
        formats = [
            RolloutExportFormat(
                name=str(one),
                url=url if one is kind.formats[0] else f"{url}&format={one}",
                filename=kind.filename_of(one),
            )
            for one in kind.formats
        ]
        return cls(kind=kind, url=url, filename=kind.filename, formats=formats)
