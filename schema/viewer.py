"""Who is asking, and for which organization."""

from enum import Enum
from typing import Self

import strawberry

from db import accounts
from db.accounts import Identity
from schema.info import Info
from schema.node import Node
from schema.sources import OverRow


@strawberry.enum
class MemberRole(Enum):
    OWNER = "owner"
    MEMBER = "member"
    VIEWER = "viewer"
    WORKER = "worker"


@strawberry.type
class Organization(OverRow, Node):
    row = accounts.Organization

    slug: str
    name: str


async def current_organization(info: Info) -> Organization:
    row = await info.context.tenant.fetch_one(accounts.CURRENT_ORGANIZATION)
    assert row is not None
    return Organization.of(row)


@strawberry.type
class Viewer:
    id: strawberry.ID = strawberry.field(description="The signed-in person's id, or the token's.")
    email: str | None = strawberry.field(description="Null for a token.")
    role: MemberRole

    @classmethod
    def of(cls, identity: Identity) -> Self:
        return cls(id=strawberry.ID(str(identity.subject_id)), email=identity.email, role=MemberRole(identity.role))

    @strawberry.field
    async def organization(self, info: Info) -> Organization:
        return await current_organization(info)
