"""Shared pieces of the filter inputs."""

from collections.abc import Sequence
from datetime import UTC, datetime
from enum import Enum
from typing import Final
from uuid import UUID

from db.errors import InvalidInputError
from resolvers.ids import parse_filter_id
from resolvers.names import check_text

#: Of a text to search for.
MOST_CHARACTERS: Final = 1_000


def filter_id(text: str | None, field: str) -> UUID | None:
    return parse_filter_id(text, ["filter", field])


def filter_text(text: str | None, field: str) -> str | None:
    return None if text is None else check_text(text, "filter", field)


def filter_words(text: str | None, field: str) -> str | None:
    """What to search for. Raises InvalidInputError where there is no word in it, or more than a search takes."""
    if text is None:
        return None
    if not any(character.isalnum() for character in text):
        raise InvalidInputError(
            "There is no word to search for; leave the text out to search for none.", ["filter", field]
        )
    if len(text) > MOST_CHARACTERS:
        raise InvalidInputError(f"A search has at most {MOST_CHARACTERS} characters.", ["filter", field])
    return check_text(text, "filter", field)


def moment(value: datetime | None, field: str) -> datetime | None:
    """In UTC. Raises InvalidInputError for a time without an offset, which names no moment."""
    return utc(value, ["filter", field])


def utc(value: datetime | None, path: list[str]) -> datetime | None:
    """In UTC. Raises InvalidInputError for a time without an offset, which names no moment."""
    if value is None:
        return None
    if value.tzinfo is None:
        raise InvalidInputError(f"{value.isoformat()} has no offset; add Z or one such as +02:00.", path)
    try:
        return value.astimezone(UTC)
    except OverflowError:
        raise InvalidInputError(f"{value.isoformat()} lies outside the years 1 to 9999.", path) from None


def values(members: Sequence[Enum] | None) -> tuple[str, ...] | None:
    return None if members is None else tuple(member.value for member in members)
