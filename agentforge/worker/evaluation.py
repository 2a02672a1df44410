"""The evaluator: run after agent and world have ended, it prints one JSON object."""

import asyncio
import json
import math
import re
from typing import Final, Never

from pydantic import JsonValue

from agentforge.worker.log import Log, LogStream
from agentforge.worker.outcome import EvaluatorFailedError, Score
from agentforge.worker.processes import CannotStartError, Process, describe_exit
from agentforge.worker.redaction import Redactor
from agentforge.worker.room import Room
from agentforge.worker.text import storable

EVALUATOR_SECONDS: Final = 60.0
_OUTPUT_BYTES: Final = 1024 * 1024
_CATEGORY: Final = re.compile(r"[a-z][a-z0-9_]{0,63}")


class _Output:
    """The evaluator's stdout, up to a limit."""

    def __init__(self) -> None:
        self.data = bytearray()
        self.is_too_long = False

    def feed(self, data: bytes) -> None:
        self.is_too_long = self.is_too_long or len(self.data) + len(data) > _OUTPUT_BYTES
        if not self.is_too_long:
            self.data += data

    def close(self) -> None:
        pass


async def evaluate(room: Room, log: Log, redactor: Redactor) -> Score:
    """Runs the evaluator in the world's folder. Raises EvaluatorFailedError."""
    output = _Output()
    excesses: list[str] = []
    try:
        process = await Process.start(
            room.evaluator_command(),
            env=room.evaluator_environment(),
            cwd=room.world,
            bounds=room.evaluator_bounds(),
            exceeded=lambda _, deed: excesses.append(deed),
            stdout=output,
            stderr=LogStream(log, "[evaluator] ", redactor),
        )
    except CannotStartError as error:
        raise EvaluatorFailedError(f"the evaluator cannot start: {error}") from error
    async with process:
        try:
            code = await asyncio.wait_for(process.ended(), EVALUATOR_SECONDS)
        except TimeoutError as error:
            raise EvaluatorFailedError(f"no score within {EVALUATOR_SECONDS:g} s") from error
    if excesses:
        raise EvaluatorFailedError(f"the evaluator {excesses[0]}")
    if code != 0:
        raise EvaluatorFailedError(f"the evaluator {describe_exit(code)}")
    if output.is_too_long:
        raise EvaluatorFailedError(f"the evaluator printed more than {_OUTPUT_BYTES} bytes")
    return parse_score(bytes(output.data), redactor)


def parse_score(output: bytes, redactor: Redactor) -> Score:
    """Reads the evaluator's stdout: one JSON object. Raises EvaluatorFailedError saying what is wrong."""
    try:
        printed: JsonValue = json.loads(
            output.decode(),
            parse_constant=_refuse_constant,
            parse_float=_finite,
            object_pairs_hook=_unique_keys,
        )
        # Before any of it is looked at or cut, and as values: in the text a number could not be replaced.
        value = redactor.json(printed)
    except (ValueError, RecursionError) as error:
        raise EvaluatorFailedError(f"stdout is not one JSON object: {error}") from error
    if not isinstance(value, dict):
        raise EvaluatorFailedError("stdout is not one JSON object")
    reward = value.pop("reward", None)
    if any(storable(key) != key for key in value if key.startswith("stage_")):
        raise EvaluatorFailedError("the name of a stage holds NUL or a lone surrogate")
    category, detail = value.pop("failure_category", None), value.pop("failure_detail", None)
    stages = tuple((key, _number(key, value.pop(key))) for key in list(value) if key.startswith("stage_"))
    return Score(
        reward=None if reward is None else _number("reward", reward),
        category=_checked_category(category),
        detail=_checked_detail(detail),
        stages=stages,
        metrics=value,
    )


def _refuse_constant(name: str) -> Never:
    raise ValueError(f"{name} is not JSON")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text} is too large")
    return number


def _unique_keys(pairs: list[tuple[str, JsonValue]]) -> dict[str, JsonValue]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("a key stands twice in one object")
    return members


def _number(key: str, value: JsonValue) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        shown = json.dumps(value)
        raise EvaluatorFailedError(f"{key} is not a number: {shown[:100]}")
    try:
        return float(value)
    except OverflowError as error:
        raise EvaluatorFailedError(f"{key} is too large") from error


def _checked_category(value: JsonValue) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str) or not _CATEGORY.fullmatch(value):
        raise EvaluatorFailedError(f"failure_category is not like {_CATEGORY.pattern}")
    return value


def _checked_detail(value: JsonValue) -> str | None:
    if value is None or isinstance(value, str):
        return value
    raise EvaluatorFailedError("failure_detail is not a text")
