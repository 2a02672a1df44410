"""Organizations, members, tokens and sign-in, against a real database and always beside another organization."""

import asyncio
import hashlib
import time
from datetime import timedelta
from uuid import UUID, uuid4

import asyncpg
import pytest

from db import accounts as statements_of_accounts
from db.embedded import DatabaseUrls
from db.errors import ConflictError, InvalidInputError, NotFoundError
from db.pool import UnsafeRoleError, open_pool
from db.tenant import Pool, Tenant
from resolvers import accounts, members, passwords
from tests.conftest import in_database

ADA = "ada@example.com"
PASSWORD = "correct horse battery"
DAY = timedelta(days=1)


async def member(tenant: Tenant, email: str = ADA, role: str = "member", password: str | None = None) -> UUID:
    return (await members.add_member(tenant, email, role, password)).id


async def session_of(tenant: Tenant, user_id: UUID) -> accounts.Session:
    link = await accounts.create_sign_in_link(tenant, user_id)
    session = await accounts.redeem_sign_in_link(tenant.pool, link, DAY)
    assert session is not None
    return session


async def test_an_organization_has_an_owner(pool: Pool) -> None:
    organization, membership = await accounts.create_organization(pool, "acme-labs", "Acme Labs", "Ada@Example.com")
    tenant = await accounts.tenant_of(pool, "acme-labs")
    assert tenant.organization_id == organization.id
    owner = await members.member_by_email(tenant, "ADA@example.com")
    assert (owner.id, owner.email, owner.role) == (membership.id, ADA, "owner")
    assert await tenant.fetch(statements_of_accounts.ORGANIZATIONS_BY_IDS, [organization.id]) == [organization]


async def test_a_taken_slug_is_a_conflict_and_leaves_nothing(
    pool: Pool, acme: Tenant, administrator: "asyncpg.Connection[asyncpg.Record]"
) -> None:
    with pytest.raises(ConflictError, match="'acme'"):
        await accounts.create_organization(pool, "acme", "Another", "new@example.com")
    assert await administrator.fetchval("select count(*) from organizations") == 1
    assert await administrator.fetchval("select count(*) from users") == 0


async def test_a_slug_is_checked(pool: Pool) -> None:
    for slug in ("", "Acme", "-acme", "acme-", "a" * 64, "ac me", "acme\n", "acme\0", "ácme"):
        with pytest.raises(InvalidInputError) as refused:
            await accounts.create_organization(pool, slug, "Acme", ADA)
        assert refused.value.field == ("slug",)
        with pytest.raises(NotFoundError):
            await accounts.tenant_of(pool, slug)


async def test_a_name_is_checked(pool: Pool, acme: Tenant) -> None:
    for name in ("", " ", "a" * 201, "a\0b", "a\nb", "\ud800"):
        for attempt in (
            accounts.create_organization(pool, "labs", name, ADA),
            accounts.create_token(acme, name, "viewer", DAY),
        ):
            with pytest.raises(InvalidInputError) as refused:
                await attempt
            assert refused.value.field == ("name",)


async def test_an_address_is_checked(pool: Pool, acme: Tenant) -> None:
    long = "a" * 250 + "@b.co"
    for email in ("", "ada", "@example.com", "ada@", "a@b@c", "a da@b", "ada@b\0", "\ud800@b", long):
        with pytest.raises(InvalidInputError) as refused:
            await accounts.create_organization(pool, "labs", "Labs", email)
        assert refused.value.field == ("ownerEmail",)
        with pytest.raises(InvalidInputError) as refused:
            await members.add_member(acme, email, "member")
        assert refused.value.field == ("email",)
        with pytest.raises(NotFoundError):
            await members.member_by_email(acme, email)


async def test_a_role_is_one_of_the_set_in_any_case(acme: Tenant) -> None:
    assert (await members.add_member(acme, ADA, "OWNER")).role == "owner"
    token, _ = await accounts.create_token(acme, "fleet", "Worker", DAY)
    assert token.role == "worker"
    for refused_role in ("worker", "admin", "", "owner\0"):
        with pytest.raises(InvalidInputError) as refused:
            await members.add_member(acme, ADA, refused_role)
        assert refused.value.field == ("role",)
    with pytest.raises(InvalidInputError):
        await accounts.create_token(acme, "fleet", "admin", DAY)


