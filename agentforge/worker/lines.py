"""Lines of a stream, of which no more is held than one line needs."""

import asyncio
from collections import deque
from typing import Final, Self

PIECE_BYTES: Final = 65_536
_LONG_BYTES: Final = 1024 * 1024


class LineTooLongError(Exception):
    """A line is longer than it may be."""


class Lines:
    """Splits a stream into lines of at most `most` bytes. Leaving its context lets go of what is held.

    A StreamReader's own `readline` holds twice the longest line allowed, full of short ones, and gives other
    tasks no turn before they are read: a flood of notifications would stop a worker for ten seconds.
    """

    def __init__(self, stream: asyncio.StreamReader, most: int, turn: asyncio.Lock | None = None) -> None:
        """`stream` has a small limit of its own. Of streams with one `turn`, one at a time has a long line."""
        self._stream = stream
        self._most = most
        self._turn = turn or asyncio.Lock()
        self._has_turn = False
        self._whole: deque[bytes] = deque()
        self._begun = bytearray()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._begun.clear()
        self._end_turn()

    async def next(self) -> bytes:
        """Returns the next line with its end, which only the last may lack; nothing at the end of the stream.

        Raises LineTooLongError.
        """
        if len(self._begun) <= _LONG_BYTES:
            self._end_turn()
        while not self._whole:
            if len(self._begun) > self._most:
                raise LineTooLongError
            if len(self._begun) > _LONG_BYTES and not self._has_turn:
                await self._turn.acquire()
                self._has_turn = True
            await asyncio.sleep(0)
            data = await self._stream.read(PIECE_BYTES)
            if not data:
                last, self._begun = bytes(self._begun), bytearray()
                return last
            self._split(data)
        line = self._whole.popleft()
        if len(line) > self._most:
            raise LineTooLongError
        return line

    def _end_turn(self) -> None:
        if self._has_turn:
            self._has_turn = False
            self._turn.release()

    def _split(self, data: bytes) -> None:
        first, newline, rest = data.partition(b"\n")
        self._begun += first
        self._begun += newline
        if newline:
            self._whole.append(bytes(self._begun))
            *whole, last = rest.split(b"\n")
            self._whole.extend(line + b"\n" for line in whole)
            self._begun = bytearray(last)
