"""Filters that are not given leave a statement before it is planned, and what it means stays the same."""

import re

import asyncpg
import pytest

from db import trials
from db.embedded import DatabaseUrls
from db.query import Query, decided
from tests.conftest import in_database
from tests.db.test_statements import QUERIES

OPTIONAL = [query for query in QUERIES if re.search(r"\$\d+(::[a-z \[\]]+)? is (not )?null", query.text)]


def parameters(query: Query[object]) -> int:
    return max(int(number) for number in re.findall(r"\$(\d+)", query.text))


def test_what_is_not_given_is_gone_and_the_others_move_up() -> None:
    text = "($1::uuid is null or a = $1) and ($2::text[] is null or b = any($2)) and $3::int is not null limit $4::int"
    assert decided(text, [None, ["x"], None, 5]) == (
        "(true or a = null::uuid) and (b = any($1)) and false limit $2::int",
        [["x"], 5],
    )
    assert decided("select $1::int", [None]) == ("select $1::int", [None])


@pytest.mark.parametrize("query", OPTIONAL, ids=[query.name for query in OPTIONAL])
async def test_every_choice_of_filters_is_a_statement(
    query: Query[object], server: DatabaseUrls, template: str
) -> None:
    """With nothing given, with one given, with all but one given, and with all."""
    count = parameters(query)
    choices = [set(), set(range(count))]
    choices += [{one} for one in range(count)] + [set(range(count)) - {one} for one in range(count)]
    connection = await asyncpg.connect(in_database(server.app, template))
    try:
        for given in choices:
            text, left = decided(query.text, ["given" if one in given else None for one in range(count)])
            statement = await connection.prepare(text)
            assert len(statement.get_parameters()) == len(left)
    finally:
        await connection.close()


async def test_one_plan_serves_every_version(server: DatabaseUrls, template: str) -> None:
    """Without the tests for null PostgreSQL needs no value to choose the index."""
    connection = await asyncpg.connect(in_database(server.app, template))
    try:
        await connection.execute("set plan_cache_mode = force_generic_plan; set enable_seqscan = off")
        arguments = ["01900000-0000-7000-8000-000000000000", *[None] * 13, 50]
        text, _ = decided(trials.PAGE_NEWEST.text, arguments)
        await connection.execute(f"prepare page as {text}")
        rows = await connection.fetch(f"explain execute page ('{arguments[0]}', 50)")
        plan = "\n".join(row[0] for row in rows)
        assert re.search(r"Index Cond: .*environment_version_id = \$1", plan), plan
    finally:
        await connection.close()
