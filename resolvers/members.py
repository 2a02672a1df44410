"""The people of an organization, and what each may do there."""

import re
from uuid import UUID

from db import accounts, members
from db.errors import ConflictError, InvalidInputError, NotFoundError
from db.members import Member
from db.tenant import Tenant, Transaction
from resolvers import passwords
from resolvers.ids import parse_id
from resolvers.pages import Listing, newest_first

MEMBER_ROLES = ("owner", "member", "viewer")

_EMAIL = re.compile(r"[^@\s]+@[^@\s]+")
_MAX_EMAIL = 254


def newest(first: int | None = None, after: str | None = None) -> Listing[Member]:
    return newest_first("members newest", members.PAGE, members.COUNT, (), first, after)


def is_email(email: str) -> bool:
    return len(email) <= _MAX_EMAIL and email.isprintable() and _EMAIL.fullmatch(email) is not None


def checked_email(email: str, field: str) -> str:
    """In lower case. Raises InvalidInputError."""
    if not is_email(email):
        raise InvalidInputError(f"An address such as ada@example.com is needed; got {email!r}.", [field])
    return email.lower()


def checked_role(role: str, roles: tuple[str, ...]) -> str:
    """In lower case. Raises InvalidInputError."""
    if role.lower() not in roles:
        raise InvalidInputError(f"The role must be one of {', '.join(roles)}; got {role!r}.", ["role"])
    return role.lower()


async def put_member(transaction: Transaction, email: str, role: str) -> Member:
    """Of a checked address and role. Raises ConflictError where no owner would be left."""
    (user,) = await transaction.fetch(accounts.USER_BY_EMAIL, email)
    if role != "owner":
        await _keep_an_owner(transaction, user.user_id)
    await transaction.fetch(accounts.PUT_MEMBERSHIP, user.user_id, role)
    (member,) = await transaction.fetch(members.BY_IDS, [user.user_id])
    return member


async def _keep_an_owner(transaction: Transaction, without: UUID) -> None:
    # Locked, so that two owners cannot both leave because each sees the other.
    if [owner.id for owner in await transaction.fetch(members.LOCK_OWNERS)] == [without]:
        raise ConflictError("An organization keeps at least one owner: first make somebody else an owner.")


async def add_member(tenant: Tenant, email: str, role: str, password: str | None = None) -> Member:
    """Make the person with this address a member, or give a member another role.

    A password is the person's in every organization that they belong to, so only an operator may set one:
    never pass on what an owner of one organization sent. Raises InvalidInputError, and ConflictError where no owner
    would be left.
    """
    email = checked_email(email, "email")
    role = checked_role(role, MEMBER_ROLES)
    password_hash = None if password is None else await passwords.hash_password(password)
    async with tenant.transaction() as transaction:
        member = await put_member(transaction, email, role)
        if password_hash is not None:
            await transaction.fetch(accounts.SET_PASSWORD, member.id, password_hash)
    return member


async def member_by_email(tenant: Tenant, email: str) -> Member:
    """Raises NotFoundError for the address of nobody and of people of other organizations alike."""
    found = await tenant.fetch(members.BY_EMAIL, email.lower()) if is_email(email) else []
    if not found:
        raise NotFoundError(f"No member has the address {email!r}; add them with `agentforge member add`.")
    return found[0]


async def remove_member(tenant: Tenant, member_id: str) -> None:
    """With the person's sessions and sign-in links here. Raises NotFoundError, and ConflictError for the last owner."""
    key = parse_id(member_id)
    async with tenant.transaction() as transaction:
        if key is not None:
            await _keep_an_owner(transaction, key)
        if key is None or not await transaction.fetch(members.REMOVE, key):
            raise NotFoundError("There is no such member.")
