"""Taking secrets out of everything that is kept: known values in all their forms, and keys that are known by format."""

from bisect import bisect_right
from collections.abc import Callable, Iterable
from typing import Final, TypeVar

from ahocorasick_rs import BytesAhoCorasick
from pydantic import JsonValue

from agentforge.worker.key_formats import LONGEST_KEY, find_keys
from agentforge.worker.secret_forms import forms
from agentforge.worker.text import cut_middle, is_inside_character

Result = TypeVar("Result")

_MARK: Final = b"[redacted]"
#: Bytes beyond either end's limit that must be at hand where a text is cut, so that a key across the cut is seen whole.
MARGIN: Final = 2 * LONGEST_KEY
_BEGINNING: Final = 16  # bytes of a form by which an unfinished one is found

Span = tuple[int, int]


class Redactor:
    """Replaces the given values by `[redacted]` and keys by, say, `[redacted: GitHub Token]`, and counts that.

    Where that fails nothing comes out, `failure` names the kind of error and `on_failure` is told, once: what was not
    redacted must not be kept.
    """

    def __init__(self, secrets: Iterable[str], on_failure: Callable[[], None] = lambda: None) -> None:
        self.count = 0
        self.failure: str | None = None
        self._on_failure = on_failure
        self.values = self.attempt(lambda: _Values(secrets), _Values(()))

    def data(self, value: bytes) -> bytes:
        """Bytes of any kind and length; where they are JSON, they stay JSON."""
        return self.attempt(lambda: self._without_keys(self._without_values(value)), b"")

    def text(self, value: str) -> str:
        return _decoded(self.data(value.encode("utf-8", "surrogatepass")))

    def shortened(self, value: str, limit: int) -> str:
        """A text of at most `limit` bytes of UTF-8, its middle cut out; keys are looked for in what stays only."""
        return _decoded(self.attempt(lambda: self._shortened(value, limit), b""))

    def ends(self, head: bytes, tail: bytes, total: int, limit: int) -> bytes:
        """The same for a text of `total` bytes without known values, of which the first and the last `limit` + MARGIN
        bytes are at hand.
        """
        return self.attempt(lambda: self._ends(head, tail, total, limit), b"")

    def json(self, value: JsonValue) -> JsonValue:
        """All texts, keys and numbers of what JSON held."""
        if isinstance(value, dict):
            return {self.text(key): self.json(one) for key, one in value.items()}
        if isinstance(value, list):
            return [self.json(one) for one in value]
        if value is None or isinstance(value, bool):
            return value
        shown = str(value)
        redacted = self.text(shown)
        return value if redacted == shown else redacted

    def attempt(self, redact: Callable[[], Result], nothing: Result) -> Result:
        """The result of redacting, or `nothing` where it fails."""
        try:
            return redact()
        except Exception as error:
            if self.failure is None:
                # Its kind alone: the message may hold what could not be redacted.
                self.failure = type(error).__name__
                self._on_failure()
            return nothing

    def _without_values(self, value: bytes) -> bytes:
        return self._replaced(value, [(start, end, _MARK) for start, end in self.values.spans(value)])

    def _without_keys(self, value: bytes) -> bytes:
        return self._replaced(value, [(start, end, _mark(name)) for start, end, name in find_keys(value)])

    def _replaced(self, value: bytes, marks: list[tuple[int, int, bytes]]) -> bytes:
        if not marks:
            return value
        out, position = bytearray(), 0
        for start, end, mark in marks:
            out += value[position:start] + mark
            position = end
        self.count += len(marks)
        return bytes(out + value[position:])

    def _shortened(self, value: str, limit: int) -> bytes:
        data = self._without_values(value.encode("utf-8", "surrogatepass"))
        return self._ends(data[: limit + MARGIN], data[-limit - MARGIN :], len(data), limit)

    def _ends(self, head: bytes, tail: bytes, total: int, limit: int) -> bytes:
        if total <= limit + MARGIN:
            whole = self._without_keys(head[:total])
            return whole if len(whole) <= limit else cut_middle(whole, whole, len(whole), limit)
        # Half of the limit of each end, or more where a key lies across.
        head_end, tail_start = limit // 2, len(tail) - limit // 2
        while is_inside_character(head, head_end):
            head_end -= 1
        while is_inside_character(tail, tail_start):
            tail_start += 1
        in_head = [key for key in find_keys(head) if key[0] < head_end]
        in_tail = [key for key in find_keys(tail) if key[1] > tail_start]
        head_end = max([head_end, *(end for _, end, _ in in_head)])
        tail_start = min([tail_start, *(start for start, _, _ in in_tail)])
        first = self._replaced(head[:head_end], [(start, end, _mark(name)) for start, end, name in in_head])
        last = self._replaced(
            tail[tail_start:], [(start - tail_start, end - tail_start, _mark(name)) for start, end, name in in_tail]
        )
        between = max(0, total - len(tail) + tail_start - head_end)
        return cut_middle(first, last, len(first) + between + len(last), limit)


