"""Documents that ask too much are refused before any statement is sent."""

import time

import pytest
from graphql import get_introspection_query

from db.tenant import Tenant
from schema.limits import MOST_ALIASES, MOST_DEPTH, MOST_TOKENS
from tests.schema.asking import ask, refusals


def deep(levels: int) -> str:
    """A leaf under so many fields."""
    nested = "id"
    for level in range(levels - 1, 0, -1):
        nested = f"{'environment' if level % 2 == 0 else 'latestVersion'} {{ {nested} }}"
    return f'{{ environment(slug: "a") {{ {nested} }} }}'


def aliased(count: int) -> str:
    return "{ " + " ".join(f"a{number}: viewer {{ role }}" for number in range(count)) + " }"


async def test_what_is_just_allowed_is_answered(acme: Tenant) -> None:
    assert await ask(acme, deep(MOST_DEPTH)) == {"environment": None}
    assert len(await ask(acme, aliased(MOST_ALIASES))) == MOST_ALIASES
    assert (await ask(acme, get_introspection_query(input_value_deprecation=True)))["__schema"]


FRAGMENTS = 12
BOMB = "{ environments { edges { node { ...F0 } } } } " + " ".join(
    f"fragment F{number} on Environment {{ {f'...F{number + 1} ' * 20} }}" for number in range(FRAGMENTS)
)
DEEP_FRAGMENT = "fragment F on Environment " + deep(MOST_DEPTH).split(" ", 3)[3].removesuffix(" }")

TOO_MUCH = {
    "too deep": (deep(MOST_DEPTH + 1), "The operation is 17 levels deep; at most 16 are allowed."),
    "too deep by a fragment": (
        f'{{ environment(slug: "a") {{ latestVersion {{ environment {{ ...F }} }} }} }} {DEEP_FRAGMENT}',
        "levels deep; at most 16 are allowed.",
    ),
    "too deep by an inline fragment": (
        deep(MOST_DEPTH + 1).replace("{ id }", "{ ... { id } }"),
        "The operation is 17 levels deep; at most 16 are allowed.",
    ),
    "too many aliases": (aliased(MOST_ALIASES + 1), "The document has 51 aliases; at most 50 are allowed."),
    "many aliases": (aliased(800), "The document has 800 aliases; at most 50 are allowed."),
    "a thousand aliases": (aliased(1000), f"contains more than {MOST_TOKENS} tokens"),
    "aliases by fragments": (
        "{ environments { edges { node { ...F0 } } } } "
        + " ".join(
            f"fragment F{number} on Environment {{ a: latestVersion {{ environment {{ ...F{number + 1} }} }} "
            f"b: latestVersion {{ environment {{ ...F{number + 1} }} }} }}"
            for number in range(5)
        )
        + " fragment F5 on Environment { id }",
        "The document has 62 aliases; at most 50 are allowed.",
    ),
    "too many tokens": ("{ " + "viewer { id } " * 1300 + "}", f"contains more than {MOST_TOKENS} tokens"),
    "nested without end": ("{ viewer " * 5000, "Document is nested too deeply."),
    "a value nested without end": ("{ node(id: " + "[" * 4000 + "}", "Document is nested too deeply."),
    "fragments in a circle": (
        "{ ...A } fragment A on Query { ...B } fragment B on Query { viewer { id } ...A }",
        "Cannot spread fragment 'A' within itself via 'B'.",
    ),
    "fragments in a circle of fields": (
        "{ environments { edges { node { ...A } } } } "
        "fragment A on Environment { latestVersion { environment { ...A } } }",
        "Cannot spread fragment 'A' within itself.",
    ),
    "a bomb of fragments": (BOMB, f"Unknown fragment 'F{FRAGMENTS}'."),
    "introspection without end": (
        "{ __schema { types { fields { type { fields { type { fields { type { fields { name } } } } } } } } } }",
        "Maximum introspection depth exceeded",
    ),
}


async def test_what_asks_too_much_is_refused_in_clear_words_and_at_once(
    acme: Tenant, statements: list[str], subtests: pytest.Subtests
) -> None:
    statements.clear()
    for why, (text, message) in TOO_MUCH.items():
        with subtests.test(why):
            started = time.process_time()
            errors = await refusals(acme, text)
            assert any(message in error["message"] for error in errors)
            # A bomb of fragments spread out is 20^12 fields: no machine is slow enough to confuse the two.
            assert time.process_time() - started < 10
    assert statements == []
