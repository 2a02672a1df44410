"""Which exports there were: written as they begin and end, and listed for owners."""

import asyncio
from dataclasses import dataclass
from typing import Final
from uuid import UUID

import orjson
import structlog

from db import export_audits
from db.accounts import Identity
from db.export_audits import ExportAudit, ExportOutcome
from db.patience import Patience
from db.tenant import Tenant
from resolvers.pages import Listing, newest_first

log = structlog.get_logger(__name__)

#: How long the end of an export is tried to be written while the database is away.
PATIENCE_SECONDS: Final = 30.0


def newest(first: int | None = None, after: str | None = None) -> Listing[ExportAudit]:
    return newest_first("export audits newest", export_audits.PAGE, export_audits.COUNT, (), first, after)


@dataclass(frozen=True, slots=True)
class Audit:
    """The row of one export. Its connections must not be those that exports hold, or it would wait for them."""

    tenant: Tenant
    id: UUID

    async def finish(self, outcome: ExportOutcome, lines: int, bytes_: int) -> None:
        """Waits for a database that is away for a while, since a crash of the export may be one of all of it."""

        async def write() -> None:
            async with self.tenant.transaction() as transaction:
                await transaction.fetch(export_audits.FINISH, self.id, outcome, lines, bytes_)

        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                await Patience(asyncio.Event())(write)
        except Exception:
            log.exception("an export's end was not written", audit=str(self.id), outcome=outcome, lines=lines)


async def start(tenant: Tenant, identity: Identity, kind: str, format_: str, filters: dict[str, str]) -> Audit:
    """Writes that an export begins; it is committed when this returns."""
    given = orjson.dumps([{"name": name, "value": value} for name, value in filters.items()]).decode()
    who = (identity.subject_id, identity.email, identity.role)
    async with tenant.transaction() as transaction:
        (row,) = await transaction.fetch(export_audits.START, *who, kind, format_, given)
    return Audit(tenant, row.id)
