"""Finds what an id names, whatever it is."""

from dataclasses import dataclass
from uuid import UUID

from db.query import query


@dataclass(frozen=True, slots=True)
class Node:
    id: UUID
    kind: str


FIND = query("nodes.find", Node)
