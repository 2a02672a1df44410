"""The service's pool is opened for a role that row-level security binds, and for no other."""

import uuid
from collections.abc import AsyncIterator

import asyncpg
import pytest

from db.embedded import DatabaseUrls
from db.pool import UnsafeRoleError, open_pool
from tests.db.conftest import Connection

BYPASSES = "bypasses row-level security"
OWNS = "owns the tables"


@pytest.fixture
async def role(administrator: Connection) -> AsyncIterator[str]:
    """A plain login of this test's own."""
    name = f"role_{uuid.uuid4().hex}"
    await administrator.execute(f"create role {name} login")
    yield name
    await administrator.execute(f"drop owned by {name} cascade; drop role {name}")


async def refusal(url: str) -> str:
    with pytest.raises(UnsafeRoleError) as refused:
        async with open_pool(url, application_name="test"):
            pass
    return str(refused.value)


async def test_the_service_s_role_is_taken(database: DatabaseUrls) -> None:
    async with open_pool(database.app, application_name="test", max_size=2) as pool:
        assert await pool.fetchval("select current_user") == "agentforge_app"
        assert await pool.fetchval("show application_name") == "test"
        assert pool.get_max_size() == 2


async def test_superuser_and_owner_are_refused(database: DatabaseUrls, database_superuser: str) -> None:
    message = await refusal(database_superuser)
    assert "'postgres' bypasses row-level security" in message
    assert "Connect as agentforge_app" in message
    assert f"'agentforge_owner' {OWNS}" in await refusal(database.owner)


@pytest.mark.parametrize(
    ("grant", "reason"),
    [
        ("alter role {role} bypassrls", BYPASSES),
        ("alter role {role} superuser", BYPASSES),
        ("grant agentforge_owner to {role}", OWNS),
        # Neither inherits nor acts as the owner now, but can grant itself both.
        ("grant agentforge_owner to {role} with inherit false, set false, admin true", OWNS),
        ("grant agentforge_owner to {role} with inherit false", OWNS),
        ("alter table rollouts owner to {role}", OWNS),
        ("create table public.own (); alter table own owner to {role}", OWNS),
    ],
)
async def test_a_role_that_could_bypass_the_wall_is_refused(
    grant: str, reason: str, role: str, administrator: Connection, database: DatabaseUrls
) -> None:
    url = database.app.replace("agentforge_app@", f"{role}@")
    async with open_pool(url, application_name="test"):
        pass
    await administrator.execute(grant.format(role=role))
    assert f"{role!r} {reason}" in await refusal(url)


async def test_a_member_of_a_role_that_bypasses_is_refused(
    role: str, administrator: Connection, database: DatabaseUrls
) -> None:
    group = f"{role}_group"
    await administrator.execute(f"create role {group} bypassrls; grant {group} to {role}")
    try:
        assert BYPASSES in await refusal(database.app.replace("agentforge_app@", f"{role}@"))
    finally:
        await administrator.execute(f"drop role {group}")


async def test_no_connection_stays_behind_after_a_refusal(database: DatabaseUrls, administrator: Connection) -> None:
    await refusal(database.owner)
    assert (
        await administrator.fetchval(
            "select count(*) from pg_stat_activity where datname = current_database() and usename = 'agentforge_owner'"
        )
        == 0
    )


async def test_a_server_that_is_not_there_is_an_error_at_once(database: DatabaseUrls) -> None:
    with pytest.raises(asyncpg.InvalidCatalogNameError):
        async with open_pool(
            f"{database.app.split('?')[0]}_missing?{database.app.split('?')[1]}", application_name="t"
        ):
            pass
