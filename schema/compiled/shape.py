"""The shape of a selection on one type: columns to ask for, and generated code that makes dictionaries of rows."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any, Protocol

from db.json_lists import Template
from db.query import Column
from schema.compiled.execution import Children, Execution
from schema.compiled.values import Entry, Names, as_object

Rows = Sequence[Sequence[Any]]


class Child(Protocol):
    """A selected field that takes more than its row: what it shows for each of the parents' keys."""

    async def load(self, execution: Execution, keys: Sequence[Any]) -> Children: ...


@dataclass(slots=True)
class Shape:
    """Columns, then entries made of them: expressions over `c0`, `c1`, ... and children `g0`, ...

    The generated functions take rows with the values of `columns` in order.
    """

    names: Names = field(default_factory=Names)
    columns: list[Column] = field(default_factory=list)
    entries: list[Entry] = field(default_factory=list)
    children: list[tuple[int, Child]] = field(default_factory=list)
    generated: dict[str, Any] = field(default_factory=dict)
    #: What it makes of a row, as JSON text, where the database can make that; set by `compile`.
    text: Template | None = None

    def column(self, name: str, *, text: bool = False) -> str:
        """The expression of a column's value."""
        return f"c{self.position(Column(name, text))}"

    def position(self, column: Column) -> int:
        if column not in self.columns:
            self.columns.append(column)
        return self.columns.index(column)

    def child(self, key: int, child: Child) -> str:
        """The expression of the function from keys to what the child shows; its keys are in the column `key`."""
        self.children.append((key, child))
        return f"g{len(self.children) - 1}"

    def compile(self) -> "Shape":
        """Generates the functions; nothing may be added after."""
        getters = "".join(f", g{number}" for number in range(len(self.children)))
        values = ", ".join(f"c{number}" for number in range(len(self.columns))) + ","
        item, self.text = as_object(self.entries)
        source = (
            f"def flat(rows{getters}):\n"
            f"    return [{item} for {values} in rows]\n"
            f"def one(rows{getters}):\n"
            f"    return {{c0: {item} for {values} in rows}}\n"
            f"def many(rows{getters}):\n"
            f"    found = {{}}\n"
            f"    for {values} in rows:\n"
            f"        items = found.get(c0)\n"
            f"        if items is None:\n"
            f"            found[c0] = [{item}]\n"
            f"        else:\n"
            f"            items.append({item})\n"
            f"    return found\n"
        )
        if not self.columns:
            # Nothing of the row is asked for but that it is there.
            source = f"def flat(rows{getters}):\n    return [{item} for _ in rows]\n"
        self.generated = dict(self.names.values)
        exec(source, self.generated)  # noqa: S102 - made of response keys as literals and of names given here
        return self

    async def _children(self, execution: Execution, rows: Rows) -> list[Children]:
        return [
            await child.load(execution, list(dict.fromkeys(row[key] for row in rows if row[key] is not None)))
            for key, child in self.children
        ]

    async def flat(self, execution: Execution, rows: Rows) -> list[dict[str, Any]]:
        """One dictionary for each row."""
        made: list[dict[str, Any]] = self.generated["flat"](rows, *await self._children(execution, rows))
        return made

    async def one(self, execution: Execution, rows: Rows) -> dict[Any, dict[str, Any]]:
        """The dictionary of the row that has each key; the key is the first column."""
        made: dict[Any, dict[str, Any]] = self.generated["one"](rows, *await self._children(execution, rows))
        return made

    async def many(self, execution: Execution, rows: Rows) -> dict[Any, list[dict[str, Any]]]:
        """The dictionaries of the rows that have each key; the key is the first column."""
        made: dict[Any, list[dict[str, Any]]] = self.generated["many"](rows, *await self._children(execution, rows))
        return made

    def rows_of(self, values: Iterable[object]) -> list[tuple[Any, ...]]:
        """The columns' values of objects that have them as attributes."""
        return [
            tuple(
                str(value) if column.text and value is not None else value
                for column, value in ((column, attrgetter(column.name)(one)) for column in self.columns)
            )
            for one in values
        ]
