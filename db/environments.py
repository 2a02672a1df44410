"""Environments: the named series of versions."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from db.counts import Count
from db.query import query


@dataclass(frozen=True, slots=True)
class Environment:
    id: UUID
    slug: str
    name: str
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Locked:
    locked: str


BY_IDS = query("environments.by_ids", Environment)
BY_SLUGS = query("environments.by_slugs", Environment)
PAGE = query("environments.page", Environment)
COUNT = query("environments.count", Count)
CREATE = query("environments.create", Environment)
LOCK = query("environments.lock", Locked)
