"""Published versions and their bundles cannot be changed: not by the service, not by the owner, not by a superuser."""

from collections.abc import AsyncIterator

import asyncpg
import pytest

from db.embedded import DatabaseUrls
from db.tenant import Tenant
from tests.db.conftest import Connection
from tests.db.populate import Contents, populate

CHANGES = [
    "update environment_versions set manifest = '{}'",
    "update environment_versions set digest = digest",
    "delete from environment_versions",
    "truncate environment_versions cascade",
    "update bundles set content = ''",
    "delete from bundles",
    "truncate bundles cascade",
    "insert into bundles (organization_id, sha256, content) select organization_id, sha256, 'x' from bundles "
    "on conflict (organization_id, sha256) do update set content = excluded.content",
]
each_change = pytest.mark.parametrize("change", CHANGES)


@pytest.fixture
async def published(acme: Tenant) -> Contents:
    return await populate(acme, "acme")


@pytest.fixture
async def owner(database: DatabaseUrls) -> AsyncIterator[Connection]:
    connection = await asyncpg.connect(database.owner)
    yield connection
    await connection.close()


async def kept(administrator: Connection) -> list[str]:
    return [
        row[0]
        for row in await administrator.fetch(
            "select row.*::text from environment_versions row union all select row.*::text from bundles row"
        )
    ]


@each_change
@pytest.mark.usefixtures("published")
async def test_a_superuser_is_refused(change: str, administrator: Connection) -> None:
    before = await kept(administrator)
    with pytest.raises(asyncpg.RestrictViolationError, match="is immutable"):
        await administrator.execute(change)
    # The way around ordinary triggers.
    await administrator.execute("set session_replication_role = replica")
    with pytest.raises(asyncpg.RestrictViolationError, match="is immutable"):
        await administrator.execute(change)
    assert await kept(administrator) == before
    assert len(before) == 2


@each_change
@pytest.mark.usefixtures("published")
async def test_the_owner_is_refused(change: str, owner: Connection, administrator: Connection) -> None:
    before = await kept(administrator)
    if not change.startswith("truncate"):
        # Forced row-level security hides the rows from the owner...
        assert (await owner.execute(change)).endswith(" 0")
        # ...who could lift it.
        await owner.execute("alter table environment_versions no force row level security")
        await owner.execute("alter table bundles no force row level security")
    with pytest.raises(asyncpg.RestrictViolationError, match="is immutable"):
        await owner.execute(change)
    assert await kept(administrator) == before


@each_change
async def test_the_service_is_refused(change: str, published: Contents, administrator: Connection) -> None:
    before = await kept(administrator)
    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        async with published.tenant.transaction() as transaction:
            await transaction.connection.execute(change)
    # Also where somebody granted too much by mistake; a cascade reaches tables, so all of them.
    await administrator.execute("grant all on all tables in schema public to agentforge_app")
    with pytest.raises(asyncpg.RestrictViolationError, match="is immutable"):
        async with published.tenant.transaction() as transaction:
            await transaction.connection.execute(change)
    assert await kept(administrator) == before
