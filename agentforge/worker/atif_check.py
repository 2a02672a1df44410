"""Reads a trajectory from standard input and says whether it is one in ATIF, in a process of its own (see `atif`).

It prints lines of JSON with the members `is_json`, `version` and `errors` between them.

The format: https://github.com/harbor-framework/harbor/blob/main/rfcs/0001-trajectory-format.md
"""

import contextlib
import json
import math
import resource
import sys
from collections.abc import Iterable, Iterator
from typing import Any, Final, Never

from atif import Trajectory
from pydantic import ValidationError

MEMORY_BYTES: Final = 1024**3  # a valid document of 16 MiB takes a quarter
MOST_ERRORS: Final = 20
MOST_CHARACTERS: Final = 300  # of an error, and of a version
MOST_LEVELS: Final = 200
TOO_MUCH: Final = "it holds too much that is wrong to be checked within the limits of time and memory"
_TOO_DEEP: Final = f"nested more than {MOST_LEVELS} levels deep"
_VERSIONS: Final = tuple(f"ATIF-v1.{minor}" for minor in range(9))
_BEFORE_TRAJECTORY_ID: Final = _VERSIONS[:7]
_MOST_DIGITS: Final = 4000  # Python refuses to read longer integers


def main() -> None:
    with contextlib.suppress(ValueError, OSError):  # macOS knows no such limit
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for line in judge(sys.stdin.buffer.read()):
        print(json.dumps(line), flush=True)  # noqa: T201 - this is what it is for


def judge(content: bytes) -> Iterator[dict[str, object]]:
    """Yields what is known as soon as it is: checking may take more than it is given."""
    try:
        value = parse(content)
    except (ValueError, MemoryError) as error:
        yield {"is_json": False, "version": None, "errors": [shortened(str(error) or TOO_MUCH)]}
        return
    version = value.get("schema_version") if isinstance(value, dict) else None
    yield {"is_json": True, "version": shortened(version) if isinstance(version, str) else None}
    yield {"errors": errors_of(value)}


def parse(content: bytes) -> Any:
    """Raises ValueError for what is not one JSON value of up to 200 levels in UTF-8; the message says why."""
    try:
        value = json.loads(content.decode(), parse_constant=_refuse_constant, parse_int=_integer)
    except UnicodeDecodeError as error:
        raise ValueError(f"not UTF-8: {error.reason} at byte {error.start}") from error
    except json.JSONDecodeError as error:
        raise ValueError(f"not JSON: {error}") from error
    except RecursionError as error:
        raise ValueError(_TOO_DEEP) from error
    if _is_deeper([value]):
        raise ValueError(_TOO_DEEP)
    return value


def _refuse_constant(name: str) -> Never:
    raise ValueError(f"not JSON: {name}")


def _integer(digits: str) -> int | float:
    return int(digits) if len(digits) <= _MOST_DIGITS else math.copysign(math.inf, -1 if digits[0] == "-" else 1)


def _is_deeper(level: list[Any]) -> bool:
    for _ in range(MOST_LEVELS + 1):
        holders = [one.values() if isinstance(one, dict) else one for one in level if isinstance(one, dict | list)]
        level = [inner for holder in holders for inner in holder]
        if not holders:
            return False
    return True


def errors_of(value: Any) -> list[str]:
    """Returns what keeps a JSON value from being a trajectory, nothing if it is one.

    Each error names its place: `steps.0.source: Input should be …`.
    """
    if not isinstance(value, dict):
        return ["an object was expected"]
    version = value.get("schema_version")
    if isinstance(version, str) and version not in _VERSIONS:
        return [shortened(f"schema_version: {version!r:.100} is none of {_VERSIONS[0]} to {_VERSIONS[-1]}")]
    if version in _BEFORE_TRAJECTORY_ID:
        _name_subagents(value)
    try:
        Trajectory.model_validate(value)
    except ValidationError as error:
        return _told(error)
    except (MemoryError, RecursionError):
        return [TOO_MUCH]
    return []


def _name_subagents(value: dict[str, Any]) -> None:
    """Before 1.7 it was the `session_id` that named a subagent's trajectory, where 1.8 wants a `trajectory_id`."""
    refs: Iterable[Any] = [value]
    for name in ("steps", "observation", "results", "subagent_trajectory_ref"):
        refs = list(_under(name, refs))
    for ref in refs:
        if isinstance(ref, dict) and ref.get("trajectory_id") is None and ref.get("trajectory_path") is None:
            ref["trajectory_id"] = ref.get("session_id")


def _under(name: str, objects: Iterable[Any]) -> Iterator[Any]:
    for one in objects:
        inner = one.get(name) if isinstance(one, dict) else None
        yield from inner if isinstance(inner, list) else [inner]


def _told(error: ValidationError) -> list[str]:
    count = error.error_count()
    try:
        found = error.errors(include_url=False, include_context=False, include_input=False)[:MOST_ERRORS]
    except MemoryError:
        return [f"{count} errors"]
    told = [shortened(f"{'.'.join(map(str, one['loc'])) or 'trajectory'}: {one['msg']}") for one in found]
    return told if count <= MOST_ERRORS else [*told, f"and {count - MOST_ERRORS} more errors"]


def shortened(text: str) -> str:
    """Returns a text that a database can hold, of at most 300 characters."""
    storable = text[:MOST_CHARACTERS].replace("\0", "\\x00").encode("utf-8", "backslashreplace").decode()
    return storable if len(text) <= MOST_CHARACTERS >= len(storable) else f"{storable[: MOST_CHARACTERS - 3]}..."


if __name__ == "__main__":
    main()
