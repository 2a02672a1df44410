"""What a person sees of a download: a bar with lines, bytes and rate, on standard error where that is a terminal."""

import time
from types import TracebackType

from rich.console import Console
from rich.filesize import decimal
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from agentforge.download.errors import printable


class Shown:
    """To be entered. `is_terminal` tells whether anyone sees the bar; notes are shown in any case."""

    def __init__(self, kind: str) -> None:
        self._console = Console(stderr=True, highlight=False)
        self.is_terminal = self._console.is_terminal
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.fields[figures]}"),
            TimeRemainingColumn(),
            console=self._console,
            disable=not self.is_terminal,
        )
        self._task = self._bar.add_task(kind, total=None, figures="")
        self._began = time.monotonic()
        self._fetched = 0

    def __enter__(self) -> "Shown":
        self._bar.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._bar.stop()

    def expect(self, lines: int) -> None:
        self._bar.update(self._task, total=lines)

    def tell(self, lines: int, size: int, fetched: int) -> None:
        """`lines` of `size` bytes are written; `fetched` bytes more have come."""
        self._fetched += fetched
        if self.is_terminal:
            rate = self._fetched / max(time.monotonic() - self._began, 0.001)
            figures = f"{lines:,} lines, {decimal(size)}, {decimal(int(rate))}/s"
            self._bar.update(self._task, completed=lines, figures=figures)

    def note(self, text: str) -> None:
        self._console.print(printable(text), soft_wrap=True, markup=False)
