"""People to sign in, and their sessions."""

from datetime import timedelta
from uuid import UUID

from db.tenant import Tenant
from resolvers import accounts, members

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
