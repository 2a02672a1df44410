"""Changes that only owners make: who belongs to the organization, and what programs act for it with."""

from dataclasses import asdict
from datetime import timedelta
from typing import Annotated

import strawberry

from db.errors import InvalidInputError, NotFoundError
from resolvers import accounts, members, secrets
from resolvers.context import Context
from resolvers.ids import parse_id
from resolvers.loaders import MEMBER, ORGANIZATION, SECRET, TOKEN
from schema.change import OWNERS, Repeatable, change
from schema.info import Info
from schema.member_role import MemberRole
from schema.problems import Conflict, Forbidden, InvalidInput, NotFound
from schema.viewer import ApiToken, Member, NewToken, Organization, Secret

MemberResult = Annotated[Member | InvalidInput | Conflict | Forbidden, strawberry.union("MemberResult")]
RemoveMemberResult = Annotated[
    Organization | InvalidInput | NotFound | Conflict | Forbidden, strawberry.union("RemoveMemberResult")
]
ApiTokenResult = Annotated[
    ApiToken | InvalidInput | NotFound | Conflict | Forbidden, strawberry.union("ApiTokenResult")
]

SecretResult = Annotated[Secret | InvalidInput | Conflict | Forbidden, strawberry.union("SecretResult")]
RemoveSecretResult = Annotated[
    Organization | InvalidInput | NotFound | Conflict | Forbidden, strawberry.union("RemoveSecretResult")
]


@strawberry.input
class AddMemberInput(Repeatable):
    email: str
    role: MemberRole = strawberry.field(description="Any but WORKER.")


@strawberry.input
class RemoveMemberInput(Repeatable):
    member_id: strawberry.ID


@strawberry.input
class CreateApiTokenInput(Repeatable):
    name: str
    role: MemberRole
    days: int = strawberry.field(default=90, description="Until it ends: 1 to 3650.")


@strawberry.input
class RevokeApiTokenInput(Repeatable):
    api_token_id: strawberry.ID


@strawberry.input
class SetSecretInput(Repeatable):
    name: str = strawberry.field(description="Of the variable: A-Z, 0-9 and _.")
    value: str = strawberry.field(description="8 characters to 16 KiB. Give it as a variable of the operation.")

    def asked(self, context: Context) -> dict[str, object]:
        """A digest of a short value could be guessed."""
        return super().asked(context) | {"value": context.keys.fingerprint(self.value)}


@strawberry.input
class RemoveSecretInput(Repeatable):
    name: str


async def _organization(info: Info) -> Organization:
    info.context.refresh()
    row = await info.context.load(ORGANIZATION, info.context.tenant.organization_id)
    assert row is not None
    return Organization.of(row)


@strawberry.type
class Administration:
    @change(
        OWNERS,
        MEMBER,
        description="Makes the person with this address a member, or gives a member another role. "
        "An operator sets passwords and makes sign-in links.",
    )
    async def add_member(self, info: Info, input: AddMemberInput) -> MemberResult:
        return Member.of(await members.add_member(info.context.tenant, input.email, input.role.value))

    @change(
        OWNERS, ORGANIZATION, description="Ends the person's sessions too. Tokens are the organization's, and stay."
    )
    async def remove_member(self, info: Info, input: RemoveMemberInput) -> RemoveMemberResult:
        await members.remove_member(info.context.tenant, input.member_id)
        return await _organization(info)

    @change(OWNERS, TOKEN)
    async def create_api_token(self, info: Info, input: CreateApiTokenInput) -> ApiTokenResult:
        if not 1 <= input.days <= accounts.MAX_LIFETIME.days:
            message = f"days is {input.days}; a token ends after 1 to {accounts.MAX_LIFETIME.days} days."
            raise InvalidInputError(message, ["days"])
        tenant, lifetime = info.context.tenant, timedelta(days=input.days)
        token, secret = await accounts.create_token(tenant, input.name, input.role.value, lifetime)
        return ApiToken.of(NewToken(**asdict(token), secret=secret))

    @change(OWNERS, TOKEN, description="Ends a token at once; a second time changes nothing.")
    async def revoke_api_token(self, info: Info, input: RevokeApiTokenInput) -> ApiTokenResult:
        key = parse_id(input.api_token_id)
        if key is None:
            raise NotFoundError("There is no such token.")
        return ApiToken.of(await accounts.revoke_token(info.context.tenant, key))

    @change(OWNERS, SECRET, description="Stores a value, encrypted, for agents; one that is there is replaced.")
    async def set_secret(self, info: Info, input: SetSecretInput) -> SecretResult:
        context = info.context
        subject = context.identity.subject_id
        return Secret.of(await secrets.set_secret(context.tenant, context.keys, input.name, input.value, subject))

    @change(OWNERS, ORGANIZATION, description="Runs of configurations that name it fail from then on.")
    async def remove_secret(self, info: Info, input: RemoveSecretInput) -> RemoveSecretResult:
        await secrets.remove_secret(info.context.tenant, input.name)
        return await _organization(info)
