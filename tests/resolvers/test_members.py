"""Members: addresses, roles and passwords, in each organization by itself."""

import pytest

from db.errors import InvalidInputError, NotFoundError
from db.tenant import Pool, Tenant
from resolvers import accounts, members
from tests.resolvers.people import ADA, DAY, member


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


async def test_one_person_has_a_role_in_each_organization(acme: Tenant, rival: Tenant) -> None:
    assert await member(acme, role="owner") == await member(rival, role="viewer")
    assert (await members.member_by_email(acme, ADA)).role == "owner"
    assert (await members.member_by_email(rival, ADA)).role == "viewer"
