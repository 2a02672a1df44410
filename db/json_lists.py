"""Lists that the database hands over as JSON text, which is passed on without being read.

A list whose rows lead nowhere is text all the same in the end; PostgreSQL writes it in a third of the time that it
takes here to make dictionaries of the rows and text of those.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from db.query import Column, Projection, Query, Row, selecting

#: `quoted`: text that needs no escaping, as a string. `json`: text that is JSON, as numbers and booleans are.
Form = Literal["string", "quoted", "json", "moment"]


@dataclass(frozen=True, slots=True)
class Shown:
    """A column as JSON; for a `form` of pairs, the string beside its value. A null where one is `required` fails."""

    column: str
    form: Form | tuple[tuple[str, str], ...]
    required: bool

    def sql(self) -> str:
        column = f'row."{self.column}"'
        match self.form:
            case "string":
                made = f"to_json({column})::text"
            case "quoted":
                made = f"""'"' || {column} || '"'"""
            case "json":
                made = f"{column}::text"
            case "moment":
                # As Python writes it: with six digits of a second, or none.
                digits = f"""to_char({column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US')"""
                made = f"""'"' || replace({digits}, '.000000', '') || '+00:00"'"""
            case pairs:
                cases = " ".join(
                    f"when {_literal(value)} then {_literal(chr(34) + name + chr(34))}" for value, name in pairs
                )
                made = f"case {column} {cases} end"
        return f"({made})" if self.required else f"coalesce({made}, 'null')"


#: JSON text with columns in it.
Template = tuple[str | Shown, ...]


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def list_projection(
    query: Query[Row], template: Template, *, key: str | None, cursor: Sequence[Column] = (), limit: int | None = None
) -> Projection:
    """One row for each value of the column `key`, or one in all: the key's text, the list as UTF-8, how many rows there
    are, with `limit` the bytes of the row too many, and the columns of `cursor` as arrays.

    The list is null where a required column is, and where no row is. `limit`: the number of the parameter that asks for
    one row more than are shown: it stands last in the list, and the column that tells its size is null where there is
    none. The rows of one key must come from the statement one after the other.
    """
    item = " || ".join(_literal(part) if isinstance(part, str) else part.sql() for part in template)
    columns = [f"{item} as item", *(f"{column.sql()} as cursor{number}" for number, column in enumerate(cursor))]
    selected = ["case when count(item) = count(*) then convert_to('[' || string_agg(item, ',') || ']', 'UTF8') end"]
    selected.append("count(*)")
    if limit is not None:
        # Cutting it off here as well would take more time than all else that is done to make the list.
        selected.append(f"(array_agg(octet_length(item)))[${limit}::int]")
    selected += [f"array_agg(cursor{number})" for number in range(len(cursor))]
    if key is not None:
        columns.insert(0, f'row."{key}" as key')
        selected.insert(0, "key::text")
    head, rows, uuid_keys = selecting(query, ", ".join(columns))
    # Without the offset PostgreSQL writes an item anew for each place where it is used.
    text = f"{head}\nselect {', '.join(selected)} from (\n{rows}\noffset 0\n) listed"
    return Projection(text if key is None else f"{text}\ngroup by key", uuid_keys)


def without_last(text: bytes, size: int | None) -> bytes:
    """A list of several items without the last, of so many bytes; all of it where that is None."""
    return text if size is None else text[: -size - len(",]")] + b"]"
