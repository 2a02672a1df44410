"""Organizations, members, and the secrets that people and programs sign in with."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final
from uuid import UUID

from db.counts import Count
from db.query import query

NEVER: Final = datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Identity:
    """Who holds a secret: a signed-in person (with an email) or a token."""

    organization_id: UUID
    subject_id: UUID
    email: str | None
    role: str
    expires_at: datetime = NEVER


@dataclass(frozen=True, slots=True)
class SignInCandidate:
    user_id: UUID
    password_hash: str


@dataclass(frozen=True, slots=True)
class OrganizationId:
    organization_id: UUID | None


@dataclass(frozen=True, slots=True)
class UserId:
    user_id: UUID


@dataclass(frozen=True, slots=True)
class RedeemedLink:
    organization_id: UUID
    user_id: UUID


@dataclass(frozen=True, slots=True)
class Organization:
    id: UUID
    slug: str
    name: str


@dataclass(frozen=True, slots=True)
class Id:
    id: UUID


@dataclass(frozen=True, slots=True)
class Changed:
    changed: bool


@dataclass(frozen=True, slots=True)
class Nothing:
    """A statement that returns no columns."""


@dataclass(frozen=True, slots=True)
class Token:
    """An API token without its secret, which is shown once and stored as SHA-256 only."""

    id: UUID
    name: str
    role: str
    created_at: datetime
    expires_at: datetime
    revoked_at: datetime | None


IDENTIFY = query("accounts.identify", Identity)
SIGN_IN_CANDIDATE = query("accounts.sign_in_candidate", SignInCandidate)
ORGANIZATION_OF_MEMBER = query("accounts.organization_of_member", OrganizationId)
REDEEM_SIGN_IN_LINK = query("accounts.redeem_sign_in_link", RedeemedLink)
ORGANIZATION_BY_SLUG = query("accounts.organization_by_slug", OrganizationId)
NEW_ORGANIZATION_ID = query("accounts.new_organization_id", OrganizationId)
USER_BY_EMAIL = query("accounts.user_by_email", UserId)
SET_PASSWORD = query("accounts.set_password", Changed)
ORGANIZATIONS_BY_IDS = query("accounts.organizations_by_ids", Organization)
CREATE_ORGANIZATION = query("accounts.create_organization", Organization)
PUT_MEMBERSHIP = query("accounts.put_membership", UserId)
CREATE_SESSION = query("accounts.create_session", Id)
DELETE_SESSION = query("accounts.delete_session", Id)
CREATE_SIGN_IN_LINK = query("accounts.create_sign_in_link", Nothing)
CREATE_TOKEN = query("accounts.create_token", Token)
REVOKE_TOKEN = query("accounts.revoke_token", Token)
TOKENS = query("accounts.tokens", Token)
TOKENS_BY_IDS = query("accounts.tokens_by_ids", Token)
PAGE_OF_TOKENS = query("accounts.page_of_tokens", Token)
COUNT_OF_TOKENS = query("accounts.count_of_tokens", Count)
