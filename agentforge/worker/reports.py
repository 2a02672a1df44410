"""A worker tells the database every few seconds that it is there, and what it has counted since it last did."""

import asyncio
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Final

import asyncpg
import structlog

from agentforge.worker.metrics import Metrics
from db import workers
from db.tenant import Pool, fetch_before_organization

log = structlog.get_logger()

REPORT_SECONDS: Final = 5.0
_LAST_SECONDS: Final = 2.0
_REFUSED = (TimeoutError, OSError, asyncpg.PostgresError, asyncpg.InterfaceError)


@dataclass(slots=True)
class Reports:
    """Adds a worker's counts to those of the installation, each once: a report that may have been lost is sent again
    under its number before another one is made.
    """

    worker: str
    places: int
    metrics: Metrics
    _number: int = 0
    _told: dict[str, float] = field(default_factory=dict)
    _sending: dict[str, float] | None = None

    async def send(self, pool: Pool) -> None:
        """Raises what asyncpg raises; the same counts are then sent next time."""
        if self._sending is None:
            self._sending, self._number = self.metrics.series(), self._number + 1
        sending = self._sending
        added = {name: value - self._told.get(name, 0.0) for name, value in sending.items()}
        added = {name: value for name, value in added.items() if value}
        await fetch_before_organization(
            pool,
            workers.REPORT,
            self.worker,
            socket.gethostname(),
            self.places,
            len(self.metrics.under_way),
            self._number,
            list(added),
            list(added.values()),
        )
        self._told, self._sending = sending, None

    async def leave(self, pool: Pool) -> None:
        """The last report, and no worker any more."""
        await self.send(pool)
        if self.metrics.series() != self._told:  # what was sent was an earlier report's
            await self.send(pool)
        await fetch_before_organization(pool, workers.LEAVE, self.worker)


@asynccontextmanager
async def reporting(reports: Reports, pool: Pool) -> AsyncGenerator[None]:
    """Reports for as long as the block runs, and takes leave at its end. A database that refuses is asked again."""
    task = asyncio.create_task(_report_on(reports, pool))
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait([task])
        with suppress(*_REFUSED):
            async with asyncio.timeout(_LAST_SECONDS):
                await reports.leave(pool)


async def _report_on(reports: Reports, pool: Pool) -> None:
    while True:
        try:
            await reports.send(pool)
        except _REFUSED as error:
            log.warning("metrics_not_reported", error=repr(error))
        await asyncio.sleep(REPORT_SECONDS)
