"""Exports as they are remembered: who took what, when, and how it ended."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from db.accounts import Id
from db.counts import Count
from db.query import Json, query


class ExportOutcome(StrEnum):
    """`STARTED` is under way, or was lost with its process; `REFUSED` found that it could not be made as asked."""

    STARTED = "started"
    COMPLETED = "completed"
    LEFT = "left"
    FAILED = "failed"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class ExportAudit:
    """`actor` is an address or a token's name; `filters` a JSON array of {name, value}; `bytes` those of `lines`."""

    id: UUID
    actor_id: UUID
    actor: str
    actor_role: str
    is_token: bool
    kind: str
    format: str
    filters: Json
    started_at: datetime
    ended_at: datetime | None
    outcome: str
    lines: int
    bytes: int


START = query("export_audits.start", Id)
FINISH = query("export_audits.finish", Id)
PAGE = query("export_audits.page", ExportAudit)
COUNT = query("export_audits.count", Count)
