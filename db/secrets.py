"""Secrets of agents: names and times for everybody, ciphertexts for workers."""

from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from db.accounts import Id, Nothing, OrganizationId
from db.counts import Count
from db.query import query


@dataclass(frozen=True, slots=True)
class Secret:
    """Without its value. `updated_by` is the person or token that set it, None for an operator."""

    id: UUID
    name: str
    created_at: datetime
    updated_at: datetime
    updated_by: UUID | None


@dataclass(frozen=True, slots=True)
class Sealed:
    """What is stored of a value."""

    id: UUID
    name: str
    ciphertext: bytes = field(repr=False)


BY_IDS = query("secrets.by_ids", Secret)
BY_NAMES = query("secrets.by_names", Secret)
IN_ORDER = query("secrets.in_order", Secret)
PAGE = query("secrets.page", Secret)
COUNT = query("secrets.count", Count)
PUT = query("secrets.put", Secret)
REMOVE = query("secrets.remove", Id)
SEALED = query("secrets.sealed", Sealed)
LOCK_SEALED = query("secrets.lock_sealed", Sealed)
SEAL_AGAIN = query("secrets.seal_again", Nothing)
ORGANIZATIONS = query("secrets.organizations", OrganizationId)
