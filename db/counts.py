"""How many rows a list has in all, alone or for each parent."""

from dataclasses import dataclass
from uuid import UUID


@dataclass(frozen=True, slots=True)
class Count:
    total: int


@dataclass(frozen=True, slots=True)
class ParentCount:
    parent_id: UUID
    total: int
