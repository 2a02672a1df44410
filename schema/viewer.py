"""Who is asking, and for which organization."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Self

import strawberry

from db import accounts, secrets
from db import members as member_rows
from db.accounts import Identity
from db.errors import ForbiddenError
from resolvers import export_audits, members
from resolvers.accounts import newest_tokens
from resolvers.loaders import ORGANIZATION
from resolvers.pages import fetch
from resolvers.secrets import newest as newest_secrets
from schema.connection import Connection, connection
from schema.export_audit import ExportAudit
from schema.info import Info
from schema.member_role import MemberRole
from schema.node import Node
from schema.rollout import RolloutExport
from schema.sources import OverRow, computed, listed


@strawberry.type(description="A person in the organization.")
class Member(OverRow):
    row = member_rows.Member

    id: strawberry.ID = strawberry.field(description="The person's, as in viewer.id.")
    email: str
    role: MemberRole
    created_at: datetime = strawberry.field(description="When the person became a member.")


@dataclass(frozen=True, slots=True, kw_only=True)
class NewToken(accounts.Token):
    """A token and its secret, which is nowhere else: only its SHA-256 is stored."""

    secret: str = field(repr=False)


@strawberry.type(description="What a program acts for the organization with.")
class ApiToken(OverRow):
    row = accounts.Token

    id: strawberry.ID
    name: str
    role: MemberRole
    created_at: datetime
    expires_at: datetime
    revoked_at: datetime | None

    @strawberry.field(description="Told once, in the answer of the mutation that created the token; else null.")
    def secret(self, root: strawberry.Parent[accounts.Token]) -> str | None:
        return root.secret if isinstance(root, NewToken) else None


@strawberry.type(description="A value that agents get as a variable of its name, and that nobody is shown again.")
class Secret(OverRow):
    row = secrets.Secret

    id: strawberry.ID
    name: str
    created_at: datetime
    updated_at: datetime = strawberry.field(description="When the value was last set.")
    updated_by: strawberry.ID | None = strawberry.field(
        description="The person or token that last set the value; null for an operator."
    )


@strawberry.type
class Organization(OverRow, Node):
    row = accounts.Organization

    slug: str
    name: str

    members: Connection[Member] = listed(members.newest)
    exports: list[RolloutExport] = computed(
        lambda: RolloutExport.all_of(), description="Of all versions together; each version has its own."
    )

    @strawberry.field(description="Every token, the ended ones too. For owners.")
    async def api_tokens(self, info: Info, first: int | None = None, after: str | None = None) -> Connection[ApiToken]:
        if info.context.identity.role != MemberRole.OWNER.value:
            raise ForbiddenError("Only an owner may see the tokens.")
        return connection(await fetch(info.context, newest_tokens(first, after)))

    @strawberry.field(description="Names and times, never a value. For owners.")
    async def secrets(self, info: Info, first: int | None = None, after: str | None = None) -> Connection[Secret]:
        if info.context.identity.role != MemberRole.OWNER.value:
            raise ForbiddenError("Only an owner may see the secrets.")
        return connection(await fetch(info.context, newest_secrets(first, after)))

    @strawberry.field(description="Every export there was, and who asked for it. For owners.")
    async def export_audits(
        self, info: Info, first: int | None = None, after: str | None = None
    ) -> Connection[ExportAudit]:
        if info.context.identity.role != MemberRole.OWNER.value:
            raise ForbiddenError("Only an owner may see who exported what.")
        return connection(await fetch(info.context, export_audits.newest(first, after)))


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
        row = await info.context.load(ORGANIZATION, info.context.tenant.organization_id)
        assert row is not None
        return Organization.of(row)
