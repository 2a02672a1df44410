"""An export in the audit: begun there before its first byte leaves, ended there however it ends."""

import asyncio
from dataclasses import dataclass
from typing import Any

from db.errors import InvalidInputError
from db.export_audits import ExportOutcome
from resolvers.export_audits import Audit


class LeftError(Exception):
    """The client took nothing for too long."""


def outcome_of(sending: "asyncio.Task[Any]", *, has_left: bool) -> ExportOutcome:
    """How an export ended whose task is done; a cancelled one was left by its client, or stopped with the service."""
    if sending.cancelled():
        return ExportOutcome.LEFT if has_left else ExportOutcome.FAILED
    match sending.exception():
        case None:
            return ExportOutcome.COMPLETED
        case LeftError():
            return ExportOutcome.LEFT
        case InvalidInputError():
            return ExportOutcome.REFUSED
        case _:
            return ExportOutcome.FAILED


@dataclass(slots=True)
class Audited:
    """`starting` writes the row while the database makes the first lines; the first byte waits for it.

    `lines` were handed to the connection, and `bytes` are theirs before they were encoded.
    """

    starting: "asyncio.Task[Audit]"
    lines: int = 0
    bytes: int = 0

    async def admit(self) -> None:
        """Raises what kept the row from being written: nothing leaves without it."""
        await asyncio.shield(self.starting)

    async def finish(self, outcome: ExportOutcome) -> None:
        try:
            audit = await self.starting
        except Exception:
            return  # `admit` raised it, and nothing has left
        await audit.finish(outcome, self.lines, self.bytes)
