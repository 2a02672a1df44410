"""Converting rows: in bounded pieces, and away from the event loop."""

import asyncio
import json
from collections import Counter
from functools import partial
from typing import Any

import pytest

from db.errors import InvalidInputError
from streaming.atif import atif_line
from streaming.conversion import Converted
from streaming.messages import PairMode, messages_line, pair_line
from streaming.recorded import Reason
from tests.streaming.recorded import recorded

FACTS = '"rolloutId":"r","seed":0,"reward":1,"evaluationRunId":"e"'
#: Turns that others have at least during a conversion of tens of milliseconds; on the loop itself it would be two.
TURNS = 20


def row_of(steps: list[dict[str, Any]]) -> bytes:
    return json.dumps([FACTS, "v", 1, 1, "agent", "c", "task", steps]).encode() + b"\n"


async def converted(convert: Any, row: bytes, *, strict: bool = False) -> tuple[list[bytes], Counter[Reason]]:
    got: list[bytes] = []

    async def take(lines: bytes, count: int) -> None:
        assert lines.count(b"\n") == count
        got.append(lines)

    skipped = Counter[Reason]()
    await Converted(convert, take, strict, skipped).add(row, row.count(b"\n"))
    return got, skipped


async def turns(work: "asyncio.Task[Any]") -> int:
    """How often the loop came round until the work was done."""
    count = 0
    while not work.done():
        await asyncio.sleep(0)
        count += 1
    return count


LONG = row_of(recorded(*[("order", json.dumps({"n": n}), "done") for n in range(30_000)]))
LARGE = row_of(recorded(("order", '{"a":1}', "é\0x" * 2_800_000)))
PAIR = json.dumps(
    [FACTS, "task", recorded(*[("a", "{}", "")] * 20_000), recorded(*[("b", "{}", "")] * 20_000)]
).encode()


@pytest.mark.parametrize(
    ("convert", "row"),
    [
        (atif_line, LONG),
        (atif_line, LARGE),
        (messages_line, LONG),
        (messages_line, LARGE),
        (partial(pair_line, mode=PairMode.TRAJECTORY), PAIR + b"\n"),
        (partial(pair_line, mode=PairMode.DIVERGENCE), PAIR + b"\n"),
    ],
)
async def test_others_have_their_turn_meanwhile(convert: Any, row: bytes) -> None:
    work = asyncio.create_task(converted(convert, row))
    count = await turns(work)
    got, skipped = await work
    assert len(got) == 1
    assert not skipped
    assert count >= TURNS


async def test_lines_pass_between_rows_that_are_converted() -> None:
    bad = row_of(recorded(("order", "[]", "")))
    rows = b'{"ready":"[1]"}\n' + bad + row_of([]) + bad
    (lines,), skipped = await converted(atif_line, rows)
    first, second = lines.splitlines()
    assert (first, json.loads(second)["rolloutId"]) == (b'{"ready":"[1]"}', "r")
    assert skipped == {Reason.NOT_AN_OBJECT: 2}
    assert await converted(atif_line, bad) == ([], {Reason.NOT_AN_OBJECT: 1})
    with pytest.raises(InvalidInputError, match="arguments_not_an_object"):
        await converted(atif_line, rows, strict=True)


async def test_steps_that_were_stored_on_many_lines() -> None:
    steps = json.dumps(recorded(("order", '{\n"a" : "\\n"}', "\n")), indent=2).replace("\n", "  ")
    row = b"[ " + json.dumps([FACTS, "v", 1, 1, "agent", "c", "task"])[1:-1].encode() + b" , " + steps.encode() + b"]\n"
    (line,), _ = await converted(atif_line, row)
    last = json.loads(line)["trajectory"]["steps"][-1]
    assert last["tool_calls"][0]["arguments"] == {"a": "\n"}
    assert last["observation"]["results"][0]["content"] == "\n"
