"""Rollouts: pages of each kind, and the names of their exports."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from db import rollouts
from db.rollouts import Rollout, RolloutKind
from resolvers.pages import Listing, newest_first


class ExportKind(StrEnum):
    """The kinds of exports: those of rollouts, and the pairs made of them."""

    ALL = "all"
    SUCCESSFUL = "successful"
    FAILED = "failed"
    RECOVERY = "recovery"
    PREFERENCE = "preference"

    @property
    def filename(self) -> str:
        return self.filename_of(self.formats[0])

    @property
    def formats(self) -> "tuple[ExportFormat, ...]":
        """Those of its lines, the default first."""
        if self is ExportKind.PREFERENCE:
            return (ExportFormat.PREFERENCE_PAIR, ExportFormat.TRL)
        return (ExportFormat.ATIF_SHAPED, ExportFormat.ATIF, ExportFormat.OPENAI_MESSAGES)

    def filename_of(self, format_: "ExportFormat") -> str:
        name = "agentforge-preferences" if self is ExportKind.PREFERENCE else f"agentforge-rollouts-{self}"
        return f"{name}.jsonl" if format_ is self.formats[0] else f"{name}-{format_}.jsonl"


class ExportFormat(StrEnum):
    """What a line is like."""

    ATIF_SHAPED = "atif-shaped"
    ATIF = "atif"
    OPENAI_MESSAGES = "openai-messages"
    PREFERENCE_PAIR = "preference-pair"
    TRL = "trl"


@dataclass(frozen=True, slots=True)
class RolloutFilter:
    """What must hold of a rollout; None asks nothing."""

    environment_version_id: UUID | None = None
    evaluation_run_id: UUID | None = None
    created_after: datetime | None = None
    created_before: datetime | None = None

    def arguments(self) -> tuple[object, ...]:
        return (self.environment_version_id, self.evaluation_run_id, self.created_after, self.created_before)


def newest(kind: RolloutKind, rollout_filter: RolloutFilter, first: int | None, after: str | None) -> Listing[Rollout]:
    arguments = (None if kind is RolloutKind.ALL else kind, *rollout_filter.arguments())
    return newest_first("rollouts newest", rollouts.PAGE, rollouts.COUNT, arguments, first, after)
