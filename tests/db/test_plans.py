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
OTHER = UUID("01900000-0000-7000-8000-000000000002")
TRIALS = 16_000

#: Of every other trial, with words that all of them have, that one in 500 has, and that another organization's have.
TRAJECTORIES = """
insert into trajectory_artifacts (organization_id, evaluation_trial_id, execution, name, log, steps, step_count)
select organization_id, id, 1, 'trajectory.json', to_json(concat_ws(' ', 'common',
  case when number % 500 = 0 then 'rare' end,
  case when organization_id = '01900000-0000-7000-8000-000000000002' then 'theirs' end)), '[]', 0
from (select *, row_number() over (order by id) as number from evaluation_trials) trial where number % 2 = 0
"""

#: Positions of the filters and the page in the arguments of pages of trials.
VERSION, STATUS, CATEGORY, SCORED, REWARD_FROM, STAGE, TEXT = 0, 2, 3, 4, 5, 7, 11
AFTER, AFTER_REWARD, LIMIT = 12, 13, 14


@pytest.fixture(scope="module")
async def connection(
    server: DatabaseUrls, superuser: str, template: str
) -> "AsyncIterator[asyncpg.Connection[asyncpg.Record]]":
    """As the application, for an organization with 16,000 trials."""
    administrator = await asyncpg.connect(superuser)
    await administrator.execute(f"create database plans owner agentforge_owner template {template} strategy file_copy")
    filling = await asyncpg.connect(in_database(superuser, "plans"))
    for organization_id, slug, count in ((ORGANIZATION, "plans", TRIALS), (OTHER, "other", 4_000)):
        await filling.execute(
            "insert into organizations (id, slug, name) values ($1, $2, 'Plans')", organization_id, slug
        )
        await fill(in_database(superuser, "plans"), organization_id, count)
    await filling.execute(TRAJECTORIES)
    await filling.execute("vacuum analyze")
    await filling.close()
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
    return [given.get(position, 51 if position == LIMIT else None) for position in range(15)]


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
        (trials.COUNT, [version, *[None] * 11]),
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


@pytest.mark.parametrize("words", ["rare", "common", "common -rare", "nowhere", "theirs"])
@pytest.mark.parametrize("given", [{}, {SCORED: True}], ids=str)
async def test_a_search_reads_the_trials_that_it_shows(
    connection: "asyncpg.Connection[asyncpg.Record]", given: dict[int, object], words: str
) -> None:
    made = await plan(connection, trials.PAGE_NEWEST, *page_of_trials({TEXT: words, **given}))
    assert "Function Scan on trials_with_words" in made
    _, of_trials = made.split("Index Scan Backward using evaluation_trials_")
    assert rows_read(f"Index Scan {of_trials}") < 500, made


@pytest.mark.parametrize(
    "query", [trials.PAGE_NEWEST, trials.PAGE_REWARD_HIGHEST, trials.COUNT], ids=lambda one: one.name
)
async def test_what_a_search_finds_is_looked_up_in_an_index(
    connection: "asyncpg.Connection[asyncpg.Record]", query: Query[Any]
) -> None:
    """Never trial by trial among all that were found, which no hash shortens."""
    version = await some(connection, "id", "environment_versions")
    category = {CATEGORY: ["wrong_quantity"]}
    for given in ({}, category, {VERSION: version}, {STATUS: ["completed"]}, {STAGE: "stage_cart"}, {REWARD_FROM: 0.5}):
        arguments = page_of_trials({TEXT: "common", **given})
        made = await plan(connection, query, *(arguments[:AFTER] if query is trials.COUNT else arguments))
        assert re.search(r"Index Cond: .*\(id = ANY", made), made
        assert not re.search(r"Filter: .*\(?\bid = ANY", made), made


@pytest.mark.parametrize(("words", "most"), [("rare", 32), ("nowhere", 0), ("theirs", 0), ("common rare", 32)])
async def test_a_search_reads_of_the_index_what_it_finds(
    connection: "asyncpg.Connection[asyncpg.Record]", server: DatabaseUrls, words: str, most: int
) -> None:
    """Also where another organization has that word in all its trials."""
    body = await connection.fetchval("select pg_get_function_sqlbody('trials_with_words'::regproc)")
    found = re.search(r"SELECT .*(?=;)", body, re.DOTALL)
    assert found is not None
    owner = await asyncpg.connect(in_database(server.owner, "plans"))
    try:
        await owner.execute(f"set agentforge.organization_id = '{ORGANIZATION}'")
        text = found[0].replace("trials_with_words.query", f"'{words}'")
        rows = await owner.fetch(f"explain (analyze, costs off, timing off, buffers off, summary off) {text}")
    finally:
        await owner.close()
    made = "\n".join(row[0] for row in rows)
    assert "Bitmap Index Scan on trajectory_words_index" in made
    # In the index, in the table, and the one query.
    assert rows_read(made) <= 2 * most + 1, made


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