class _Values:
    """Finds the forms of known values."""

    def __init__(self, secrets: Iterable[str]) -> None:
        self.forms = sorted({form for secret in secrets for form in forms(secret)})
        self._longest = max(map(len, self.forms), default=0)
        # An automaton: with three values it takes 0.1 s for 64 MiB, an alternation of their forms 1.0 to 3.6 s.
        self._all = BytesAhoCorasick(self.forms)
        self._beginnings = BytesAhoCorasick({form[:_BEGINNING] for form in self.forms})

    def spans(self, data: bytes, covered: int = 0) -> list[Span]:
        """What is to be replaced, in order; forms that overlap, also with the first `covered` bytes, are one span."""
        spans = [(0, covered)] if covered else []
        if self.forms:
            for start, end in sorted(
                (start, end) for _, start, end in self._all.find_matches_as_indexes(data, overlapping=True)
            ):
                if spans and start < spans[-1][1]:
                    spans[-1] = (spans[-1][0], max(end, spans[-1][1]))
                else:
                    spans.append((start, end))
        return spans

    def begun(self, data: bytes) -> int:
        """The length of the longest end of `data` that is the beginning of a longer form."""
        window = data[max(0, len(data) - self._longest + 1) :]
        found = {start for _, start, _ in self._beginnings.find_matches_as_indexes(window, overlapping=True)}
        for start in (*sorted(found), *range(max(0, len(window) - _BEGINNING + 1), len(window))):
            end = window[start:]
            index = bisect_right(self.forms, end)
            if index < len(self.forms) and self.forms[index].startswith(end):
                return len(end)
        return 0


class RedactingStream:
    """Redacts known values in a stream that comes in pieces, also where a value lies across some of them."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._held = b""
        self._covered = 0  # bytes of what is held that belong to a value replaced before

    def feed(self, data: bytes) -> bytes:
        """Takes the next piece and returns what can no longer become part of a value."""
        values = self._redactor.values
        if not values.forms:
            return data
        return self._redactor.attempt(lambda: self._pass(self._held + data, values, is_last=False), b"")

    def close(self) -> bytes:
        """Returns what was held back."""
        return self._redactor.attempt(lambda: self._pass(self._held, self._redactor.values, is_last=True), b"")

    def _pass(self, data: bytes, values: _Values, *, is_last: bool) -> bytes:
        # All forms that begin before this are in `data` as a whole.
        limit = len(data) - (0 if is_last else values.begun(data))
        out, position = bytearray(), self._covered
        for start, end in values.spans(data, self._covered):
            if start >= limit:
                break
            out += data[position:start]
            if start or not self._covered:
                out += _MARK
                self._redactor.count += 1
            position = end
        self._held, self._covered = data[limit:], max(0, position - limit)
        return bytes(out + data[position:limit])


def _mark(name: str) -> bytes:
    return f"[redacted: {name}]".encode()


def _decoded(data: bytes) -> str:
    try:
        return data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        # A value that is no UTF-8 itself was a part of a character.
        return data.decode("utf-8", "replace")
