"""Transactions under one organization: ended whatever happens, and nothing of them left on the pooled connection."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass

import asyncpg
import pytest

from db import environments, trials, versions
from db.embedded import DatabaseUrls
from db.pool import open_pool
from db.query import Query
from db.tenant import Tenant, fetch_before_organization
from tests.db.conftest import Pool
from tests.factory import Attempt, create_organization, create_run, create_version

SETTING = "select current_setting('agentforge.organization_id', true)"


@pytest.fixture
async def one(database: DatabaseUrls) -> AsyncIterator[Pool]:
    """A pool of one connection, whose next user gets what the one before left."""
    async with open_pool(database.app, application_name="one", max_size=1) as pool:
        yield pool


@pytest.fixture
async def tenant(one: Pool) -> Tenant:
    return await create_organization(one, "acme")


async def assert_clean(pool: Pool) -> None:
    """The pool's only connection comes back outside a transaction, usable, and belonging to no organization."""
    async with asyncio.timeout(10), pool.acquire() as connection:
        assert not connection.is_in_transaction()
        assert not await connection.fetchval(SETTING)
        assert await connection.fetchval("select pg_current_xact_id_if_assigned()") is None
        assert await connection.fetchval("select count(*) from environments") == 0
    assert pool.get_idle_size() == pool.get_size() == 1


async def insert(tenant: Tenant, slug: str) -> None:
    async with tenant.transaction() as transaction:
        assert await transaction.fetch_one(environments.CREATE, slug, slug)


async def slugs(tenant: Tenant) -> set[str]:
    return {environment.slug for environment in await tenant.fetch(environments.PAGE, None, 1000)}


async def test_a_transaction_is_committed_at_its_end(one: Pool, tenant: Tenant) -> None:
    await insert(tenant, "kept")
    assert await slugs(tenant) == {"kept"}
    await assert_clean(one)


class _StopError(Exception):
    pass


async def insert_and_stop(tenant: Tenant) -> None:
    async with tenant.transaction() as transaction:
        assert await transaction.fetch_one(environments.CREATE, "gone", "Gone")
        raise _StopError


async def insert_and_fail(tenant: Tenant, *swallowed: type[Exception]) -> None:
    async with tenant.transaction() as transaction:
        assert await transaction.fetch_one(environments.CREATE, "gone", "Gone")
        with suppress(*swallowed):
            await transaction.fetch_one(environments.CREATE, "NOT A SLUG", "name")


async def test_a_transaction_is_rolled_back_on_an_exception(one: Pool, tenant: Tenant) -> None:
    with pytest.raises(_StopError):
        await insert_and_stop(tenant)
    assert await slugs(tenant) == set()
    await assert_clean(one)


async def test_a_failed_statement_leaves_the_connection_clean(one: Pool, tenant: Tenant) -> None:
    with pytest.raises(asyncpg.CheckViolationError):
        await insert_and_fail(tenant)
    assert await slugs(tenant) == set()
    await assert_clean(one)


async def test_a_swallowed_error_cannot_pass_for_a_commit(one: Pool, tenant: Tenant) -> None:
    # The server answers COMMIT of a failed transaction with ROLLBACK, which is no error to it.
    with pytest.raises(asyncpg.InFailedSQLTransactionError, match="nothing was stored"):
        await insert_and_fail(tenant, asyncpg.CheckViolationError)
    assert await slugs(tenant) == set()
    await assert_clean(one)


async def test_a_server_that_goes_away_is_an_error_and_the_pool_goes_on(one: Pool, tenant: Tenant) -> None:
    async def lose_the_connection() -> None:
        async with tenant.transaction() as transaction:
            await transaction.connection.execute("select pg_terminate_backend(pg_backend_pid())")

    with pytest.raises((asyncpg.PostgresConnectionError, asyncpg.AdminShutdownError)):
        await lose_the_connection()
    await assert_clean(one)


async def test_reading_refuses_to_write(one: Pool, tenant: Tenant) -> None:
    with pytest.raises(asyncpg.ReadOnlySQLTransactionError):
        await tenant.fetch(environments.CREATE, "shop", "Shop")
    with pytest.raises(asyncpg.ReadOnlySQLTransactionError):
        await tenant.fetch_one(environments.CREATE, "shop", "Shop")
    await assert_clean(one)


