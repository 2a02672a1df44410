"""Waiting for a database that went away: restarted, stopped, cut off, or with no room to write."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeVar

import asyncpg
import structlog

log = structlog.get_logger()

Result = TypeVar("Result")

RETRY_SECONDS = 1.0
_GONE = (
    OSError,
    asyncpg.PostgresConnectionError,
    asyncpg.AdminShutdownError,
    asyncpg.CrashShutdownError,
    asyncpg.CannotConnectNowError,
    asyncpg.TooManyConnectionsError,
    asyncpg.DiskFullError,
    asyncpg.ReadOnlySQLTransactionError,  # a standby, or what managed servers become before their disk is full
)
#: What asyncpg says of a connection or pool that was closed under a caller; the rest of InterfaceError are mistakes.
_CLOSED = ("connection is closed", "pool is clos", "released back to the pool")


def is_gone(error: BaseException) -> bool:
    """Whether an error of asyncpg tells that the database takes nothing at present, and nothing of the statement."""
    if isinstance(error, asyncpg.InterfaceError):
        return any(said in str(error) for said in _CLOSED)
    return isinstance(error, _GONE)


@dataclass(frozen=True, slots=True)
class Patience:
    """Tries again while the database is away, until `over` is set; then its error is raised."""

    over: asyncio.Event

    async def __call__(self, attempt: Callable[[], Awaitable[Result]]) -> Result:
        """What `attempt` returns. It may have been done before, when only the answer was lost.

        It asks the database and nothing else: an error of a file looks like one of a socket.
        """
        while True:
            try:
                return await attempt()
            except Exception as error:
                if self.over.is_set() or not is_gone(error):
                    raise
                log.warning("database_gone", error=repr(error), retry_seconds=RETRY_SECONDS)
            with suppress(TimeoutError):
                await asyncio.wait_for(self.over.wait(), RETRY_SECONDS)
