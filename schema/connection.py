"""Relay connections over pages of rows."""

from collections.abc import Awaitable, Callable
from typing import Any, Generic, TypeVar

import strawberry

from resolvers.pages import Page

NodeType = TypeVar("NodeType")


@strawberry.type
class PageInfo:
    has_next_page: bool
    has_previous_page: bool
    start_cursor: str | None
    end_cursor: str | None


@strawberry.type
class Edge(Generic[NodeType]):
    cursor: str
    node: NodeType


@strawberry.type
class Connection(Generic[NodeType]):
    edges: list[Edge[NodeType]]
    page_info: PageInfo
    count: strawberry.Private[Callable[[], Awaitable[int]]]

    @strawberry.field(description="How many there are in all, on every page. Counted only when asked for.")
    async def total_count(self) -> int:
        return await self.count()


def connection(page: Page[Any]) -> Connection[Any]:
    edges = [Edge(cursor=page.cursor(row), node=row) for row in page.rows]
    return Connection(
        edges=edges,
        page_info=PageInfo(
            has_next_page=page.has_next_page,
            has_previous_page=page.has_previous_page,
            start_cursor=edges[0].cursor if edges else None,
            end_cursor=edges[-1].cursor if edges else None,
        ),
        count=page.count,
    )
