"""Connections: a page of rows, or one for each parent, with what is asked of its edges, its page and its count."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

import orjson

from db.query import Query
from resolvers.pages import Listing, encode_cursor
from schema.compiled.execution import Arguments, Children, Execution, Projections
from schema.compiled.shape import Rows, Shape
from schema.compiled.values import json_list
from schema.sources import Listed

#: Columns that a cursor can be made of.
CURSOR_COLUMNS: Final = ("id", "reward")


@dataclass(frozen=True, slots=True)
class Asked:
    """What is selected on a connection, each a list of (response key, name); a typename stands as `__typename`.

    `edge` is the shape of an edge, in which a cursor's entry is a place to put it. With `lists` the database makes
    the edges' text instead. Rows have what a cursor is made of at `cursor_positions`.
    """

    typename: str
    fields: list[tuple[str, str]]
    page_info: dict[str, list[tuple[str, str]]]
    edge: Shape
    edge_cursors: list[str]
    cursor_positions: dict[str, int]
    lists: bool

    @property
    def rows(self) -> bool:
        return any(name in ("edges", "pageInfo") for _, name in self.fields)

    @property
    def total(self) -> bool:
        return any(name == "totalCount" for _, name in self.fields)


@dataclass(frozen=True, slots=True)
class _Page:
    """The rows with the one that tells whether another page follows, and the edges without it."""

    rows: Rows
    edges: list[dict[str, Any]] | orjson.Fragment

    @classmethod
    def of_text(cls, text: bytes | None, count: int, last: int | None, *cursors: Sequence[Any]) -> "_Page":
        return cls(list(zip(*cursors, strict=True)) if cursors else [()] * count, json_list(text, count, last))


@dataclass(frozen=True, slots=True)
class ConnectionField:
    """One statement for the rows and, when the count is asked for, one for the counts, however many parents."""

    source: Listed
    arguments: Arguments
    asked: Asked
    projections: Projections

    async def answer(self, execution: Execution) -> dict[str, Any]:
        """The connection of a list that has no parent."""
        listing = self.source.listing(**self.arguments(execution))
        assert isinstance(listing.rows, Query)
        rows: Rows = []
        if self.asked.rows:
            rows = await execution.transaction.select(self.projections(listing.rows), *listing.row_arguments())
        total = None
        if self.asked.total:
            assert isinstance(listing.count, Query)
            total = (await execution.transaction.fetch(listing.count, *listing.arguments))[0].total
        if rows and self.asked.lists:
            page = _Page.of_text(*rows[0])
        else:
            page = _Page(rows, await self.asked.edge.flat(execution, rows[: listing.size]))
        return self._connection(listing, page, total)

    async def load(self, execution: Execution, keys: Sequence[Any]) -> Children:
        """The connection of each parent; the first column is the parent's key."""
        listing = self.source.listing(**self.arguments(execution))
        assert not isinstance(listing.rows, Query)
        assert not isinstance(listing.count, Query)
        rows: Rows = []
        if self.asked.rows and keys:
            text = self.projections(listing.rows.query)
            rows = await execution.transaction.select(text, *listing.row_arguments(), keys)
        totals: dict[str, int] = {}
        if self.asked.total and keys:
            counted = await execution.transaction.fetch(listing.count.query, *listing.arguments, keys)
            totals = {str(count.parent_id): count.total for count in counted}
        pages = await self._pages(execution, listing.size, rows)
        empty = _Page([], [])
        return {key: self._connection(listing, pages.get(key, empty), totals.get(key, 0)) for key in keys}.__getitem__

    async def _pages(self, execution: Execution, size: int, rows: Rows) -> dict[Any, _Page]:
        """The page of each parent that has any rows."""
        if self.asked.lists:
            return {key: _Page.of_text(*page) for key, *page in rows}
        grouped = defaultdict[Any, list[Sequence[Any]]](list)
        for row in rows:
            grouped[row[0]].append(row)
        shown = [row for rows in grouped.values() for row in rows[:size]]
        items = iter(await self.asked.edge.flat(execution, shown))
        return {key: _Page(rows, [next(items) for _ in rows[:size]]) for key, rows in grouped.items()}

    def _connection(self, listing: Listing[Any], page: _Page, total: int | None) -> dict[str, Any]:
        def cursor(row: Sequence[Any]) -> str:
            positions = self.asked.cursor_positions
            return encode_cursor(listing.name, *(row[positions[column]] for column in listing.cursor_columns))

        for key in self.asked.edge_cursors:
            for edge, row in zip(cast("list[dict[str, Any]]", page.edges), page.rows, strict=False):
                edge[key] = cursor(row)
        values: dict[str, Any] = {"edges": page.edges, "totalCount": total, "__typename": self.asked.typename}
        return {
            key: self._page_info(key, listing, page.rows, cursor) if name == "pageInfo" else values[name]
            for key, name in self.asked.fields
        }

    def _page_info(
        self, key: str, listing: Listing[Any], rows: Rows, cursor: Callable[[Sequence[Any]], str]
    ) -> dict[str, Any]:
        shown = min(len(rows), listing.size)
        values: dict[str, Callable[[], object]] = {
            "hasNextPage": lambda: len(rows) > listing.size,
            "hasPreviousPage": lambda: listing.continued,
            "startCursor": lambda: cursor(rows[0]) if shown else None,
            "endCursor": lambda: cursor(rows[shown - 1]) if shown else None,
            "__typename": lambda: "PageInfo",
        }
        return {asked: values[name]() for asked, name in self.asked.page_info[key]}