async def test_a_password_is_checked_and_never_repeated(pool: Pool, acme: Tenant) -> None:
    for password in ("", "x" * 11, "x" * 1025, "long enough \0", "long enough \ud800"):
        with pytest.raises(InvalidInputError) as refused:
            await members.add_member(acme, ADA, "member", password)
        assert refused.value.field == ("password",)
        assert not password or password not in refused.value.message
        assert await accounts.sign_in(pool, ADA, password, None, DAY) is None
    for password in ("x" * 12, "é" * 1024):
        await member(acme, password=password)
        assert await accounts.sign_in(pool, ADA, password, None, DAY) is not None


async def test_a_lifetime_is_checked(acme: Tenant) -> None:
    for lifetime in (timedelta(), timedelta(seconds=-1), timedelta(days=3651), timedelta.max):
        with pytest.raises(InvalidInputError) as refused:
            await accounts.create_token(acme, "long", "viewer", lifetime)
        assert refused.value.field == ("lifetime",)


async def test_one_person_has_a_role_in_each_organization(acme: Tenant, rival: Tenant) -> None:
    assert await member(acme, role="owner") == await member(rival, role="viewer")
    assert (await members.member_by_email(acme, ADA)).role == "owner"
    assert (await members.member_by_email(rival, ADA)).role == "viewer"


async def test_a_token_is_known_until_it_is_revoked_or_expires(
    pool: Pool, acme: Tenant, administrator: "asyncpg.Connection[asyncpg.Record]"
) -> None:
    token, secret = await accounts.create_token(acme, "notebook", "viewer", DAY)
    identity = await accounts.identify(pool, secret)
    assert identity is not None
    assert (identity.organization_id, identity.subject_id) == (acme.organization_id, token.id)
    assert (identity.role, identity.email) == ("viewer", None)
    await administrator.execute("update api_tokens set expires_at = now()")
    assert await accounts.identify(pool, secret) is None
    await administrator.execute("update api_tokens set expires_at = $1", identity.expires_at)
    assert await accounts.identify(pool, secret) == identity
    revoked = await accounts.revoke_token(acme, token.id)
    assert await accounts.identify(pool, secret) is None
    assert await accounts.revoke_token(acme, token.id) == revoked


async def test_tokens_of_another_organization_do_not_exist(pool: Pool, acme: Tenant, rival: Tenant) -> None:
    token, secret = await accounts.create_token(acme, "notebook", "viewer", DAY)
    assert await accounts.tokens(acme) == [token]
    assert await accounts.tokens(rival) == []
    for unknown in (token.id, uuid4()):
        with pytest.raises(NotFoundError, match=r"^There is no such token\.$"):
            await accounts.revoke_token(rival, unknown)
    assert await accounts.identify(pool, secret) is not None


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


async def test_secrets_are_stored_as_digests_only(
    pool: Pool, acme: Tenant, administrator: "asyncpg.Connection[asyncpg.Record]"
) -> None:
    user_id = await member(acme, password=PASSWORD)
    _, token_secret = await accounts.create_token(acme, "notebook", "viewer", DAY)
    session = await session_of(acme, user_id)
    link = await accounts.create_sign_in_link(acme, user_id)
    tables = await administrator.fetch(
        "select format('%I.%I', schemaname, tablename) as name from pg_tables "
        "where schemaname not in ('pg_catalog', 'information_schema')"
    )
    dump = "".join(
        [
            row["text"]
            for table in tables
            for row in await administrator.fetch(f"select to_jsonb(t)::text as text from {table['name']} t")
        ]
    )
    assert ADA in dump
    for secret in (token_secret, session.secret, link):
        assert hashlib.sha256(secret.encode()).hexdigest() in dump
        assert secret not in dump
        assert secret.encode().hex() not in dump
    assert PASSWORD not in dump
    assert session.secret not in repr(session)


async def test_the_service_refuses_a_role_that_sees_every_organization(database: DatabaseUrls, superuser: str) -> None:
    name = database.app.partition("@/")[2].partition("?")[0]
    for url, reason in ((in_database(superuser, name), "bypasses"), (database.owner, "owns the tables")):
        with pytest.raises(UnsafeRoleError, match=reason):
            async with open_pool(url, application_name="test", max_size=1):
                pytest.fail("opened")
    async with open_pool(database.app, application_name="test", max_size=1) as pool:
        assert await accounts.identify(pool, "nobody's") is None
