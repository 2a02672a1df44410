"""Shared pieces of the filter inputs."""

from collections.abc import Sequence
from datetime import datetime
from enum import Enum
from uuid import UUID

from db.errors import InvalidInputError
from resolvers.ids import parse_filter_id


def filter_id(text: str | None, field: str) -> UUID | None:
    return parse_filter_id(text, ["filter", field])


def moment(value: datetime | None, field: str) -> datetime | None:
    """Raises InvalidInputError for a time without an offset, which names no moment."""
    if value is not None and value.tzinfo is None:
        raise InvalidInputError(f"{value.isoformat()} has no offset; add Z or one such as +02:00.", ["filter", field])
    return value


def values(members: Sequence[Enum] | None) -> tuple[str, ...] | None:
    return None if members is None else tuple(member.value for member in members)
