"""Who holds a secret is asked once, and asked again as soon as the answer may have changed."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import timedelta

import asyncpg
import pytest

from db.changes import Changes, listen
from db.embedded import DatabaseUrls
from db.tenant import Pool, Tenant
from resolvers import accounts, members
from resolvers.identities import Identities

DAY = timedelta(days=1)
EMAIL = "ada@example.org"


@pytest.fixture
async def identities(database: DatabaseUrls, pool: Pool) -> AsyncIterator[Identities]:
    async with listen(database.app) as changes:
        yield Identities(pool, changes)


async def token_of(tenant: Tenant) -> str:
    _, secret = await accounts.create_token(tenant, "notebook", "viewer", DAY)
    return secret


async def after(identities: Identities, change: Callable[[], Awaitable[object]]) -> None:
    """Returns once the change has been heard of."""
    edition = identities.changes.identities
    await change()
    async with asyncio.timeout(30):
        while identities.changes.identities == edition:  # noqa: ASYNC110 - another process's word
            await asyncio.sleep(0.005)


async def test_a_secret_is_asked_for_once(
    identities: Identities, acme: Tenant, rival: Tenant, statements: list[str]
) -> None:
    secret, other = await token_of(acme), await token_of(rival)
    statements.clear()
    for _ in range(3):
        ours, theirs = await identities.find(secret), await identities.find(other)
        assert ours
        assert theirs
        assert ours.organization_id == acme.organization_id
        assert theirs.organization_id == rival.organization_id
    assert statements == ["accounts.identify", "accounts.identify"]


async def test_what_nobody_holds_is_not_remembered(identities: Identities) -> None:
    assert await identities.find("agentforge_" + "x" * 43) is None
    assert not identities.known


async def test_a_revoked_token_ends(identities: Identities, acme: Tenant) -> None:
    token, secret = await accounts.create_token(acme, "notebook", "viewer", DAY)
    assert await identities.find(secret)
    await after(identities, lambda: accounts.revoke_token(acme, token.id))
    assert await identities.find(secret) is None


async def test_a_session_ends_with_sign_out_and_has_the_newest_role(
    identities: Identities, acme: Tenant, pool: Pool
) -> None:
    membership = await members.add_member(acme, EMAIL, "member")
    session = await accounts.redeem_sign_in_link(pool, await accounts.create_sign_in_link(acme, membership.id), DAY)
    assert session
    signed_in = await identities.find(session.secret)
    assert signed_in
    assert signed_in.role == "member"
    await after(identities, lambda: members.add_member(acme, EMAIL, "viewer"))
    changed = await identities.find(session.secret)
    assert changed
    assert changed.role == "viewer"
    await after(identities, lambda: accounts.sign_out(acme, changed, session.id))
    assert await identities.find(session.secret) is None


async def test_nobody_is_remembered_past_their_time(identities: Identities, acme: Tenant) -> None:
    _, secret = await accounts.create_token(acme, "short", "viewer", timedelta(seconds=1))
    assert await identities.find(secret)
    async with asyncio.timeout(30):
        while await identities.find(secret):  # noqa: ASYNC110 - time itself
            await asyncio.sleep(0.05)


async def test_nobody_is_remembered_without_ears(pool: Pool, acme: Tenant) -> None:
    deaf = Identities(pool, Changes())
    token, secret = await accounts.create_token(acme, "notebook", "viewer", DAY)
    assert await deaf.find(secret)
    await accounts.revoke_token(acme, token.id)
    assert await deaf.find(secret) is None


async def test_nobody_is_remembered_when_the_listening_connection_was_lost(
    identities: Identities, acme: Tenant, database: DatabaseUrls
) -> None:
    token, secret = await accounts.create_token(acme, "notebook", "viewer", DAY)
    assert await identities.find(secret)
    connection = await asyncpg.connect(database.owner)
    try:
        await connection.execute("drop trigger notify_identities on api_tokens")  # what is not heard
    finally:
        await connection.close()
    await after(identities, lambda: _end_listener(database))
    await accounts.revoke_token(acme, token.id)
    assert await identities.find(secret) is None


async def _end_listener(database: DatabaseUrls) -> None:
    connection = await asyncpg.connect(database.app)
    try:
        ended = await connection.fetch(
            "select pg_terminate_backend(pid) from pg_stat_activity "
            "where query ilike 'listen %' and datname = current_database()"
        )
        assert ended
    finally:
        await connection.close()
