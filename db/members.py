"""The people of an organization."""

from dataclasses import dataclass
from uuid import UUID

from db.query import query


@dataclass(frozen=True, slots=True)
class Member:
    user_id: UUID
    email: str
    role: str


BY_EMAIL = query("members.by_email", Member)
BY_USER = query("members.by_user", Member)
