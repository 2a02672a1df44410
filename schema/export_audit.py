"""Exports as they are remembered."""

from datetime import datetime

import strawberry

from db import export_audits
from db.export_audits import ExportOutcome
from schema.export_kind import ExportKind
from schema.member_role import MemberRole
from schema.scalars import BigInt
from schema.sources import OverRow, stored

strawberry.enum(ExportOutcome)


@strawberry.type
class ExportFilter:
    name: str
    value: str


@strawberry.type(description="One export: who asked for what, and what came of it.")
class ExportAudit(OverRow):
    row = export_audits.ExportAudit

    id: strawberry.ID
    actor_id: strawberry.ID = strawberry.field(description="The person's or token's, also when it was removed since.")
    actor: str = strawberry.field(description="The person's address or the token's name, as it was then.")
    actor_role: MemberRole
    is_token: bool
    kind: ExportKind
    format: str = strawberry.field(description="Of the lines, as the parameter `format` names it.")
    filters: list[ExportFilter] = stored(
        "filters", ExportFilter, description="Parameters that were given or held by default, times in UTC."
    )
    started_at: datetime
    ended_at: datetime | None = strawberry.field(
        description="Null while it is under way, and for good where its process was lost."
    )
    outcome: ExportOutcome
    lines: BigInt = strawberry.field(description="Handed to the connection, without a manifest.")
    bytes: BigInt = strawberry.field(description="Of these lines, before any compression.")
