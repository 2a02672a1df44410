"""JSON-RPC messages, read for recording: the parts of a line as the text that was sent."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

_SPACE: Final = re.compile(r"[ \t\r\n]*")
# Numbers stay text: nothing is computed from them, and huge ones must not raise.
_DECODER: Final = json.JSONDecoder(parse_int=str, parse_float=str, parse_constant=str)


class UnreadableError(ValueError):
    """The line is not one JSON-RPC message."""


@dataclass(frozen=True, slots=True)
class Message:
    """One line; `params`, `result` and `error` are JSON texts as sent, None where absent.

    `identity` is the canonical JSON text of the id, so that 1 and "1" differ.
    """

    method: str | None
    identity: str | None
    params: str | None
    result: str | None
    error: str | None

    @property
    def is_request(self) -> bool:
        return self.method is not None and self.identity is not None

    @property
    def has_content(self) -> bool:
        """Whether there is more to it than that it came."""
        return any(part not in (None, "{}") for part in (self.params, self.result, self.error))


def read_message(line: bytes, *, is_strict: bool) -> Message:
    """Reads one line. Raises UnreadableError.

    Strict, for what the agent sends, refuses whatever another reader could take for a different message:
    invalid UTF-8, a carriage return inside the line, a key that stands twice, a request without an id.
    """
    try:
        text = line.decode("utf-8", "strict" if is_strict else "replace").strip(" \t\r\n")
        if is_strict and "\r" in text:
            raise UnreadableError("a carriage return inside the line")
        members = _members(text, is_strict=is_strict)
        if is_strict and members.get("params", "").startswith("{"):
            _members(members["params"], is_strict=True)
        method = json.loads(members["method"]) if "method" in members else None
        identity = _identity(members.get("id"))
    except (ValueError, RecursionError, IndexError) as error:
        raise UnreadableError(str(error)) from error
    if method is not None and not isinstance(method, str):
        raise UnreadableError("the method is not a text")
    if is_strict and method and identity is None and not method.startswith("notifications/"):
        raise UnreadableError("a request without an id")
    return Message(method, identity, members.get("params"), members.get("result"), members.get("error"))


def whole_line(line: bytes) -> bytes:
    """Returns the line with its newline, which only the last one before the end may lack."""
    return line if line.endswith(b"\n") else line + b"\n"


def line_text(line: bytes) -> str:
    """Returns the line for recording, without its end."""
    return line.decode("utf-8", "replace").strip("\r\n")


def tool_call(params: str | None) -> tuple[str, str] | None:
    """Returns a call's tool name and its arguments as sent (`{}` without any); None if it names no tool."""
    if params is None or not params.startswith("{"):
        return None
    members = _members(params, is_strict=False)
    name = members.get("name", "")
    return (json.loads(name), members.get("arguments", "{}")) if name.startswith('"') else None


def result_text(result: str) -> str:
    """Returns the texts of a tool's result, a line each; the result as sent if it holds anything else."""
    try:
        value: Any = _DECODER.decode(result)
    except RecursionError:
        return result
    content = value.get("content") if isinstance(value, dict) else None
    if not isinstance(content, list) or not content:
        return result
    texts = [item["text"] for item in content if isinstance(item, dict) and isinstance(item.get("text"), str)]
    return "\n".join(texts) if len(texts) == len(content) else result


def _identity(value: str | None) -> str | None:
    if value is None or value == "null":
        return None
    identity = json.loads(value)
    if isinstance(identity, bool) or not isinstance(identity, str | int):
        raise UnreadableError("the id is neither a text nor an integer")
    return json.dumps(identity)


def _members(text: str, *, is_strict: bool) -> dict[str, str]:
    """Returns the members of a JSON object, each value as the text it was sent in."""
    members: dict[str, str] = {}
    for key, value in _walk(text):
        if is_strict and key in members:
            raise UnreadableError(f"the key {key} stands twice")
        members[key] = value
    return members


def _walk(text: str) -> Iterator[tuple[str, str]]:
    position = _after(text, 0, "{")
    is_last = text[position] == "}"
    while not is_last:
        if text[position] != '"':
            raise UnreadableError(f"a key expected at character {position}")
        key, position = _DECODER.raw_decode(text, position)
        start = _after(text, position, ":")
        _, position = _DECODER.raw_decode(text, start)
        yield key, text[start:position]
        position = _skip(text, position)
        is_last = text[position] == "}"
        if not is_last:
            position = _after(text, position, ",")
    if position + 1 != len(text):
        raise UnreadableError("more than one JSON value")


def _after(text: str, position: int, character: str) -> int:
    position = _skip(text, position)
    if text[position] != character:
        raise UnreadableError(f"{character} expected at character {position}")
    return _skip(text, position + 1)


def _skip(text: str, position: int) -> int:
    match = _SPACE.match(text, position)
    assert match
    return match.end()
