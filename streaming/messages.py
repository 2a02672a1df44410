"""Recorded attempts as messages with calls of tools, alone and in pairs, as chat templates and trainers take them.

The messages: https://huggingface.co/docs/transformers/chat_extras. The pairs:
https://huggingface.co/docs/trl/dataset_formats#preference, with the prompt apart.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from streaming.recorded import Call, Exchange, Reason, Row, SkippedError, json_text, steps
from streaming.tools import Tools


class PairMode(StrEnum):
    """What is preferred to what."""

    TRAJECTORY = "trajectory"
    DIVERGENCE = "divergence"


def _asked(number: int, call: Call) -> str:
    # 9 letters and digits: what the strictest of the templates take.
    function = f'{{"name":{json_text(call.tool)},"arguments":{call.arguments}}}'
    calls = f'[{{"id":"call{number:05}","type":"function","function":{function}}}]'
    return f'{{"role":"assistant","content":"","tool_calls":{calls}}}'


def _answered(number: int, call: Call) -> str:
    return (
        f'{{"role":"tool","tool_call_id":"call{number:05}","name":{json_text(call.tool)},'
        f'"content":{json_text(call.observation)}}}'
    )


def _messages(calls: Sequence[Call], after: int = 0) -> list[str]:
    return [
        message
        for number, call in enumerate(calls[after:], after + 1)
        for message in (_asked(number, call), _answered(number, call))
    ]


def _prompt(task: object) -> str:
    if type(task) is not str:
        raise SkippedError(Reason.NO_TASK)
    return f'{{"role":"user","content":{json_text(task)}}}'


def _array(texts: Sequence[str]) -> str:
    return f"[{','.join(texts)}]"


@dataclass(slots=True)
class _Attempt:
    """`others` are the numbers of the steps that are no message: the agent's program and the world set them up."""

    calls: list[Call] = field(default_factory=list)
    others: list[int] = field(default_factory=list)
    tools: Tools = field(default_factory=Tools)

    @classmethod
    def read(cls, row: Row) -> "_Attempt":
        attempt = cls()
        for one in steps(row.values()):
            if isinstance(one, Exchange):
                attempt.others.append(one.number)
                attempt.tools.learn(one)
            else:
                attempt.calls.append(one)
        if not attempt.calls:
            raise SkippedError(Reason.NO_TOOL_CALLS)
        return attempt

    def cut(self) -> list[int]:
        return [call.number for call in self.calls if call.is_cut]


def messages_line(row: Row) -> str:
    """A line of a row of `exports.recorded`. Raises SkippedError."""
    facts, version, *_, task = (row.value() for _ in range(7))
    prompt = _prompt(task)
    attempt = _Attempt.read(row)
    return (
        f'{{"schemaVersion":1,"privacyClass":"PRIVATE","format":"openai-messages",{facts},'
        f'"environmentVersionId":"{version}","messages":{_array([prompt, *_messages(attempt.calls)])},'
        f'"tools":{attempt.tools},"protocolSteps":{json_text(attempt.others)},"truncatedSteps":{json_text(attempt.cut())}}}'
    )


def pair_line(row: Row, mode: PairMode) -> str:
    """A line of a row of `exports.pairs_extreme` or `pairs_all`. Raises SkippedError."""
    facts, task = row.value(), row.value()
    prompt = [_prompt(task)]
    best, worst = _Attempt.read(row), _Attempt.read(row)
    tools = _common_tools(best.tools, worst.tools)
    if mode is PairMode.TRAJECTORY:
        chosen, rejected = _messages(best.calls), _messages(worst.calls)
    else:
        shared = _divergence(best.calls, worst.calls)
        prompt += _messages(best.calls[:shared])
        chosen, rejected = ([_asked(shared + 1, one.calls[shared])] for one in (best, worst))
    return (
        f'{{"schemaVersion":1,"privacyClass":"PRIVATE","format":"trl","pair":"{mode}",{facts},'
        f'"prompt":{_array(prompt)},"chosen":{_array(chosen)},"rejected":{_array(rejected)},"tools":{tools},'
        f'"truncatedSteps":{{"chosen":{json_text(best.cut())},"rejected":{json_text(worst.cut())}}}}}'
    )


def _divergence(best: Sequence[Call], worst: Sequence[Call]) -> int:
    """How many calls and answers come before both ask for something else.

    Raises SkippedError where one only goes on when the other has ended, or where the same call was answered
    differently before: then they do not answer the same prompt.
    """
    for index, (one, other) in enumerate(zip(best, worst, strict=False)):
        if not one.does_as(other):
            return index
        if one.observation != other.observation:
            break
    raise SkippedError(Reason.NO_DIVERGENCE)


def _common_tools(one: Tools, other: Tools) -> Tools:
    """Those of both; of an agent that never asked for them, the other's."""
    if one.by_name and other.by_name and one.by_name != other.by_name:
        raise SkippedError(Reason.TOOLS_DIFFER)
    return one if one.by_name else other
