"""Rows of the database made lines of a format, a piece at a time and away from the event loop."""

import asyncio
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from db.copying import LineSink
from db.errors import InvalidInputError
from streaming.recorded import Reason, Row, SkippedError

#: Makes a line of a row. Raises SkippedError.
Convert = Callable[[Row], str]


@dataclass(slots=True)
class Converted:
    """A sink for rows that hands on lines: what is a JSON array is converted, what is an object is a line already.

    `skipped` counts rows that the format cannot carry; strict, the first of them is an InvalidInputError.
    """

    convert: Convert
    sink: LineSink
    is_strict: bool
    skipped: Counter[Reason] = field(default_factory=Counter)

    async def add(self, rows: bytes, count: int) -> None:
        lines = await asyncio.to_thread(self._lines, rows)
        if lines:
            await self.sink(b"".join(lines), len(lines))

    def _lines(self, rows: bytes) -> list[bytes]:
        return [line for row in rows.splitlines(keepends=True) if (line := self._line(row))]

    def _line(self, row: bytes) -> bytes | None:
        if row.startswith(b"{"):
            return row
        try:
            return self.convert(Row(row.decode())).encode("ascii") + b"\n"
        except SkippedError as error:
            self._skip(error.reason)
            return None

    def _skip(self, reason: Reason) -> None:
        if self.is_strict:
            raise InvalidInputError(
                f"The format cannot carry all that was asked for ({reason}); without strict=true such rows are "
                "left out, and manifest=true counts them.",
                ["strict"],
            )
        self.skipped[reason] += 1
