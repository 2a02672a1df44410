"""Signing in and out, by link and by password, beside another organization."""

import asyncio
import time
from uuid import uuid4

import asyncpg
import pytest

from db import accounts as statements_of_accounts
from db.errors import NotFoundError
from db.tenant import Pool, Tenant
from resolvers import accounts, members, passwords
from tests.resolvers.people import ADA, DAY, PASSWORD, member, session_of


async def test_a_link_signs_in_once(pool: Pool, acme: Tenant, rival: Tenant) -> None:
    user_id = await member(acme, role="owner")
    await member(rival)
    link = await accounts.create_sign_in_link(acme, user_id)
    redeemed = await asyncio.gather(*(accounts.redeem_sign_in_link(pool, link, DAY) for _ in range(8)))
    (session,) = [session for session in redeemed if session is not None]
    identity = await accounts.identify(pool, session.secret)
    assert identity is not None
    assert (identity.organization_id, identity.subject_id) == (acme.organization_id, user_id)
    assert (identity.email, identity.role) == (ADA, "owner")
    assert await accounts.identify(pool, link) is None


async def test_a_link_ends_after_its_time(
    pool: Pool, acme: Tenant, administrator: "asyncpg.Connection[asyncpg.Record]"
) -> None:
    link = await accounts.create_sign_in_link(acme, await member(acme))
    await administrator.execute("update sign_in_links set expires_at = now()")
    assert await accounts.redeem_sign_in_link(pool, link, DAY) is None


async def test_links_are_for_members_only(acme: Tenant, rival: Tenant) -> None:
    user_id = await member(acme)
    for unknown in (user_id, uuid4()):
        with pytest.raises(NotFoundError, match=f"^There is no member {unknown}.$"):
            await accounts.create_sign_in_link(rival, unknown)
    for email in (ADA, "nobody@example.com"):
        with pytest.raises(NotFoundError, match=f"^No member has the address '{email}'"):
            await members.member_by_email(rival, email)


async def test_a_password_signs_in_to_the_first_or_the_named_organization(
    pool: Pool, acme: Tenant, rival: Tenant
) -> None:
    await member(acme, password=PASSWORD)
    await member(rival)
    for slug, tenant in ((None, acme), ("acme", acme), ("rival", rival)):
        session = await accounts.sign_in(pool, "ADA@example.com", PASSWORD, slug, DAY)
        assert session is not None
        identity = await accounts.identify(pool, session.secret)
        assert identity is not None
        assert identity.organization_id == tenant.organization_id


async def test_a_sign_in_with_anything_wrong_gives_nothing(pool: Pool, acme: Tenant, rival: Tenant) -> None:
    await member(acme, password=PASSWORD)
    await member(acme, "grace@example.com")
    assert await accounts.sign_in(pool, ADA, PASSWORD + " ", None, DAY) is None
    for unknown in ("nobody@example.com", "ada", "ada@example.com\0", "\ud800@example.com"):
        assert await accounts.sign_in(pool, unknown, PASSWORD, None, DAY) is None
    assert await accounts.sign_in(pool, "grace@example.com", PASSWORD, None, DAY) is None
    for slug in ("rival", "unknown", "acme\0", ""):
        assert await accounts.sign_in(pool, ADA, PASSWORD, slug, DAY) is None


async def test_an_unknown_address_takes_as_long_as_a_wrong_password(pool: Pool, acme: Tenant) -> None:
    await member(acme, password=PASSWORD)

    async def least(email: str) -> float:
        times = []
        for _ in range(3):
            start = time.perf_counter()
            assert await accounts.sign_in(pool, email, "not the right one", None, DAY) is None
            times.append(time.perf_counter() - start)
        return min(times)

    # A hash takes tens of milliseconds, everything else about one.
    assert await least("nobody@example.com") > 0.4 * await least(ADA)


async def test_hashing_leaves_the_event_loop_free() -> None:
    hashing = asyncio.create_task(passwords.hash_password(PASSWORD))
    turns = 0
    while not hashing.done():
        await asyncio.sleep(0)
        turns += 1
    assert turns > 20
    assert (await hashing).startswith("$argon2id$")


async def test_a_session_ends_with_its_time_its_membership_and_signing_out(
    pool: Pool, acme: Tenant, administrator: "asyncpg.Connection[asyncpg.Record]"
) -> None:
    user_id = await member(acme)
    session = await session_of(acme, user_id)
    await member(acme, role="viewer")
    identity = await accounts.identify(pool, session.secret)
    assert identity is not None
    assert identity.role == "viewer", "a new role holds at once"
    await administrator.execute("update sessions set expires_at = now()")
    assert await accounts.identify(pool, session.secret) is None

    session = await session_of(acme, user_id)
    await accounts.sign_out(acme, identity, session.id)
    assert await accounts.identify(pool, session.secret) is None

    session = await session_of(acme, user_id)
    await administrator.execute("delete from memberships")
    assert await accounts.identify(pool, session.secret) is None


async def test_nobody_signs_another_person_out(pool: Pool, acme: Tenant, rival: Tenant) -> None:
    user_id = await member(acme)
    session = await session_of(acme, user_id)
    own = await accounts.identify(pool, session.secret)
    other_session = await session_of(acme, await member(acme, "grace@example.com"))
    other = await accounts.identify(pool, other_session.secret)
    assert own is not None
    assert other is not None
    await accounts.sign_out(acme, other, session.id)
    await accounts.sign_out(rival, own, session.id)
    assert await accounts.identify(pool, session.secret) == own


async def test_another_organization_cannot_set_a_password(pool: Pool, acme: Tenant, rival: Tenant) -> None:
    user_id = await member(acme, password=PASSWORD)
    forged = await passwords.hash_password("a forged password")
    async with rival.transaction() as transaction:
        changed = await transaction.fetch_one(statements_of_accounts.SET_PASSWORD, user_id, forged)
    assert changed is not None
    assert not changed.changed
    assert await accounts.sign_in(pool, ADA, "a forged password", None, DAY) is None
    assert await accounts.sign_in(pool, ADA, PASSWORD, None, DAY) is not None
