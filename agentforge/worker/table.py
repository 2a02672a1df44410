"""What a worker does, as a table on its terminal."""

import asyncio
import io
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Final, Self

import asyncpg
from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from agentforge.worker.metrics import Metrics
from db import workers
from db.tenant import Pool, fetch_before_organization
from db.workers import Waiting

_REFRESH_SECONDS: Final = 0.25
_QUEUE_SECONDS: Final = 2.0
#: Lines of the display beside the executions: a heading, how many more there are, and the summary.
_OTHER_LINES: Final = 7


class Lines(io.TextIOBase):
    """A stream of log lines that appear above the table, for structlog (bytes) and for the standard library (text)."""

    def __init__(self, console: Console) -> None:
        self._console = console

    def write(self, data: "str | bytes") -> int:
        text = data.decode("utf-8", "replace") if isinstance(data, bytes) else data
        if line := text.rstrip("\n"):
            self._console.print(Text(line), soft_wrap=True)
        return len(data)


class Display:
    """A table that stands below whatever else is printed to the console while its context is open."""

    def __init__(self, console: Console) -> None:
        self.lines = Lines(console)
        self._live = Live(console=console, auto_refresh=False)

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._live.stop()

    def show(self, metrics: Metrics, waiting: Waiting | None) -> None:
        """`waiting` is None when the database does not tell."""
        most = max(1, self._live.console.height - _OTHER_LINES)
        self._live.update(Group(_attempts(metrics, most), _summary(metrics, waiting)), refresh=True)


def _attempts(metrics: Metrics, most: int) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    for column in ("run", "attempt", "execution", "part", "seconds"):
        table.add_column(column, justify="right" if column == "seconds" else "left", no_wrap=True)
    now, executions = time.monotonic(), list(metrics.under_way.values())
    for execution in executions[:most]:
        trial = execution.trial
        numbers = (str(trial.attempt), str(trial.execution))
        table.add_row(
            str(trial.evaluation_run_id), *numbers, execution.parts.present or "", f"{now - execution.began:.1f}"
        )
    if len(executions) > most:
        table.add_row(f"and {len(executions) - most} more")
    return table


def _summary(metrics: Metrics, waiting: Waiting | None) -> Text:
    queue = (
        "queue: the database does not answer"
        if waiting is None
        else f"queue: {waiting.queued_runs} runs, {waiting.queued_attempts} attempts, "
        f"the oldest {waiting.oldest_seconds:.0f} s old"
    )
    rate = f"{len(metrics.under_way)} under way, {metrics.trials_per_minute()} trials in the last minute"
    ended = ", ".join(f"{count} {outcome}" for outcome, count in sorted(metrics.tally.items()))
    return Text("\n".join(["", rate, f"ended: {ended or 'none yet'}", queue]))


@asynccontextmanager
async def showing(display: Display | None, metrics: Metrics, pool: Pool) -> AsyncGenerator[None]:
    """Keeps the display up to date for as long as the block runs, and once more at its end."""
    if display is None:
        yield
        return
    waiting: Waiting | None = None

    async def ask() -> None:
        nonlocal waiting
        while True:
            try:
                (waiting,) = await fetch_before_organization(pool, workers.WAITING)
            except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError):
                waiting = None
            await asyncio.sleep(_QUEUE_SECONDS)

    async def refresh() -> None:
        while True:
            display.show(metrics, waiting)
            await asyncio.sleep(_REFRESH_SECONDS)

    tasks = [asyncio.create_task(ask()), asyncio.create_task(refresh())]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        display.show(metrics, waiting)
