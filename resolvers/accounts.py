"""Organizations, members, tokens and sign-in: what operators and the sign-in pages do."""

import hashlib
import re
import secrets
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TypeVar
from uuid import UUID

from db import accounts, members
from db.accounts import Identity, Organization, Token
from db.errors import ConflictError, InvalidInputError, NotFoundError
from db.members import Member
from db.tenant import Pool, Tenant, fetch_before_organization
from resolvers import passwords
from resolvers.members import MEMBER_ROLES, checked_email, checked_role, is_email, put_member
from resolvers.pages import Listing, newest_first

TOKEN_ROLES = (*MEMBER_ROLES, "worker")
#: What every API token starts with, so that scanners for leaked secrets can find it.
TOKEN_PREFIX = "agentforge_"  # noqa: S105 - no secret
LINK_LIFETIME = timedelta(minutes=10)
MAX_LIFETIME = timedelta(days=3650)

_SLUG = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")

Found = TypeVar("Found")


@dataclass(frozen=True, slots=True)
class Session:
    """A person signed in; the secret is nowhere else, only its SHA-256 is stored."""

    id: UUID
    secret: str = field(repr=False)
    expires_at: datetime


async def create_organization(pool: Pool, slug: str, name: str, owner_email: str) -> tuple[Organization, Member]:
    """A new organization and its owner, who is made when no user has the address.

    Raises InvalidInputError, and ConflictError for a slug that is taken.
    """
    _check_slug(slug)
    _check_name(name)
    email = checked_email(owner_email, "ownerEmail")
    (new,) = await fetch_before_organization(pool, accounts.NEW_ORGANIZATION_ID)
    assert new.organization_id is not None
    async with Tenant(pool, new.organization_id).transaction() as transaction:
        organization = await transaction.fetch_one(accounts.CREATE_ORGANIZATION, slug, name)
        if organization is None:
            raise ConflictError(f"There is an organization {slug!r} already; choose another slug.")
        return organization, await put_member(transaction, email, "owner")


async def tenant_of(pool: Pool, slug: str) -> Tenant:
    """The organization named `slug`. Raises NotFoundError."""
    if _SLUG.fullmatch(slug):
        (found,) = await fetch_before_organization(pool, accounts.ORGANIZATION_BY_SLUG, slug)
        if found.organization_id is not None:
            return Tenant(pool, found.organization_id)
    raise NotFoundError(f"There is no organization {slug!r}.")


async def create_token(tenant: Tenant, name: str, role: str, lifetime: timedelta) -> tuple[Token, str]:
    """A token and its secret, which is told this once. Raises InvalidInputError."""
    _check_name(name)
    role = checked_role(role, TOKEN_ROLES)
    secret = TOKEN_PREFIX + _new_secret()
    expires_at = _expiry(lifetime)
    async with tenant.transaction() as transaction:
        (token,) = await transaction.fetch(accounts.CREATE_TOKEN, name, role, digest(secret), expires_at)
    return token, secret


async def tokens(tenant: Tenant) -> list[Token]:
    """Every token of the organization, the ended ones too, oldest first."""
    return await tenant.fetch(accounts.TOKENS)


def newest_tokens(first: int | None = None, after: str | None = None) -> Listing[Token]:
    return newest_first("tokens newest", accounts.PAGE_OF_TOKENS, accounts.COUNT_OF_TOKENS, (), first, after)


async def revoke_token(tenant: Tenant, token_id: UUID) -> Token:
    """End a token at once; a second time changes nothing. Raises NotFoundError."""
    async with tenant.transaction() as transaction:
        token = await transaction.fetch_one(accounts.REVOKE_TOKEN, token_id)
    return _found(token, "There is no such token.")


async def create_sign_in_link(tenant: Tenant, user_id: UUID, lifetime: timedelta = LINK_LIFETIME) -> str:
    """The secret of a link that signs a member in to this organization, once. Raises NotFoundError."""
    secret = _new_secret()
    async with tenant.transaction() as transaction:
        member = await transaction.fetch_one(members.BY_IDS, [user_id])
        _found(member, f"There is no member {user_id}.")
        await transaction.fetch(accounts.CREATE_SIGN_IN_LINK, user_id, digest(secret), _expiry(lifetime))
    return secret


async def redeem_sign_in_link(pool: Pool, secret: str, lifetime: timedelta) -> Session | None:
    """Use up a sign-in link; None when it is unknown, was used or has expired, which are not told apart."""
    redeemed = await fetch_before_organization(pool, accounts.REDEEM_SIGN_IN_LINK, digest(secret))
    if not redeemed:
        return None
    return await _create_session(Tenant(pool, redeemed[0].organization_id), redeemed[0].user_id, lifetime)


async def sign_in(
    pool: Pool, email: str, password: str, organization_slug: str | None, lifetime: timedelta
) -> Session | None:
    """A session in the organization named, or else in the person's first; None when anything does not match.

    A password is verified for unknown addresses too, so that the time taken does not tell them.
    """
    candidates = (
        await fetch_before_organization(pool, accounts.SIGN_IN_CANDIDATE, email.lower()) if is_email(email) else []
    )
    matches = await passwords.verify(password, candidates[0].password_hash if candidates else None)
    if not matches or (organization_slug is not None and not _SLUG.fullmatch(organization_slug)):
        return None
    user_id = candidates[0].user_id
    (found,) = await fetch_before_organization(pool, accounts.ORGANIZATION_OF_MEMBER, user_id, organization_slug)
    if found.organization_id is None:
        return None
    return await _create_session(Tenant(pool, found.organization_id), user_id, lifetime)


async def sign_out(tenant: Tenant, identity: Identity, session_id: UUID) -> None:
    """End a session of the signed-in person; someone else's stays."""
    async with tenant.transaction() as transaction:
        await transaction.fetch(accounts.DELETE_SESSION, session_id, identity.subject_id)


async def identify(pool: Pool, secret: str) -> Identity | None:
    """Who holds the secret of a token or session; None when nobody does (any more)."""
    rows = await fetch_before_organization(pool, accounts.IDENTIFY, digest(secret))
    return rows[0] if rows else None


async def _create_session(tenant: Tenant, user_id: UUID, lifetime: timedelta) -> Session:
    secret, expires_at = _new_secret(), _expiry(lifetime)
    async with tenant.transaction() as transaction:
        (created,) = await transaction.fetch(accounts.CREATE_SESSION, user_id, digest(secret), expires_at)
    return Session(created.id, secret, expires_at)


def _new_secret() -> str:
    return secrets.token_urlsafe(32)


def digest(secret: str) -> bytes:
    """What is stored of a secret."""
    return hashlib.sha256(secret.encode()).digest()


def _expiry(lifetime: timedelta) -> datetime:
    if not timedelta() < lifetime <= MAX_LIFETIME:
        message = f"The lifetime must be more than 0 and at most {MAX_LIFETIME.days} days."
        raise InvalidInputError(message, ["lifetime"])
    return datetime.now(UTC) + lifetime


def _found(row: Found | None, message: str) -> Found:
    if row is None:
        raise NotFoundError(message)
    return row


def _check_slug(slug: str) -> None:
    if not _SLUG.fullmatch(slug):
        raise InvalidInputError(
            f"A slug is 1 to 63 lower-case letters, digits and inner hyphens, like acme-labs; got {slug!r}.",
            ["slug"],
        )


def _check_name(name: str) -> None:
    if not 1 <= len(name) <= 200 or not name.isprintable() or name.isspace():
        raise InvalidInputError("The name must be 1 to 200 printable characters.", ["name"])
