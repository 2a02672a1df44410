"""Pages and reports read as much as they show, however much there is: the plans that PostgreSQL makes for them.

16,000 trials are enough for it to choose as it does for a million: there, each takes at most twice its time at 100,000.
"""

import re
from collections.abc import AsyncIterator
from typing import Any
from uuid import UUID

import asyncpg
import pytest

from benchmarks.filling import fill
from db import reports, rollouts, runs, trials
from db.embedded import DatabaseUrls
from db.query import Column, Query, decided, projection
from tests.conftest import in_database

ORGANIZATION = UUID("01900000-0000-7000-8000-000000000001")
TRIALS = 16_000

#: Positions of the filters and the page in the arguments of pages of trials.
VERSION, CATEGORY, STATUS, SCORED, STAGE, AFTER, AFTER_REWARD, LIMIT = 0, 3, 2, 4, 7, 11, 12, 13


@pytest.fixture(scope="module")
async def connection(
    server: DatabaseUrls, superuser: str, template: str
) -> "AsyncIterator[asyncpg.Connection[asyncpg.Record]]":
    """As the application, for an organization with 16,000 trials."""
    administrator = await asyncpg.connect(superuser)
    await administrator.execute(f"create database plans owner agentforge_owner template {template} strategy file_copy")
    filling = await asyncpg.connect(in_database(superuser, "plans"))
    await filling.execute("insert into organizations (id, slug, name) values ($1, 'plans', 'Plans')", ORGANIZATION)
    await filling.close()
    await fill(in_database(superuser, "plans"), ORGANIZATION, TRIALS)
    connection = await asyncpg.connect(in_database(server.app, "plans"))
    await connection.execute(f"set agentforge.organization_id = '{ORGANIZATION}'; set jit = off")
    yield connection
    await connection.close()
    await administrator.execute("drop database plans (force)")
    await administrator.close()


async def plan(connection: "asyncpg.Connection[asyncpg.Record]", query: Query[Any], *arguments: object) -> str:
    text, given = decided(query.text, arguments)
    rows = await connection.fetch(f"explain (analyze, costs off, timing off, buffers off, summary off) {text}", *given)
    return "\n".join(row[0] for row in rows)


def page_of_trials(given: dict[int, object]) -> list[object]:
    return [given.get(position, 51 if position == LIMIT else None) for position in range(14)]


async def some(connection: "asyncpg.Connection[asyncpg.Record]", column: str, table: str) -> object:
    return await connection.fetchval(
        f"select {column} from {table} order by id offset (select count(*) / 2 from {table})"
    )


def rows_read(plan: str) -> float:
    """The rows that the plan's scans gave or threw away, over all loops."""
    scans = re.findall(r"(?:Scan|Seq Scan).*?rows=([\d.]+) loops=(\d+)", plan)
    removed = re.findall(r"Rows Removed by Filter: (\d+)", plan)
    return sum(float(rows) * int(loops) for rows, loops in scans) + sum(map(int, removed))


@pytest.mark.parametrize(
    ("query", "index"),
    [
        (trials.PAGE_NEWEST, "evaluation_trials_pkey"),
        (trials.PAGE_OLDEST, "evaluation_trials_pkey"),
        (trials.PAGE_REWARD_HIGHEST, "evaluation_trials_reward_highest"),
        (trials.PAGE_REWARD_LOWEST, "evaluation_trials_reward_lowest"),
    ],
    ids=lambda value: value.name if isinstance(value, Query) else "",
)
async def test_first_and_deep_pages_of_every_order_read_only_themselves(
    connection: "asyncpg.Connection[asyncpg.Record]", query: Query[Any], index: str
) -> None:
    middle = await some(connection, "id", "evaluation_trials")
    for position in ({}, {AFTER: middle, AFTER_REWARD: 0.5 if "reward" in index else None}):
        made = await plan(connection, query, *page_of_trials(position))
        assert f"using {index} " in made
        assert "Sort" not in made
        assert rows_read(made) < 60, made


@pytest.mark.parametrize(
    "given",
    [
        {CATEGORY: ["wrong_quantity"]},
        {CATEGORY: ["never"]},
        {STATUS: ["errored"]},
        {SCORED: False},
        {STAGE: "stage_cart"},
        {STAGE: "stage_never"},
    ],
    ids=str,
)
async def test_filtered_pages_read_little_more_than_they_show(
    connection: "asyncpg.Connection[asyncpg.Record]", given: dict[int, object]
) -> None:
    made = await plan(connection, trials.PAGE_NEWEST, *page_of_trials(given))
    assert "Seq Scan on evaluation_trials" not in made
    assert rows_read(made) < 1000, made


async def test_what_is_asked_of_one_version_reads_that_version(
    connection: "asyncpg.Connection[asyncpg.Record]",
) -> None:
    version = await some(connection, "id", "environment_versions")
    for query, arguments in (
        (trials.PAGE_NEWEST, page_of_trials({VERSION: version})),
        (trials.PAGE_REWARD_LOWEST, page_of_trials({VERSION: version, STAGE: "stage_cart"})),
        (trials.COUNT, [version, *[None] * 10]),
        (runs.PAGE_NEWEST, [version, *[None] * 6, 51]),
        (reports.CAPABILITY_GAPS, [version, *[None] * 4]),
        (reports.CAPABILITY_GAPS_OF_VERSIONS, [[version]]),
        (reports.PARTIAL_REWARDS, [version, *[None] * 4]),
        (reports.PARTIAL_REWARDS_OF_VERSIONS, [[version]]),
        (rollouts.PREFERENCES_OF_VERSIONS, [[version]]),
    ):
        made = await plan(connection, query, *arguments)
        assert not re.search(r"Seq Scan on (evaluation_\w+|rollouts)", made), made
        # 400 trials of 4 stages each, and what is looked up for them.
        assert rows_read(made) < 4000, made


@pytest.mark.parametrize(
    ("query", "table"),
    [
        (trials.BY_RUNS, "evaluation_runs"),
        (trials.BY_IDS, "evaluation_trials"),
        (rollouts.BY_TRIALS, "evaluation_trials"),
    ],
)
async def test_many_keys_are_read_once_and_looked_up(
    connection: "asyncpg.Connection[asyncpg.Record]", query: Query[Any], table: str
) -> None:
    """Read for every row of a scan, 4,000 keys took 20 seconds."""
    rows = await connection.fetch(f"select id from {table} order by id limit 1000")
    keys = "{" + ",".join(str(row["id"]) for row in rows) + "}"
    text = projection(query, [Column("id", text=True)]).text
    told = "\n".join(row[0] for row in await connection.fetch(f"explain (costs off) {text}", keys))
    assert "Index" in told
    assert "Seq Scan" not in told
    assert "cstring" not in told, "the text of the keys stands in the scan itself"
