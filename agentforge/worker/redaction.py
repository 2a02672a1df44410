"""Taking known secret values out of everything that is kept."""

import json
import os
import re
from collections.abc import Iterable
from typing import Final

_MARK: Final = b"[redacted]"
# Shorter values ("true", "1") are settings, not secrets; blanking them out would ruin ordinary text.
_SHORTEST_SECRET: Final = 6


def _forms(secret: str) -> set[bytes]:
    escaped = (json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1])
    return {os.fsencode(secret), *(form.encode("utf-8", "surrogatepass") for form in escaped)}


class Redactor:
    """Replaces the given values, as they are or escaped for JSON, by `[redacted]`."""

    def __init__(self, secrets: Iterable[str]) -> None:
        forms = {form for secret in secrets if len(secret) >= _SHORTEST_SECRET for form in _forms(secret)}
        # The longest first: an alternation takes the first that fits.
        self.forms = tuple(sorted(forms, key=len, reverse=True))
        self.pattern = re.compile(b"|".join(map(re.escape, self.forms)) or b"(?!)")

    def data(self, value: bytes) -> bytes:
        return self.pattern.sub(_MARK, value) if self.forms else value

    def text(self, value: str) -> str:
        if not self.forms:
            return value
        return self.data(value.encode("utf-8", "surrogatepass")).decode("utf-8", "surrogatepass")


class RedactingStream:
    """Redacts a stream that comes in pieces, also where a secret lies across two of them."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._held = b""

    def feed(self, data: bytes) -> bytes:
        """Takes the next piece and returns what can no longer become part of a secret."""
        if not self._redactor.forms:
            return data
        data = self._held + data
        limit = len(data) - self._begun(data)
        position, out = 0, bytearray()
        for match in self._redactor.pattern.finditer(data):
            if match.start() >= limit:
                break
            out += data[position : match.start()] + _MARK
            position = match.end()
        end = max(position, limit)
        self._held = data[end:]
        return bytes(out + data[position:end])

    def close(self) -> bytes:
        """Returns what was held back."""
        held, self._held = self._held, b""
        return self._redactor.data(held)

    def _begun(self, data: bytes) -> int:
        """The length of the longest end of `data` that a secret begins with."""
        for length in range(min(len(data), len(self._redactor.forms[0]) - 1), 0, -1):
            end = data[-length:]
            if any(len(form) > length and form.startswith(end) for form in self._redactor.forms):
                return length
        return 0
