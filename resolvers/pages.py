"""Pages by keyset: a cursor names the last row seen, so a page neither repeats nor skips while rows arrive."""

import base64
import binascii
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar
from uuid import UUID

import orjson

from db.errors import InvalidInputError

Row = TypeVar("Row")

DEFAULT_SIZE = 50
LARGEST_SIZE = 500


@dataclass(frozen=True, slots=True)
class Page(Generic[Row]):
    """Up to `first` rows; `count` runs its statement only when called."""

    rows: Sequence[Row]
    has_next_page: bool
    has_previous_page: bool
    cursor: Callable[[Row], str]
    count: Callable[[], Awaitable[int]]


def page_size(first: int | None) -> int:
    """Raises InvalidInputError for a size outside 1 to 500."""
    size = DEFAULT_SIZE if first is None else first
    if not 1 <= size <= LARGEST_SIZE:
        raise InvalidInputError(f"first is {size}; a page has 1 to {LARGEST_SIZE} rows.", ["first"])
    return size


def encode_cursor(listing: str, *key: object) -> str:
    """An opaque text. `listing` is kept in it, so that one list's or order's cursor is not taken for another's."""
    return base64.urlsafe_b64encode(orjson.dumps([listing, *key])).rstrip(b"=").decode()


def _invalid_cursor() -> InvalidInputError:
    return InvalidInputError("after is not a cursor of this list and order; take one from its pageInfo.", ["after"])


def _decode(listing: str, after: str, length: int) -> list[object]:
    try:
        decoded = orjson.loads(base64.urlsafe_b64decode(after + "=" * (-len(after) % 4)))
    except (binascii.Error, ValueError):
        raise _invalid_cursor() from None
    if not isinstance(decoded, list) or len(decoded) != 1 + length or decoded[0] != listing:
        raise _invalid_cursor()
    return decoded[1:]


def decode_id_cursor(listing: str, after: str | None) -> UUID | None:
    """The id to continue behind. Raises InvalidInputError."""
    if after is None:
        return None
    (text,) = _decode(listing, after, 1)
    return _uuid(text)


def decode_reward_cursor(listing: str, after: str | None) -> tuple[UUID | None, float | None]:
    """The id and reward to continue behind. Raises InvalidInputError."""
    if after is None:
        return None, None
    identifier, reward = _decode(listing, after, 2)
    if reward is not None and (isinstance(reward, bool) or not isinstance(reward, int | float)):
        raise _invalid_cursor()
    return _uuid(identifier), reward


def decode_position_cursor(listing: str, after: str | None) -> int:
    """How many elements of a fixed list lie before the page. Raises InvalidInputError."""
    if after is None:
        return 0
    (position,) = _decode(listing, after, 1)
    if isinstance(position, bool) or not isinstance(position, int) or position < 0:
        raise _invalid_cursor()
    return position


def _uuid(text: object) -> UUID:
    try:
        return UUID(str(text))
    except ValueError:
        raise _invalid_cursor() from None


def page(
    rows: Sequence[Row],
    size: int,
    after: str | None,
    cursor: Callable[[Row], str],
    count: Callable[[], Awaitable[int]],
) -> Page[Row]:
    """The page of `rows`, which were asked for with one more than `size` to know whether more follow."""
    return Page(rows[:size], len(rows) > size, after is not None, cursor, count)
