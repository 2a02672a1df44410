"""A token, a session and a sign-in link of one organization, and a client of the application that checks them."""

from collections.abc import AsyncIterator

import httpx
import pytest

from agentforge.auth import COOKIE
from db.tenant import Pool, Tenant
from resolvers import accounts, members
from tests.agentforge.gate import ADA, DAY, application, client_of


@pytest.fixture
async def client(pool: Pool) -> AsyncIterator[httpx.AsyncClient]:
    async with client_of(application(pool)) as client:
        yield client


@pytest.fixture
async def bearer(acme: Tenant) -> str:
    """The Authorization header of a viewer's token."""
    _, secret = await accounts.create_token(acme, "notebook", "viewer", DAY)
    return f"Bearer {secret}"


@pytest.fixture
async def link(acme: Tenant) -> str:
    membership = await members.add_member(acme, ADA, "member")
    return await accounts.create_sign_in_link(acme, membership.id)


@pytest.fixture
async def cookie(pool: Pool, link: str) -> str:
    """The Cookie header of a member."""
    session = await accounts.redeem_sign_in_link(pool, link, DAY)
    assert session is not None
    return f"{COOKIE}={session.id.hex}.{session.secret}"
