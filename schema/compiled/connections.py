"""Connections: a page of rows, or one for each parent, with what is asked of its edges, its page and its count."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from db.query import Query
from resolvers.pages import Listing, encode_cursor
from schema.compiled.execution import Arguments, Children, Execution, Projections
from schema.compiled.shape import Shape
from schema.sources import Listed

#: Columns that a cursor can be made of.
CURSOR_COLUMNS: Final = ("id", "reward")

Rows = Sequence[Sequence[Any]]


@dataclass(frozen=True, slots=True)
class Asked:
    """What is selected on a connection, each a list of (response key, name); a typename stands as `__typename`.

    `edge` is the shape of an edge, in which a cursor's entry is a place to put it.
    """

    typename: str
    fields: list[tuple[str, str]]
    page_info: dict[str, list[tuple[str, str]]]
    edge: Shape
    edge_cursors: list[str]
    cursor_positions: dict[str, int]

    @property
    def rows(self) -> bool:
        return any(name in ("edges", "pageInfo") for _, name in self.fields)

    @property
    def total(self) -> bool:
        return any(name == "totalCount" for _, name in self.fields)


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
        items = await self.asked.edge.flat(execution, rows[: listing.size])
        return self._connection(listing, rows, items, total)

    async def load(self, execution: Execution, keys: Sequence[Any]) -> Children:
        """The connection of each parent; the shape's first column is the parent's key."""
        listing = self.source.listing(**self.arguments(execution))
        assert not isinstance(listing.rows, Query)
        assert not isinstance(listing.count, Query)
        pages: dict[Any, list[Sequence[Any]]] = {key: [] for key in keys}
        if self.asked.rows and keys:
            text = self.projections(listing.rows.query)
            for row in await execution.transaction.select(text, *listing.row_arguments(), keys):
                pages[row[0]].append(row)
        totals: dict[str, int] = {}
        if self.asked.total and keys:
            counted = await execution.transaction.fetch(listing.count.query, *listing.arguments, keys)
            totals = {str(count.parent_id): count.total for count in counted}
        shown = [row for rows in pages.values() for row in rows[: listing.size]]
        items = iter(await self.asked.edge.flat(execution, shown))
        return {
            key: self._connection(listing, rows, [next(items) for _ in rows[: listing.size]], totals.get(key, 0))
            for key, rows in pages.items()
        }.__getitem__

    def _connection(
        self, listing: Listing[Any], rows: Rows, edges: list[dict[str, Any]], total: int | None
    ) -> dict[str, Any]:
        def cursor(row: Sequence[Any]) -> str:
            positions = self.asked.cursor_positions
            return encode_cursor(listing.name, *(row[positions[column]] for column in listing.cursor_columns))

        for key in self.asked.edge_cursors:
            for edge, row in zip(edges, rows, strict=False):
                edge[key] = cursor(row)
        values: dict[str, Any] = {"edges": edges, "totalCount": total, "__typename": self.asked.typename}
        return {
            key: self._page_info(key, listing, rows, len(edges), cursor) if name == "pageInfo" else values[name]
            for key, name in self.asked.fields
        }

    def _page_info(
        self, key: str, listing: Listing[Any], rows: Rows, shown: int, cursor: Callable[[Sequence[Any]], str]
    ) -> dict[str, Any]:
        values: dict[str, Callable[[], object]] = {
            "hasNextPage": lambda: len(rows) > listing.size,
            "hasPreviousPage": lambda: listing.continued,
            "startCursor": lambda: cursor(rows[0]) if shown else None,
            "endCursor": lambda: cursor(rows[shown - 1]) if shown else None,
            "__typename": lambda: "PageInfo",
        }
        return {asked: values[name]() for asked, name in self.asked.page_info[key]}
