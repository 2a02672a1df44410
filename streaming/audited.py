"""An export in the audit: begun there before its first byte leaves, ended there however it ends."""

import asyncio
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Any

from db.errors import InvalidInputError
from db.export_audits import ExportOutcome
from resolvers.export_audits import Audit

#: How long the service waits, when it stops, for exports that it cut off to be written as such.
END_SECONDS = 5
_under_way: set["asyncio.Task[Any]"] = set()


@contextmanager
def under_way() -> Iterator[None]:
    """The export is one that `written_to_the_end` waits for."""
    task = asyncio.current_task()
    assert task
    _under_way.add(task)
    try:
        yield
    finally:
        _under_way.discard(task)


@asynccontextmanager
async def written_to_the_end() -> AsyncGenerator[None]:
    """Waits at its end for exports under way: they were cancelled, and still need their connections to say so."""
    yield
    if _under_way:
        await asyncio.wait(_under_way, timeout=END_SECONDS)


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