async def test_a_transaction_has_the_mode_that_was_asked_for(tenant: Tenant) -> None:
    async with tenant.transaction("ISOLATION LEVEL REPEATABLE READ READ ONLY") as transaction:
        assert await transaction.connection.fetchval("show transaction_isolation") == "repeatable read"
        assert await transaction.connection.fetchval("show transaction_read_only") == "on"


async def test_more_rows_than_one_are_an_error_of_the_statement(one: Pool, tenant: Tenant) -> None:
    await insert(tenant, "first")
    await insert(tenant, "second")
    assert await tenant.fetch_one(environments.BY_SLUGS, ["none"]) is None
    found = await tenant.fetch_one(environments.BY_SLUGS, ["first"])
    assert found is not None
    assert found.slug == "first"
    with pytest.raises(RuntimeError, match=r"environments\.page gave 2 rows where one was expected"):
        await tenant.fetch_one(environments.PAGE, None, 10)
    await assert_clean(one)


async def test_the_next_user_of_the_connection_is_another_organization(one: Pool, tenant: Tenant) -> None:
    rival = await create_organization(one, "rival")
    await insert(tenant, "ours")
    await insert(rival, "theirs")
    for _ in range(3):
        assert await slugs(tenant) == {"ours"}
        assert await slugs(rival) == {"theirs"}
        assert await fetch_before_organization(one, environments.PAGE, None, 10) == []
    await assert_clean(one)


@dataclass(frozen=True)
class _Number:
    number: str


NUMBERS = Query("test.numbers", "select generate_series(1, $1::int)::text as number;\n", _Number)
FAILING_NUMBERS = Query(
    "test.failing",
    "select (100 / (50 - n))::text || repeat(' ', 100000) as number from generate_series(1, 100) n",
    _Number,
)


async def test_a_copy_hands_over_every_line(one: Pool, tenant: Tenant) -> None:
    got, counted = bytearray(), 0

    async def take(lines: bytes, count: int) -> None:
        nonlocal counted
        got.extend(lines)
        counted += count

    async with tenant.transaction("read only") as transaction:
        await transaction.copy(NUMBERS, 1000, sink=take)
        await transaction.copy(NUMBERS, 0, sink=take)
    assert got == "".join(f"{number}\n" for number in range(1, 1001)).encode()
    assert counted == 1000
    await assert_clean(one)


async def test_a_copy_waits_for_whoever_takes_the_lines(one: Pool, tenant: Tenant) -> None:
    """Rows that nobody takes are not made: all of these would take minutes."""

    async def leave(lines: bytes, count: int) -> None:
        raise _LeftError

    async def read() -> None:
        async with tenant.transaction("read only") as transaction:
            await transaction.copy(NUMBERS, 2**31 - 1, sink=leave)

    with pytest.raises(_LeftError):
        await read()
    await assert_clean(one)


class _LeftError(Exception):
    pass


async def test_a_copy_that_fails_midway_raises(one: Pool, tenant: Tenant) -> None:
    seen = 0

    async def take(lines: bytes, count: int) -> None:
        nonlocal seen
        seen += count

    async def read() -> None:
        async with tenant.transaction("read only") as transaction:
            await transaction.copy(FAILING_NUMBERS, sink=take)

    with pytest.raises(asyncpg.DivisionByZeroError):
        await read()
    assert 40 <= seen < 50
    await assert_clean(one)


async def test_json_is_the_same_text_through_every_connection(database: DatabaseUrls) -> None:
    async with open_pool(database.app, application_name="ten", max_size=10) as pool:
        tenant = await create_organization(pool, "acme")
        version = await create_version(tenant)
        run, _ = await create_run(tenant, version, [Attempt(1.0, stages={"stage_a": 0.5})])
        together = asyncio.Barrier(10)

        async def read() -> tuple[int, object, object]:
            async with tenant.transaction("read only") as transaction:
                await asyncio.wait_for(together.wait(), 30)
                process = await transaction.connection.fetchval("select pg_backend_pid()")
                stored = await transaction.fetch_one(versions.BY_IDS, [version.id])
                trial = await transaction.fetch_one(trials.BY_RUNS, [run.id])
                assert stored is not None
                assert trial is not None
                return process, stored.manifest, trial.stages

        read_back = await asyncio.gather(*(read() for _ in range(10)))
        assert len({process for process, _, _ in read_back}) == 10
        assert {(manifest, stages) for _, manifest, stages in read_back} == {
            (version.manifest, '[{"name": "stage_a", "value": 0.5}]')
        }
        assert json.loads(version.manifest)["task"] == "Restock SKU-9"
