"""The binary format of COPY comes apart into the lines it was made of, however it is cut."""

import re
from datetime import UTC, datetime
from enum import StrEnum
from itertools import pairwise
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from db.copying import BinaryRows, BrokenCopyError, inlined

HEADER = b"PGCOPY\n\xff\r\n\0" + bytes(4) + (5).to_bytes(4, "big") + b"extra"
TRAILER = b"\xff\xff"
TEXTS = st.lists(st.binary(max_size=40))


def row(value: bytes) -> bytes:
    return b"\0\1" + len(value).to_bytes(4, "big") + value


def encoded(values: list[bytes]) -> bytes:
    return HEADER + b"".join(map(row, values)) + TRAILER


@given(TEXTS, st.lists(st.integers(0, 400)))
def test_lines_come_out_however_they_are_cut(values: list[bytes], cuts: list[int]) -> None:
    data, rows = encoded(values), BinaryRows()
    places = [0, *sorted(cuts), len(data)]
    fed = [rows.feed(data[start:end]) for start, end in pairwise(places)]
    assert b"".join(lines for lines, _ in fed) == b"".join(re.sub(rb"[\r\n]", b" ", value) + b"\n" for value in values)
    assert sum(count for _, count in fed) == len(values)
    assert rows.is_complete


@given(TEXTS, st.integers(0, 400))
def test_what_is_cut_off_is_not_complete(values: list[bytes], missing: int) -> None:
    data, rows = encoded(values), BinaryRows()
    rows.feed(data[: max(0, len(data) - 1 - missing)])
    assert not rows.is_complete


@pytest.mark.parametrize(
    "data",
    [
        b"id,line\n",
        HEADER + b"\0\2" + bytes(8),  # two columns
        HEADER + b"\0\1\xff\xff\xff\xff" + bytes(4),  # null
    ],
)
def test_anything_else_is_refused(data: bytes) -> None:
    with pytest.raises(BrokenCopyError):
        BinaryRows().feed(data)


class _Kind(StrEnum):
    FAILED = "failed"
    HOSTILE = "it's"


def test_arguments_stand_in_their_places() -> None:
    moment = datetime(2026, 1, 31, 9, tzinfo=UTC)
    text = inlined("a = $1 and b < $2::bigint and c = $10;\n", [_Kind.FAILED, 5, *[None] * 7, UUID(int=1)])
    assert text == "a = 'failed' and b < (5)::bigint and c = '00000000-0000-0000-0000-000000000001'::uuid"
    assert inlined("$1 $2", [moment, None]) == "'2026-01-31T09:00:00+00:00'::timestamptz null"
    assert inlined("$1", [1e-300]) == "'1e-300'::double precision"


@pytest.mark.parametrize("value", ["text", float("nan"), float("-inf"), b"bytes", _Kind.HOSTILE, [1]])
def test_what_could_say_more_has_no_place(value: object) -> None:
    with pytest.raises(TypeError):
        inlined("$1", [value])
