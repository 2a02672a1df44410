"""Checks on the names and texts that people give to things."""

import re

from db.errors import InvalidInputError

_SLUG = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?", re.ASCII)


def is_slug(slug: str) -> bool:
    return _SLUG.fullmatch(slug) is not None


def check_slug(slug: str) -> str:
    """Raises InvalidInputError unless `slug` can stand in a URL."""
    if not is_slug(slug):
        raise InvalidInputError(
            f"{slug[:100]!r} is not a slug: 1 to 63 of a-z, 0-9 and '-', with neither end a '-'.", ["slug"]
        )
    return slug


def check_name(name: str) -> str:
    """Raises InvalidInputError unless `name` is 1 to 200 characters of text."""
    if not 1 <= len(name.strip()) <= 200 or len(name) > 200:
        raise InvalidInputError("A name has 1 to 200 characters.", ["name"])
    return check_text(name, "name")


def check_text(text: str, *field: str) -> str:
    """Raises InvalidInputError for text that a database column or a process argument cannot hold."""
    if "\0" in text:
        raise InvalidInputError("A NUL character cannot stand here.", field)
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InvalidInputError("A lone surrogate cannot stand here: it is not text.", field) from None
    return text
