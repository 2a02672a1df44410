"""Named statements: the text lives in db/*.sql, the row class is declared here in Python."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Generic, NewType, TypeVar

Row = TypeVar("Row")

#: JSON text, as a json or jsonb column holds it.
Json = NewType("Json", str)

_BLOCK = re.compile(r"^-- (name|fragment): (\w+)\n", re.MULTILINE)
_INCLUDE = re.compile(r"^( *)-- include: (\w+)\n", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Query(Generic[Row]):
    """A statement of db/*.sql, its name as "file.block", and the class of the rows that it yields."""

    name: str
    text: str
    row: type[Row]


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a statement's rows, as it is or as text."""

    name: str
    text: bool = False


@dataclass(frozen=True, slots=True)
class Projection:
    """Some columns of a statement, in an order of their own."""

    text: str


@dataclass(frozen=True, slots=True)
class Blocks:
    statements: dict[str, str]
    fragments: dict[str, str]


@cache
def blocks(file: str) -> Blocks:
    """The named statements and fragments of db/<file>.sql, with every include put in place."""
    found: dict[str, dict[str, str]] = {"name": {}, "fragment": {}}
    _, *parts = _BLOCK.split(files("db").joinpath(f"{file}.sql").read_text("utf-8"))
    for kind, name, text in zip(parts[::3], parts[1::3], parts[2::3], strict=True):
        found[kind][name] = text
    fragments = found["fragment"]
    statements = {
        name: _INCLUDE.sub(lambda include: fragments[include[2]].rstrip("\n") + "\n", text)
        for name, text in found["name"].items()
    }
    return Blocks(statements, fragments)


def query(name: str, row: type[Row]) -> Query[Row]:
    """Look up "trials.by_id": block `by_id` of db/trials.sql. A wrong name fails at import."""
    file, block = name.split(".")
    # The name stays in the text sent, so that logs and pg_stat_activity tell statements apart.
    return Query(name, f"-- {name}\n{blocks(file).statements[block]}", row)


def projection(query: Query[Row], columns: Sequence[Column]) -> Projection:
    """The statement's rows in its own order, with only `columns`: PostgreSQL computes nothing that is not selected."""
    selected = ", ".join(f'row."{column.name}"{"::text" if column.text else ""}' for column in columns)
    head, _, body = query.text.partition("\n")
    return Projection(f"{head}\nselect {selected} from (\n{body.rstrip().removesuffix(';')}\n) row")
