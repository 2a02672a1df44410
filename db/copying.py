"""The only column of a statement as lines, by COPY: the fastest way out of PostgreSQL, at the reader's pace."""

import math
import re
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from enum import StrEnum
from struct import Struct
from typing import Final
from uuid import UUID

#: PostgreSQL's documentation of COPY, "Binary Format": a signature, flags, and an extension of a stated length.
_SIGNATURE: Final = b"PGCOPY\n\xff\r\n\0"
_FIXED_HEADER: Final = len(_SIGNATURE) + 8
_TUPLE: Final = Struct("!hi")  # number of columns, length of the first
_TRAILER: Final = b"\xff\xff"
_LF, _CR = b"\n\r"

#: Takes whole lines, each with its line feed, and how many they are.
LineSink = Callable[[bytes, int], Awaitable[None]]


class BrokenCopyError(RuntimeError):
    """What came is no COPY of one column, or not all of it."""


class BinaryRows:
    """Turns the binary format into lines; it may come in pieces of any size.

    A line break within a value becomes a space: in JSON it can stand between tokens only.
    """

    def __init__(self) -> None:
        self.is_complete = False
        self._rest = b""
        self._is_past_header = False

    def feed(self, piece: bytes) -> tuple[bytes, int]:
        """Returns the lines that are whole now, and their number. Raises BrokenCopyError."""
        data = self._rest + piece if self._rest else piece
        at = 0
        if not self._is_past_header:
            at = self._header(data)
            if not at:
                self._rest = data
                return b"", 0
            self._is_past_header = True
        values, at = self._values(data, at)
        self._rest = data[at:]
        return b"\n".join([*values, b""]), len(values)

    def _header(self, data: bytes) -> int:
        """Returns where the rows begin; 0 when that has not come yet."""
        if not _SIGNATURE.startswith(data[: len(_SIGNATURE)]):
            raise BrokenCopyError("no binary COPY")
        if len(data) < _FIXED_HEADER:
            return 0
        end = _FIXED_HEADER + int.from_bytes(data[_FIXED_HEADER - 4 : _FIXED_HEADER], "big")
        return end if len(data) >= end else 0

    def _values(self, data: bytes, at: int) -> tuple[list[bytes | memoryview], int]:
        values: list[bytes | memoryview] = []
        view, end, head, unpack, find = memoryview(data), len(data), _TUPLE.size, _TUPLE.unpack_from, data.find
        while at + head <= end:
            columns, length = unpack(data, at)
            if columns != 1 or length < 0:
                break
            begin, after = at + head, at + head + length
            if after > end:
                return values, at
            # Looked for in each value: counting the line feeds of all that was joined costs a fifth of an export.
            is_one_line = find(_LF, begin, after) == -1 and find(_CR, begin, after) == -1
            values.append(view[begin:after] if is_one_line else _on_one_line(data[begin:after]))
            at = after
        if data.startswith(_TRAILER, at):
            self.is_complete = True
            return values, end
        if end - at >= head:
            raise BrokenCopyError("a row is not of one value")
        return values, at


def _on_one_line(value: bytes) -> bytes:
    return value.replace(b"\n", b" ").replace(b"\r", b" ")


def inlined(text: str, arguments: Sequence[object]) -> str:
    """The statement with its arguments in their places, as COPY takes none.

    Ids, moments, finite numbers, names of our own and null only; raises TypeError for all else.
    """
    whole = text.rstrip().removesuffix(";")
    return re.sub(r"\$(\d+)", lambda match: _literal(arguments[int(match[1]) - 1]), whole)


def _literal(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, UUID):
        return f"'{UUID(int=value.int)}'::uuid"
    if isinstance(value, datetime):
        return f"'{value.isoformat()}'::timestamptz"
    if isinstance(value, StrEnum) and re.fullmatch("[a-z_]+", value):
        return f"'{value}'"
    if isinstance(value, int):
        return f"({int(value)})"
    if isinstance(value, float) and math.isfinite(value):
        return f"'{float(value)!r}'::double precision"
    raise TypeError(f"{type(value).__name__} has no place in a COPY")
