"""Pages by keyset: a cursor names the last row seen, so a page neither repeats nor skips while rows arrive."""

import base64
import binascii
from collections.abc import Awaitable, Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar
from uuid import UUID

import orjson

from db.counts import Count, ParentCount
from db.errors import InvalidInputError
from db.query import Query
from resolvers.context import Context
from resolvers.loaders import Many, One

Row = TypeVar("Row")

DEFAULT_SIZE = 50
LARGEST_SIZE = 500


@dataclass(frozen=True, slots=True)
class Listing(Generic[Row]):
    """One page of a list that the database keeps in order, asked for and not yet looked up.

    `rows` and `count` are statements, or edges where the list is one of each parent. The statement of the rows takes
    `arguments`, then `position` (the key to continue behind), then how many rows are wanted, then a parent's keys;
    that of the count takes `arguments`, then a parent's keys. A cursor is made of `cursor_columns`.
    """

    name: str
    rows: Query[Row] | Many[Row]
    count: Query[Count] | One[ParentCount]
    arguments: tuple[object, ...]
    position: tuple[object, ...]
    size: int
    continued: bool
    cursor_columns: tuple[str, ...] = ("id",)

    def row_arguments(self) -> tuple[object, ...]:
        """One row more than the page has tells whether another page follows."""
        return (*self.arguments, *self.position, self.size + 1)

    def cursor(self, row: Row) -> str:
        return encode_cursor(self.name, *(getattr(row, column) for column in self.cursor_columns))


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
    return base64.urlsafe_b64encode(orjson.dumps([listing, *key], default=str)).rstrip(b"=").decode()


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


def newest_first(
    name: str,
    rows: Query[Row] | Many[Row],
    count: Query[Count] | One[ParentCount],
    arguments: tuple[object, ...],
    first: int | None,
    after: str | None,
) -> Listing[Row]:
    """A listing in the order of ids. Raises InvalidInputError for a page size or cursor that it cannot have."""
    size = page_size(first)
    return Listing(name, rows, count, arguments, (decode_id_cursor(name, after),), size, after is not None)


async def fetch(context: Context, listing: Listing[Row], parent: Hashable = None) -> Page[Row]:
    """The page of a listing; of an edge's, that of `parent`."""
    if isinstance(listing.rows, Query):
        rows = await context.tenant.fetch(listing.rows, *listing.row_arguments())
    else:
        rows = await context.load(listing.rows, parent, *listing.row_arguments())

    async def count() -> int:
        if isinstance(listing.count, Query):
            (total,) = await context.tenant.fetch(listing.count, *listing.arguments)
            return total.total
        found = await context.load(listing.count, parent, *listing.arguments)
        return found.total if found else 0

    return page(rows, listing.size, listing.continued, listing.cursor, count)


def page(
    rows: Sequence[Row],
    size: int,
    continued: bool,
    cursor: Callable[[Row], str],
    count: Callable[[], Awaitable[int]],
) -> Page[Row]:
    """The page of `rows`, which were asked for with one more than `size` to know whether more follow."""
    return Page(rows[:size], len(rows) > size, continued, cursor, count)
