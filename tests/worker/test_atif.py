"""What is said about a trajectory that an agent left, however it is written."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentforge.worker import atif
from agentforge.worker.atif import AtifVerdict, check
from agentforge.worker.atif_check import MOST_CHARACTERS, MOST_ERRORS, TOO_MUCH, errors_of, judge
from agentforge.worker.text import storable

DATA = Path(__file__).parents[1] / "data" / "atif"
SIXTEEN_MIB = 16 * 1024 * 1024
SMALLEST: dict[str, Any] = {"schema_version": "ATIF-v1.8", "agent": {"name": "a", "version": "1"}, "steps": []}
BIG_NUMBER = b'{"schema_version":"ATIF-v1.8","agent":{"name":"a","version":"1"},"steps":[],"extra":{"n":%b}}' % (
    b"9" * 5000
)


def document(**changes: Any) -> bytes:
    return json.dumps(SMALLEST | changes).encode()


def step(**changes: Any) -> dict[str, Any]:
    return {"step_id": 1, "source": "agent", "message": "m"} | changes


def said(content: bytes) -> dict[str, Any]:
    """What the process says in the end."""
    told: dict[str, Any] = {}
    for line in judge(content):
        told |= line
    return told


async def test_real_trajectories_are_valid(subtests: pytest.Subtests) -> None:
    paths = sorted(DATA.iterdir())
    assert paths
    for path in paths:
        with subtests.test(path.name):
            assert await check(path.read_bytes()) == AtifVerdict(version="ATIF-v1.7", is_json=True)


@pytest.mark.parametrize("minor", range(9))
def test_every_version_from_1_0_to_1_8_is_known(minor: int) -> None:
    assert errors_of(SMALLEST | {"schema_version": f"ATIF-v1.{minor}"}) == []


@pytest.mark.parametrize(("minor", "valid"), [(0, True), (6, True), (7, False), (8, False)])
def test_before_1_7_a_session_named_the_trajectory_of_a_subagent(minor: int, valid: bool) -> None:
    results = [{"content": "c", "subagent_trajectory_ref": [{"session_id": "s"}]}]
    steps = [step(observation={"results": results})]
    assert (errors_of(SMALLEST | {"schema_version": f"ATIF-v1.{minor}", "steps": steps}) == []) is valid


@pytest.mark.parametrize(
    ("content", "version", "error", "is_json"),
    [
        (b"", None, "not JSON: Expecting value: line 1 column 1 (char 0)", False),
        (b"{} {}", None, "not JSON: Extra data", False),
        (b'{"a": NaN}', None, "not JSON: NaN", False),
        (b'{"a": "\x01"}', None, "not JSON: Invalid control character", False),
        (b"\xef\xbb\xbf{}", None, "not JSON", False),
        (b'{"a": "\xff"}', None, "not UTF-8: invalid start byte at byte 7", False),
        (b"[" * 201 + b"]" * 201, None, "nested more than 200 levels deep", False),
        (b"[" * 100_000, None, "nested more than 200 levels deep", False),
        (b"[" * 200 + b"]" * 200, None, "an object was expected", True),
        (b"null", None, "an object was expected", True),
        (b'"\\ud800"', None, "an object was expected", True),
        (b"{}", None, "schema_version: Field required", True),
        (document(schema_version=1.7), None, "schema_version: Input should be a valid string", True),
        (document(schema_version="1.7"), "1.7", "schema_version: '1.7' is none of ATIF-v1.0 to ATIF-v1.8", True),
        (document(schema_version="ATIF-v1.9"), "ATIF-v1.9", "is none of", True),
        (document(schema_version="\0\ud800"), "\\x00\\ud800", "is none of", True),
        (document(steps=[step(step_id=2)]), "ATIF-v1.8", "not sequential", True),
        (document(steps=[step(source="user", model_name="m")]), "ATIF-v1.8", "steps.0: ", True),
        (document(steps=[step(message=1)]), "ATIF-v1.8", "steps.0.message.str: ", True),
        (document(**{"od\0d": 1}), "ATIF-v1.8", "od\\x00d: Extra inputs", True),
        (document(**{"\ud800": 1}), "ATIF-v1.8", "unable to parse raw data as a unicode string", True),
        (document(**{"k" * 2_000_000: 1}), "ATIF-v1.8", "kkk...", True),
    ],
)
def test_what_is_wrong_is_said(content: bytes, version: str | None, error: str, is_json: bool) -> None:
    told = said(content)
    assert (told["version"], told["is_json"]) == (version, is_json)
    assert error in told["errors"][0]


async def test_what_json_readers_hardly_hold_is_valid() -> None:
    odd = document(steps=[step(message="\0\ud800\u2028", tool_calls=None)], extra={"n": 2**200})
    twice = document()[:-1] + b', "notes": "a", "notes": "b"}'
    for content in (odd, twice, BIG_NUMBER, BIG_NUMBER.replace(b"99", b'1e999,"m":9', 1)):
        assert await check(content) == AtifVerdict(version="ATIF-v1.8", is_json=True)


async def test_many_errors_are_counted() -> None:
    verdict = await check(document(steps=[{"step_id": 1}] * 1000))
    assert len(verdict.errors) == MOST_ERRORS + 1
    assert verdict.errors[-1] == "and 1980 more errors"


async def longest_pause() -> float:
    """The longest, in seconds, that this loop was kept from going on until this was cancelled."""
    loop, longest = asyncio.get_running_loop(), 0.0
    try:
        while True:
            before = loop.time()
            await asyncio.sleep(0.01)
            longest = max(longest, loop.time() - before)
    except asyncio.CancelledError:
        return longest


async def test_errors_without_end_take_neither_the_memory_nor_the_loop_of_the_worker() -> None:
    content = document(steps=[])[:-2] + b",".join([b"1"] * (SIXTEEN_MIB // 2 - 200)) + b"]}"
    pausing = asyncio.create_task(longest_pause())
    await asyncio.sleep(0)
    verdict = await check(content)
    pausing.cancel()
    assert verdict == AtifVerdict(version="ATIF-v1.8", errors=(TOO_MUCH,), is_json=True)
    assert await pausing < 1


async def test_time_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(atif, "CHECK_SECONDS", 0.01)
    assert await check(document()) == AtifVerdict(errors=(TOO_MUCH,))


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(codec=None)),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["steps", "agent", "extra"]), inner),
    max_leaves=8,
)
names = st.sampled_from([*SMALLEST, "observation", "results", "subagent_trajectory_ref", "\0", "\ud800"])
documents = st.dictionaries(names, anything).map(lambda changes: SMALLEST | {"schema_version": "ATIF-v1.6"} | changes)


@settings(deadline=None)
@given(documents)
def test_errors_are_few_short_and_storable(value: dict[str, Any]) -> None:
    errors = errors_of(value)
    assert len(errors) <= MOST_ERRORS + 1
    for error in errors:
        assert len(error) <= MOST_CHARACTERS
        assert storable(error) == error


@settings(deadline=None)
@given(st.binary(max_size=40) | anything.map(lambda value: json.dumps(value).encode()))
def test_what_is_not_json_has_an_error_and_what_is_can_be_passed_on(content: bytes) -> None:
    told = said(content)
    assert told["is_json"] or told["errors"]
    if told["is_json"]:
        json.loads(content.decode(), parse_constant=lambda name: pytest.fail(name))
