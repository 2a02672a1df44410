"""Members and tokens, over the graph: what owners see and change, and what stays impossible."""

import asyncio
from datetime import timedelta
from typing import Any

from db.tenant import Tenant
from resolvers import accounts, members
from tests.schema.asking import ask, execute, nodes, refusals
from tests.schema.documents import ADMINISTRATION
from tests.schema.world import World

ANSWER = "__typename ... on Problem { message } ... on InvalidInput { field }"
ADD = f"""mutation($i: AddMemberInput!) {{ answer: addMember(input: $i) {{
  {ANSWER} ... on Member {{ id email role }} }} }}"""
REMOVE = f"""mutation($i: RemoveMemberInput!) {{ answer: removeMember(input: $i) {{
  {ANSWER} ... on Organization {{ members {{ edges {{ node {{ email }} }} }} }} }} }}"""
CREATE = f"""mutation($i: CreateApiTokenInput!) {{ answer: createApiToken(input: $i) {{
  {ANSWER} ... on ApiToken {{ id name role secret createdAt expiresAt }} }} }}"""
REVOKE = f"""mutation($i: RevokeApiTokenInput!) {{ answer: revokeApiToken(input: $i) {{
  {ANSWER} ... on ApiToken {{ id revokedAt secret }} }} }}"""
LAST_OWNER = {
    "__typename": "Conflict",
    "message": "An organization keeps at least one owner: first make somebody else an owner.",
}


async def answer(tenant: Tenant, text: str, **given: Any) -> Any:
    return (await ask(tenant, text, "owner", i=given))["answer"]


async def test_owners_see_members_and_tokens(world: World) -> None:
    organization = (await ask(world.tenant, ADMINISTRATION, "owner"))["viewer"]["organization"]
    assert [(one["email"], one["role"]) for one in nodes(organization["members"])] == [
        ("mary@acme.example", "MEMBER"),
        ("olga@acme.example", "OWNER"),
    ]
    assert (organization["members"]["totalCount"], organization["apiTokens"]["totalCount"]) == (2, 2)
    assert [(one["id"], one["role"], one["secret"], one["revokedAt"]) for one in nodes(organization["apiTokens"])] == [
        (str(token.id), token.role.upper(), None, None) for token in reversed(world.tokens)
    ]


async def test_others_see_members_only(world: World) -> None:
    for role in ("member", "viewer"):
        seen = await ask(world.tenant, "{ viewer { organization { members { totalCount } } } }", role)
        assert seen["viewer"]["organization"]["members"]["totalCount"] == 2
    (refused,) = await refusals(world.tenant, ADMINISTRATION)
    assert (refused["message"], refused["extensions"]["code"]) == ("Only an owner may see the tokens.", "FORBIDDEN")


async def test_a_member_is_added_changed_and_removed(acme: Tenant, rival: Tenant) -> None:
    await members.add_member(rival, "ada@example.org", "viewer")
    for email in ("olga@example.org", "Ada@Example.org"):
        added = await answer(acme, ADD, email=email, role="OWNER")
        assert (added["email"], added["role"]) == (email.lower(), "OWNER")
    changed = await answer(acme, ADD, email="ada@example.org", role="MEMBER")
    assert changed == added | {"role": "MEMBER"}
    removed = await answer(acme, REMOVE, memberId=added["id"])
    assert removed == {"__typename": "Organization", "members": {"edges": [{"node": {"email": "olga@example.org"}}]}}
    again = await answer(acme, REMOVE, memberId=added["id"])
    assert again == {"__typename": "NotFound", "message": "There is no such member."}
    assert (await members.member_by_email(rival, "ada@example.org")).role == "viewer"


async def test_what_nobody_can_be(acme: Tenant) -> None:
    refused = await answer(acme, ADD, email="nobody", role="OWNER")
    assert (refused["__typename"], refused["field"]) == ("InvalidInput", ["input", "email"])
    refused = await answer(acme, ADD, email="ada@example.org", role="WORKER")
    assert (refused["__typename"], refused["field"]) == ("InvalidInput", ["input", "role"])


async def test_the_last_owner_stays(acme: Tenant) -> None:
    owner = await answer(acme, ADD, email="olga@example.org", role="OWNER")
    await answer(acme, ADD, email="mary@example.org", role="MEMBER")
    assert await answer(acme, REMOVE, memberId=owner["id"]) == LAST_OWNER
    assert await answer(acme, ADD, email="olga@example.org", role="VIEWER") == LAST_OWNER


async def test_two_owners_cannot_remove_each_other_at_once(acme: Tenant) -> None:
    for _ in range(5):
        owners = [await answer(acme, ADD, email=f"{name}@example.org", role="OWNER") for name in ("olga", "otto")]
        answers = await asyncio.gather(*(answer(acme, REMOVE, memberId=one["id"]) for one in owners))
        assert sorted(one["__typename"] for one in answers) == ["Conflict", "Organization"]


async def test_a_token_tells_its_secret_once_and_ends(acme: Tenant) -> None:
    made = await answer(acme, CREATE, name="notebook", role="VIEWER", days=7)
    identity = await accounts.identify(acme.pool, made["secret"])
    assert identity is not None
    assert (str(identity.subject_id), identity.role, identity.organization_id) == (
        made["id"],
        "viewer",
        acme.organization_id,
    )
    (token,) = await accounts.tokens(acme)
    assert timedelta(days=7) - timedelta(minutes=1) < token.expires_at - token.created_at <= timedelta(days=7)
    revoked = await answer(acme, REVOKE, apiTokenId=made["id"])
    assert (revoked["secret"], revoked["revokedAt"] is None) == (None, False)
    assert await answer(acme, REVOKE, apiTokenId=made["id"]) == revoked
    assert await accounts.identify(acme.pool, made["secret"]) is None


async def test_tokens_that_cannot_be(acme: Tenant) -> None:
    for given, field in (
        ({"days": 0}, "days"),
        ({"days": 3651}, "days"),
        ({"days": 2**31 - 1}, "days"),
        ({"days": -1}, "days"),
        ({"name": ""}, "name"),
    ):
        refused = await answer(acme, CREATE, **{"name": "n", "role": "VIEWER"} | given)
        assert (refused["__typename"], refused["field"]) == ("InvalidInput", ["input", field])
    assert await accounts.tokens(acme) == []


async def test_a_repeated_creation_makes_no_second_token_and_tells_no_secret(acme: Tenant) -> None:
    first = await answer(acme, CREATE, name="ci", role="MEMBER", clientMutationId="one")
    second = await answer(acme, CREATE, name="ci", role="MEMBER", clientMutationId="one")
    assert second == first | {"secret": None}
    assert len(await accounts.tokens(acme)) == 1


async def test_another_organization_s_members_and_tokens_stay(world: World, rival: Tenant) -> None:
    result = await execute(rival, ADMINISTRATION, "owner")
    nothing: dict[str, Any] = {"totalCount": 0, "edges": []}
    lists = ("members", "apiTokens", "secrets", "exportAudits")
    assert result.data == {"viewer": {"organization": dict.fromkeys(lists, nothing)}}
    member, token = str(world.members[1].id), str(world.tokens[1].id)
    assert (await answer(rival, REMOVE, memberId=member))["__typename"] == "NotFound"
    assert (await answer(rival, REVOKE, apiTokenId=token))["__typename"] == "NotFound"
    assert [one.revoked_at for one in await accounts.tokens(world.tenant)] == [None, None]
    assert (await members.member_by_email(world.tenant, "mary@acme.example")).id == world.members[1].id
