"""Documents and variables that ask for just as much as is allowed, or for more."""

from typing import Any

from schema.limits import MOST_ALIASES, MOST_DEPTH, MOST_TOKENS


def deep(levels: int) -> str:
    """A leaf under so many fields."""
    nested = "id"
    for level in range(levels - 1, 0, -1):
        nested = f"{'environment' if level % 2 == 0 else 'latestVersion'} {{ {nested} }}"
    return f'{{ environment(slug: "a") {{ {nested} }} }}'


def aliased(count: int) -> str:
    return "{ " + " ".join(f"a{number}: viewer {{ role }}" for number in range(count)) + " }"


def directed(count: int) -> str:
    """A field or fragment under each directive, some fifty of them side by side."""
    return "{ viewer { " + "... @include(if: true) { id } " * count + "} }"


def side_by_side(count: int) -> str:
    return "{ viewer { " + "id " * count + "} }"


def in_a_row(count: int) -> str:
    """Fragments, each of which spreads the next."""
    following = " ".join(f"fragment F{number} on Query {{ ...F{number + 1} }}" for number in range(count - 1))
    return f"{{ ...F0 }} {following} fragment F{count - 1} on Query {{ viewer {{ role }} }}"


def nested(levels: int) -> Any:
    value: Any = 1
    for level in range(levels):
        value = [value] if level % 2 else {"a": value}
    return value


PUBLISH = """mutation($manifest: JSON!) {
  publishEnvironmentVersion(input: { environmentId: "x", manifest: $manifest }) { __typename }
}"""
LITERAL = PUBLISH.replace("($manifest: JSON!)", "").replace("$manifest", "%s")


def literal(levels: int) -> str:
    """A manifest nested so deeply in a document, within an input object of its own."""
    return LITERAL % ("[" * (levels - 1) + "]" * (levels - 1))


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
    "too many directives": (directed(51), "The document has 51 directives; at most 50 are allowed."),
    "a directive repeated": (
        "{ viewer " + "@skip(if: false) " * 700 + "{ id } }",
        "The document has 700 directives; at most 50 are allowed.",
    ),
    "an unknown directive repeated": (
        "{ viewer " + "@a " * 2400 + "{ id } }",
        "The document has 2400 directives; at most 50 are allowed.",
    ),
    "too many fragments": (in_a_row(101), "The document has 101 fragments; at most 100 are allowed."),
    "fragments in a long row": (in_a_row(600), "The document has 600 fragments; at most 100 are allowed."),
    "the same thing a thousand times": (
        "{ " + "viewer { id } " * 1200 + "}",
        "A selection has 1200 fields and fragments side by side; at most 300 are allowed.",
    ),
    "ten thousand operations": (
        " ".join(f"query Q{number} {{ viewer {{ id }} }}" for number in range(10_000)),
        f"contains more than {MOST_TOKENS} tokens",
    ),
    "a long name": ("{ " + "e" * 1_000_000 + " }", "A name has 1000000 characters; at most 200 are allowed."),
    "a literal too deep": (literal(17), "A value is nested 17 levels deep; at most 16 are allowed."),
    "pages in pages": (
        "{ environments(first: 500) { edges { node { versions(first: 500) { edges { cursor } } } } } }",
        "The operation may return 250,500 objects; at most 100,000 are allowed.",
    ),
    "pages in pages without sizes": (
        "{ environments { edges { node { versions { edges { node { runs { edges { node { id } } } } } } } } } }",
        "The operation may return 127,550 objects; at most 100,000 are allowed.",
    ),
    "a page that is only described": (
        "{ environments(first: 500) { edges { node { versions(first: 500) { pageInfo { endCursor } } } } } }",
        "The operation may return 250,500 objects; at most 100,000 are allowed.",
    ),
    "ever more trials without aliases": (
        "{ evaluationTrials(first: 10) { edges { node { ...F0 } } } } "
        + " ".join(
            f"fragment F{number} on EvaluationTrial {{ run {{ trials {{ ...F{number + 1} }} }} "
            f"rollout {{ evaluationRun {{ trials {{ ...F{number + 1} }} }} }} }}"
            for number in range(4)
        )
        + " fragment F4 on EvaluationTrial { id }",
        "objects; at most 100,000 are allowed.",
    ),
    "a subscription that shows too much": (
        "subscription { evaluationTrialFinished { environmentVersion { runs(first: 500) { edges { node { "
        "environmentVersion { trials(first: 500) { edges { cursor } } } } } } } } }",
        "The operation may return 251,002 objects; at most 100,000 are allowed.",
    ),
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
    "introspection many times": (
        "{ "
        + " ".join(f"a{number}: __schema {{ ...N }}" for number in range(10))
        + " } fragment N on __Schema { "
        + " ".join(f"b{number}: types {{ name }}" for number in range(10))
        + " }",
        "The document has 110 aliases; at most 50 are allowed.",
    ),
    "introspection without end": (
        "{ __schema { types { fields { type { fields { type { fields { type { fields { name } } } } } } } } } }",
        "Maximum introspection depth exceeded",
    ),
}


FIRST = (
    "query($n: Int = 500) { environments(first: $n) { edges { node { versions(first: $n) { edges { cursor } } } } } }"
)
TOO_MUCH_IN_VARIABLES: dict[str, tuple[str, dict[str, Any], str]] = {
    "too deep": (PUBLISH, {"manifest": nested(17)}, "A variable is nested 17 levels deep; at most 16 are allowed."),
    "much too deep": (
        "query($id: ID!) { environmentVersion(id: $id) { id } }",
        {"id": nested(400)},
        "A variable is nested 400 levels deep; at most 16 are allowed.",
    ),
    "deep and unknown": ("{ environments { totalCount } }", {"other": nested(90)}, "nested 90 levels deep"),
    "pages by default": (FIRST, {}, "may return 250,500 objects; at most 100,000 are allowed."),
    "pages by variable": (FIRST, {"n": 400}, "may return 160,400 objects; at most 100,000 are allowed."),
    "pages by a whole float": (FIRST, {"n": 500.0}, "may return 250,500 objects; at most 100,000 are allowed."),
    "pages by null": (
        FIRST.replace("{ cursor }", "{ node { runs { edges { cursor } } } }"),
        {"n": None},
        "may return 127,550 objects",
    ),
}
