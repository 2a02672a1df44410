"""What an attempt recorded, read from a row of an export: step by step, and with each text as it was stored."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, Never


class Reason(StrEnum):
    """Why a format cannot carry a rollout or pair without loss."""

    NO_TASK = "no_task"
    NO_TOOL_CALLS = "no_tool_calls"
    NOT_TEXT = "step_not_text"
    NOT_AN_OBJECT = "arguments_not_an_object"
    TOOLS_UNREADABLE = "tools_unreadable"
    TOOLS_DIFFER = "tools_differ"
    NO_DIVERGENCE = "no_divergence"


class SkippedError(Exception):
    """The format does not carry this row."""

    def __init__(self, reason: Reason) -> None:
        super().__init__(reason)
        self.reason = reason


def _number(text: str) -> tuple[str]:
    """As its text, since huge ones must not raise; within a tuple, so that 1 and "1" differ."""
    return (text,)


def _refuse(name: str) -> Never:
    raise ValueError(name)


_DECODER: Final = json.JSONDecoder(parse_int=_number, parse_float=_number, parse_constant=_refuse)
#: Compact JSON text in ASCII; made once, since making an encoder takes longer than most texts.
json_text: Final = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode
_SPACE: Final = re.compile(r"[ \t\r\n]*")
_NOT_ASCII: Final = re.compile(r"[^\x00-\x7f]")
_LINE_BREAK: Final = re.compile(r"[\r\n]")
#: What agentforge/worker/text.py leaves where the middle of a text was.
_CUT: Final = re.compile(r"\n\[\.\.\. [0-9]+ bytes cut \.\.\.\]\n")
_CUT_END: Final = " bytes cut ...]\n"

#: How the worker names the tool of what is no call of one.
_PROTOCOL: Final = "mcp"


class Row:
    """A JSON array, read value by value, so that no long array in it holds Python's lock for long."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = self._after(0, "[")

    def value(self) -> Any:
        """The next value. Raises SkippedError for one that is nested too deep to be read."""
        try:
            found, end = _DECODER.raw_decode(self._text, self._at)
        except RecursionError as error:
            raise SkippedError(Reason.NOT_TEXT) from error
        self._at = self._past(end)
        return found

    def values(self) -> Iterator[Any]:
        """Those of the array that is the next value."""
        self._at = self._after(self._at, "[")
        while self._text[self._at] != "]":
            yield self.value()
        self._at = self._past(self._at + 1)

    def _past(self, end: int) -> int:
        at = self._skip(end)
        return self._skip(at + 1) if self._text.startswith(",", at) else at

    def _after(self, at: int, character: str) -> int:
        if not self._text.startswith(character, at):
            raise ValueError(f"{character} expected at character {at}")
        return self._skip(at + 1)

    def _skip(self, at: int) -> int:
        match = _SPACE.match(self._text, at)
        assert match
        return match.end()


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a tool: `arguments` is a JSON object as it was sent, escaped to ASCII on one line."""

    number: int
    tool: str
    arguments: str
    observation: str

    @property
    def is_cut(self) -> bool:
        return is_cut(self.observation) or is_cut(self.tool)

    def does_as(self, other: "Call") -> bool:
        """Whether both ask the same of the same tool, in whatever order the arguments stand."""
        if self.tool != other.tool:
            return False
        return self.arguments == other.arguments or parsed(self.arguments) == parsed(other.arguments)


@dataclass(frozen=True, slots=True)
class Exchange:
    """Anything else that was said between agent and world: a request of the protocol, a notification, a broken line."""

    number: int
    command: str
    observation: str

    @property
    def is_cut(self) -> bool:
        return is_cut(self.observation) or is_cut(self.command)


def is_cut(text: str) -> bool:
    """Whether it holds the note of a cut, or a text that looks like one."""
    return _CUT_END in text and _CUT.search(text) is not None


def parsed(text: str) -> Any:
    """A JSON value whose numbers are tuples of their text; None for what is none, or is nested too deep."""
    try:
        return _DECODER.decode(text)
    except (ValueError, RecursionError):
        return None


def ascii_line(text: str) -> str:
    """JSON text in ASCII without line breaks; it can hold what is neither within strings only, and these between."""
    if not text.isascii():
        text = _NOT_ASCII.sub(lambda found: json.dumps(found[0])[1:-1], text)
    return _LINE_BREAK.sub(" ", text)


def steps(recorded: Iterator[Any]) -> Iterator[Call | Exchange]:
    """Each step of an array of {step, tool, command, observation}. Raises SkippedError."""
    for number, one in enumerate(recorded, 1):
        given = [one.get(name) for name in ("tool", "command", "observation")] if isinstance(one, dict) else [None]
        if any(type(text) is not str for text in given):
            raise SkippedError(Reason.NOT_TEXT)
        yield _step(number, *given)


def _step(number: int, tool: str, command: str, observation: str) -> Call | Exchange:
    arguments = parsed(command)
    # A tool of this name has arguments; a line that was passed on says that it is JSON-RPC.
    if tool == _PROTOCOL and (not isinstance(arguments, dict) or "jsonrpc" in arguments):
        return Exchange(number, command, observation)
    if not isinstance(arguments, dict):
        raise SkippedError(Reason.NOT_AN_OBJECT)
    return Call(number, tool, ascii_line(command), observation)
