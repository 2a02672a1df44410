"""The people of an organization."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from db.accounts import Id
from db.counts import Count
from db.query import query


@dataclass(frozen=True, slots=True)
class Member:
    """`id` is the person's."""

    id: UUID
    email: str
    role: str
    created_at: datetime


BY_EMAIL = query("members.by_email", Member)
BY_IDS = query("members.by_ids", Member)
PAGE = query("members.page", Member)
COUNT = query("members.count", Count)
LOCK_OWNERS = query("members.lock_owners", Id)
REMOVE = query("members.remove", Id)
