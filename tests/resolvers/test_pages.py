"""Cursors: opaque, exact, and of one list and order only."""

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from db.errors import InvalidInputError
from resolvers.pages import (
    Page,
    decode_id_cursor,
    decode_position_cursor,
    decode_reward_cursor,
    encode_cursor,
    page,
    page_size,
)

REWARDS = st.none() | st.floats(allow_nan=False, allow_infinity=False)


@given(st.uuids(), REWARDS, st.integers(0, 2**53))
def test_a_cursor_reads_back_what_it_was_made_of(key: UUID, reward: float | None, position: int) -> None:
    assert decode_id_cursor("trials newest", encode_cursor("trials newest", str(key))) == key
    assert decode_position_cursor("steps", encode_cursor("steps", position)) == position
    listing = "trials reward_highest"
    found, exact = decode_reward_cursor(listing, encode_cursor(listing, str(key), reward))
    assert (found, repr(exact)) == (key, repr(reward))


def test_no_cursor_is_the_start() -> None:
    assert decode_id_cursor("a", None) is None
    assert decode_reward_cursor("a", None) == (None, None)
    assert decode_position_cursor("a", None) == 0


@given(st.uuids())
def test_a_cursor_goes_into_a_url_as_it_is(key: UUID) -> None:
    cursor = encode_cursor("trials newest", str(key))
    assert cursor.replace("-", "").replace("_", "").isalnum()


@given(st.text(max_size=60) | st.binary(max_size=60).map(lambda raw: raw.decode("latin-1")))
def test_whatever_else_is_refused_and_nothing_crashes(after: str) -> None:
    for decode in (decode_id_cursor, decode_reward_cursor, decode_position_cursor):
        with pytest.raises(InvalidInputError) as refused:
            decode("trials newest", after)
        assert refused.value.field == ("after",)


def test_sizes() -> None:
    assert [page_size(first) for first in (None, 1, 500)] == [50, 1, 500]
    for first in (0, -1, 501):
        with pytest.raises(InvalidInputError, match=f"first is {first}; a page has 1 to 500 rows"):
            page_size(first)


@given(st.lists(st.integers(), max_size=6), st.integers(1, 6), st.none() | st.just("cursor"))
def test_a_page_shows_its_size_and_knows_of_one_more(rows: list[int], size: int, after: str | None) -> None:
    async def count() -> int:
        return len(rows)

    made: Page[int] = page(rows[: size + 1], size, after is not None, str, count)
    assert list(made.rows) == rows[:size]
    assert (made.has_next_page, made.has_previous_page) == (len(rows) > size, after is not None)
