"""The log of one attempt, in memory that does not grow with what is written."""

import codecs
from collections.abc import Callable
from typing import Any, Final

from agentforge.worker.redaction import MARGIN, RedactingStream, Redactor

_LONGEST_LINE: Final = 65_536  # characters; a longer line is broken
_REPLACEMENT: Final = "\ufffd"


class Log:
    """Keeps both ends of a text, `limit` bytes of UTF-8 in all when asked for it, without keys."""

    def __init__(self, limit: int, redactor: Redactor) -> None:
        self._limit = limit
        self._redactor = redactor
        self._kept = limit + MARGIN
        self._head = bytearray()
        self._tail = bytearray()
        self._total = 0

    def add(self, text: str) -> None:
        data = text.encode("utf-8", "backslashreplace")
        self._total += len(data)
        self._head += data[: self._kept - len(self._head)]
        self._tail += data
        if len(self._tail) > 2 * self._kept:
            del self._tail[: -self._kept]

    def text(self) -> str:
        """Returns everything, or both ends around a note of how many bytes were cut."""
        head, tail = bytes(self._head), bytes(self._tail[-self._kept :])
        return self._redactor.ends(head, tail, self._total, self._limit).decode()


class _Replacing(codecs.BufferedIncrementalDecoder):
    """Decodes UTF-8 and replaces what is none, counting how much it was."""

    sequences = 0
    octets = 0

    def _buffer_decode(self, data: Any, errors: str, final: bool) -> tuple[str, int]:
        text, consumed = codecs.utf_8_decode(data, "replace", final)
        if _REPLACEMENT in text:
            # It may have been sent as such, too.
            valid, _ = codecs.utf_8_decode(data[:consumed], "ignore", True)
            self.sequences += text.count(_REPLACEMENT) - valid.count(_REPLACEMENT)
            self.octets += consumed - len(valid.encode())
        return text, consumed


class LogStream:
    """Writes one output stream into a log: redacted, decoded, each line prefixed.

    Invalid UTF-8 is replaced, and a last line tells how much of it there was.
    """

    def __init__(self, log: Log, prefix: str, redactor: Redactor, count: Callable[[int], None] | None = None) -> None:
        """`count` is told the size in bytes of every piece."""
        self._log = log
        self._prefix = prefix
        self._redact = RedactingStream(redactor)
        self._decoder = _Replacing()
        self._count = count
        self._line = ""

    def feed(self, data: bytes) -> None:
        if self._count:
            self._count(len(data))
        self._write(self._decoder.decode(self._redact.feed(data)))

    def close(self) -> None:
        self._write(self._decoder.decode(self._redact.close(), final=True))
        if self._line:
            self._write("\n")
        if self._decoder.sequences:
            replaced = f"{self._decoder.sequences} sequences, {self._decoder.octets} bytes"
            self._write(f"[... invalid UTF-8 replaced: {replaced} ...]\n")

    def _write(self, text: str) -> None:
        lines, newline, rest = (self._line + text).rpartition("\n")
        if len(rest) > _LONGEST_LINE:
            lines, newline, rest = f"{lines}{newline}{rest}", "\n", ""
        if newline:
            # One replacement for all lines: a flood of short lines would otherwise cost a call for each.
            self._log.add(self._prefix + lines.replace("\n", f"\n{self._prefix}") + "\n")
        self._line = rest
