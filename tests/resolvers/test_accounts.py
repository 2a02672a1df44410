"""Organizations and tokens, against a real database and always beside another organization."""

import hashlib
from datetime import timedelta
from uuid import uuid4

import asyncpg
import pytest

from db import accounts as statements_of_accounts
from db.embedded import DatabaseUrls
from db.errors import ConflictError, InvalidInputError, NotFoundError
from db.pool import UnsafeRoleError, open_pool
from db.tenant import Pool, Tenant
from resolvers import accounts, members
from tests.conftest import in_database
from tests.resolvers.people import ADA, DAY, PASSWORD, member, session_of


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


async def test_a_lifetime_is_checked(acme: Tenant) -> None:
    for lifetime in (timedelta(), timedelta(seconds=-1), timedelta(days=3651), timedelta.max):
        with pytest.raises(InvalidInputError) as refused:
            await accounts.create_token(acme, "long", "viewer", lifetime)
        assert refused.value.field == ("lifetime",)


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
