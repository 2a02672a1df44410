"""Fields that take more than the row they are on: edges, reports, connections, and lists of objects."""

from collections import defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

from resolvers.loaders import Many, One
from schema.compiled.execution import Arguments, Children, Execution, Projections
from schema.compiled.shape import Shape
from schema.compiled.values import json_list
from schema.sources import Edge, Found


@dataclass(frozen=True, slots=True)
class EdgeChild:
    """Rows at the end of an edge; the shape's first column is the edge's key. A missing row raises KeyError if so set.

    One statement, however many parents. With `lists` it is one that makes the lists' text.
    """

    edge: One[Any] | Many[Any]
    shape: Shape
    projections: Projections
    required: bool
    lists: bool

    async def load(self, execution: Execution, keys: Sequence[Any]) -> Children:
        rows = await execution.transaction.select(self.projections(self.edge.query), keys) if keys else []
        if self.lists:
            return {key: json_list(text, count) for key, text, count in rows}.get
        if isinstance(self.edge, Many):
            return (await self.shape.many(execution, rows)).get
        ones = await self.shape.one(execution, rows)
        return ones.__getitem__ if self.required else ones.get


@dataclass(frozen=True, slots=True)
class ReportChild:
    """The object that is made of all rows at the end of an edge."""

    source: Edge
    shape: Shape

    async def load(self, execution: Execution, keys: Sequence[Any]) -> Children:
        assert self.source.of is not None
        rows = defaultdict[str, list[Any]](list)
        for row in await execution.transaction.fetch(self.source.edge.query, keys) if keys else []:
            rows[str(getattr(row, self.source.edge.key))].append(row)
        reports = self.shape.rows_of(self.source.of(rows[key]) for key in keys)
        return dict(zip(keys, await self.shape.flat(execution, reports), strict=True)).__getitem__


@dataclass(frozen=True, slots=True)
class ObjectsChild:
    """Objects that are in a tuple, which is the parent's key."""

    shape: Shape

    async def load(self, execution: Execution, keys: Sequence[tuple[Any, ...]]) -> Children:
        items = iter(await self.shape.flat(execution, self.shape.rows_of(one for objects in keys for one in objects)))
        return {objects: [next(items) for _ in objects] for objects in keys}.__getitem__


@dataclass(frozen=True, slots=True)
class FoundField:
    """The row that the arguments name, or None; the shape's first column is the edge's key."""

    source: Found
    arguments: Arguments
    shape: Shape
    projections: Projections

    async def answer(self, execution: Execution) -> dict[str, Any] | None:
        key: Hashable | None = self.source.key(**self.arguments(execution))
        if key is None:
            return None
        rows = await execution.transaction.select(self.projections(self.source.edge.query), [key])
        items = await self.shape.flat(execution, rows)
        return items[0] if items else None
