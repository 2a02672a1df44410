"""Lists as JSON text of the database: every value comes out as Python's own JSON has it."""

import json
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from db.json_lists import Shown, Template, list_projection, without_last
from db.query import Column, Query
from db.tenant import Tenant
from resolvers import loaders
from resolvers.loaders import Many


@dataclass(frozen=True, slots=True)
class Value:
    """One row of the statements here."""

    word: str | None
    real: float | None
    whole: int | None
    flag: bool | None
    moment: datetime | None
    state: str | None


VALUES = Query(
    "values",
    """-- values
select * from unnest($1::text[], $2::double precision[], $3::bigint[], $4::boolean[], $5::timestamptz[], $6::text[])
  with ordinality as value (word, real, whole, flag, moment, state, n)
order by n
limit $7::int;""",
    Value,
)
TEMPLATE: Template = (
    *('{"word":', Shown("word", "string", required=False), ',"real":', Shown("real", "json", required=False)),
    *(',"whole":', Shown("whole", "quoted", required=False), ',"flag":', Shown("flag", "json", required=False)),
    *(',"moment":', Shown("moment", "moment", required=False)),
    *(',"state":', Shown("state", (("it's", "IT_IS"), ("done", "DONE")), required=False), "}"),
)
VALUE = st.builds(
    Value,
    st.none() | st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"])),
    st.none() | st.floats(allow_nan=False, allow_infinity=False),
    st.none() | st.integers(-(2**63), 2**63 - 1),
    st.none() | st.booleans(),
    st.none() | st.datetimes(datetime(1900, 1, 1), datetime(9000, 1, 1), timezones=st.just(UTC)),
    st.none() | st.sampled_from(["it's", "done"]),
)


def expected(value: Value) -> dict[str, Any]:
    return {
        "word": value.word,
        "real": value.real,
        "whole": None if value.whole is None else str(value.whole),
        "flag": value.flag,
        # What the other way of making an answer would write.
        "moment": json.loads(orjson.dumps(value.moment)),
        "state": {"it's": "IT_IS", "done": "DONE", None: None}[value.state],
    }


def columns(values: list[Value]) -> list[list[Any]]:
    return [[getattr(value, name) for value in values] for name in Value.__slots__]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60, deadline=None)
@given(st.lists(VALUE, max_size=4), st.integers(1, 4))
async def test_values_are_written_as_they_are(acme: Tenant, values: list[Value], size: int) -> None:
    statement = list_projection(VALUES, TEMPLATE, key=None, cursor=[Column("whole", text=True)], limit=7)
    async with acme.transaction("READ ONLY") as transaction:
        ((text, count, last, *cursors),) = await transaction.select(statement, *columns(values), size + 1)
    assert json.loads(without_last(text or b"[]", last)) == [expected(value) for value in values[:size]]
    assert count == min(len(values), size + 1)
    assert (cursors[0] or []) == [
        None if value.whole is None else str(value.whole) for value in values[: size + 1]
    ] or not values


async def test_a_null_where_none_may_be_is_no_list(acme: Tenant) -> None:
    statement = list_projection(VALUES, ('{"word":', Shown("word", "string", required=True), "}"), key="state")
    values = [Value(word, 1.0, 1, None, None, state) for word, state in (("a", "x"), (None, "x"), ("b", "y"))]
    async with acme.transaction("READ ONLY") as transaction:
        rows = await transaction.select(statement, *columns(values), 10)
    assert sorted(map(tuple, rows)) == [("x", None, 2), ("y", b'[{"word":"b"}]', 1)]


@pytest.mark.parametrize(
    "edge", [one for one in vars(loaders).values() if isinstance(one, Many)], ids=lambda edge: edge.query.name
)
def test_rows_of_one_parent_come_together(edge: "Many[Any]") -> None:
    """So that rows keep their order when they are grouped, which PostgreSQL then does without sorting them anew."""
    first = re.findall(r"^order by (?:\w+\.)?(\w+)", edge.query.text, re.MULTILINE)[-1]
    assert first in (edge.key, "1") or f"{first} as {edge.key}" in edge.query.text
