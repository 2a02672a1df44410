"""Named statements: the text lives in db/*.sql, the row class is declared here in Python."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from typing import Generic, NewType, TypeVar

Row = TypeVar("Row")

#: JSON text, as a json or jsonb column holds it.
Json = NewType("Json", str)

_BLOCK = re.compile(r"^-- (name|fragment): (\w+)\n", re.MULTILINE)
_PARAMETER = re.compile(
    r"\$(?P<number>\d+)(?:::(?P<type>[a-z]+(?: precision)?(?:\[\])?))?(?P<test> is null(?P<or>\s+or\s+)?| is not null)?"
)
_MOST_VARIANTS = 1000
_KEYS = re.compile(r"(\$\d+)::uuid\[\]", re.ASCII)
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

    def sql(self) -> str:
        """Of the row called `row`."""
        return f'row."{self.name}"{"::text" if self.text else ""}'


@dataclass(frozen=True, slots=True)
class Projection:
    """Some columns of a statement, in an order of their own.

    `uuid_keys`: the last argument is the text of an array, since asyncpg looks at each element of a list for what it
    might be, which takes longer than PostgreSQL takes to read it.
    """

    text: str
    uuid_keys: bool


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


@lru_cache(_MOST_VARIANTS)
def _optional(text: str) -> tuple[int, ...]:
    """The positions, from 0, of parameters that the statement compares with null."""
    return tuple(sorted({int(found["number"]) - 1 for found in _PARAMETER.finditer(text) if found["test"]}))


@lru_cache(_MOST_VARIANTS)
def _decided(text: str, absent: frozenset[int]) -> tuple[str, tuple[int, ...]]:
    parameters = list(_PARAMETER.finditer(text))
    types = {int(found["number"]) - 1: found["type"] for found in parameters if found["type"]}
    kept = sorted({int(found["number"]) - 1 for found in parameters if not found["test"]} - absent)

    def put(found: re.Match[str]) -> str:
        position = int(found["number"]) - 1
        if found["test"]:
            holds = (position in absent) is not found["test"].endswith("not null")
            # Nothing, rather than "false or", behind which PostgreSQL would not look for what to join.
            return "" if found["or"] and not holds else str(holds).lower() + (found["or"] or "")
        if position in absent:
            return f"null::{types[position]}"
        return f"${kept.index(position) + 1}{'::' + found['type'] if found['type'] else ''}"

    return _PARAMETER.sub(put, text), tuple(kept)


def decided(text: str, arguments: Sequence[object]) -> tuple[str, Sequence[object]]:
    """The statement with every `$n is null` answered, and the arguments that are left.

    Filters that are not asked for are gone before PostgreSQL plans, so that one plan serves every further execution;
    with them it would have to plan each one anew to use an index at all.
    """
    optional = _optional(text)
    if not optional:
        return text, arguments
    absent = frozenset([position for position in optional if arguments[position] is None])
    variant, kept = _decided(text, absent)
    return variant, [arguments[position] for position in kept]


def selecting(query: Query[Row], selected: str) -> tuple[str, str, bool]:
    """The comment that names the statement, a statement over each `row` of it in its order, and `uuid_keys`."""
    head, _, body = query.text.partition("\n")
    # In a select of its own, or PostgreSQL would read the text anew for every row that it looks at.
    body, keys = _KEYS.subn(r"(select \1::text::uuid[])::uuid[]", body.rstrip().removesuffix(";"))
    return head, f"select {selected} from (\n{body}\n) row", keys > 0  # noqa: S608 - made of names of ours


def projection(query: Query[Row], columns: Sequence[Column]) -> Projection:
    """The statement's rows in its own order, with only `columns`: PostgreSQL computes nothing that is not selected."""
    head, text, uuid_keys = selecting(query, ", ".join(column.sql() for column in columns))
    return Projection(f"{head}\n{text}", uuid_keys)
