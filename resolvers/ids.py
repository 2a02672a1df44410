"""IDs are UUIDs in their canonical text, in GraphQL, REST and URLs alike."""

import re
from collections.abc import Sequence
from uuid import UUID

from db.errors import InvalidInputError

_CANONICAL = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}", re.ASCII)


def parse_id(text: str) -> UUID | None:
    """None for text that no id has, which is then simply not found."""
    return UUID(text) if _CANONICAL.fullmatch(text) else None


def parse_filter_id(text: str | None, field: Sequence[str]) -> UUID | None:
    """An id to filter by. Raises InvalidInputError where an id is given that none can have."""
    if text is None:
        return None
    parsed = parse_id(text)
    if parsed is None:
        raise InvalidInputError(f"{text[:100]!r} is not an id; ids are UUIDs, such as the API gives them.", field)
    return parsed
