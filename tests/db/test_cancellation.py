"""A request cancelled at any moment leaves its connection clean and its transaction whole or undone."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any

import pytest

from db import environments, exports
from db.embedded import DatabaseUrls
from db.pool import open_pool
from db.tenant import Tenant
from tests.db.conftest import Pool
from tests.db.test_tenant import assert_clean
from tests.factory import create_organization

# A request takes some dozen turns of the event loop; how many is up to the server, so each is tried, three times.
ENOUGH_UNCANCELLED = 15
MOST_TURNS = 5000


@pytest.fixture
async def one(database: DatabaseUrls) -> AsyncIterator[Pool]:
    async with open_pool(database.app, application_name="one", max_size=1) as pool:
        yield pool


@pytest.fixture
async def tenant(one: Pool) -> Tenant:
    return await create_organization(one, "acme")


@pytest.fixture
async def complaints() -> AsyncIterator[list[str]]:
    """What tasks and callbacks raised with nobody there to catch it."""
    said: list[str] = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, context: said.append(str(context)))
    yield said
    loop.set_exception_handler(None)


async def cancelled_after(turns: int, work: Coroutine[Any, Any, object], *, again: int) -> bool:
    """Whether the work was cancelled, after so many turns of the event loop and at each of `again` turns more."""
    task = asyncio.ensure_future(work)
    for _ in range(turns):
        if task.done():
            break
        await asyncio.sleep(0)
    for _ in range(again + 1):
        task.cancel()
        await asyncio.sleep(0)
    await asyncio.wait([task], timeout=30)
    assert task.done()
    return task.cancelled()


async def read(tenant: Tenant, _: str) -> None:
    await tenant.fetch(environments.PAGE, None, 10)


async def write_twice(tenant: Tenant, name: str) -> None:
    async with tenant.transaction() as transaction:
        await transaction.fetch(environments.CREATE, f"{name}-a", name)
        await transaction.fetch(environments.CREATE, f"{name}-b", name)


async def copy(tenant: Tenant, _: str) -> None:
    async def take(lines: bytes, count: int) -> None:
        await asyncio.sleep(0)

    async with tenant.transaction("read only") as transaction:
        await transaction.copy(exports.PREFERENCES, *[None] * 6, sink=take)


async def names(tenant: Tenant) -> dict[str, int]:
    """How many environments have each name."""
    found: dict[str, int] = {}
    for environment in await tenant.fetch(environments.PAGE, None, 10_000):
        found[environment.name] = found.get(environment.name, 0) + 1
    return found


@pytest.mark.parametrize("again", [0, 1, 20])
@pytest.mark.parametrize("work", [read, write_twice, copy])
async def test_cancelling_at_any_moment_leaves_the_connection_clean(
    work: Callable[[Tenant, str], Coroutine[Any, Any, None]],
    again: int,
    one: Pool,
    tenant: Tenant,
    complaints: list[str],
) -> None:
    uncancelled: list[str] = []
    server_process = await one.fetchval("select pg_backend_pid()")
    for times in range(MOST_TURNS):
        name = f"n{times}"
        if not await cancelled_after(times // 3, work(tenant, name), again=again):
            uncancelled.append(name)
        await assert_clean(one)
        assert complaints == []
        if len(uncancelled) == ENOUGH_UNCANCELLED:
            break
    assert len(uncancelled) == ENOUGH_UNCANCELLED
    # A copy that is left midway takes its connection along; the pool opens another.
    if work is not copy:
        assert await one.fetchval("select pg_backend_pid()") == server_process, "the connection was lost to the pool"
    if work is write_twice:
        written = await names(tenant)
        assert set(written.values()) == {2}, "half of a transaction was stored"
        assert set(uncancelled) <= set(written), "what ended well is stored"
