"""Documents that ask too much are refused before any statement is sent."""

import time
from typing import Any

import pytest
from graphql import get_introspection_query

from db.tenant import Tenant
from schema.graph import graph
from schema.limits import (
    MOST_ALIASES,
    MOST_DEPTH,
    MOST_DIRECTIVES,
    MOST_FRAGMENTS,
    MOST_NAME,
    MOST_NESTING,
    MOST_NODES,
    MOST_SELECTIONS,
)
from tests.schema.asking import ask, execute, refusals, session
from tests.schema.excess import (
    FIRST,
    PUBLISH,
    TOO_MUCH,
    TOO_MUCH_IN_VARIABLES,
    aliased,
    deep,
    directed,
    in_a_row,
    literal,
    nested,
    side_by_side,
)
from tests.schema.serving import WAYS, served


async def test_what_is_just_allowed_is_answered(acme: Tenant) -> None:
    assert await ask(acme, deep(MOST_DEPTH)) == {"environment": None}
    assert len(await ask(acme, aliased(MOST_ALIASES))) == MOST_ALIASES
    assert await ask(acme, directed(MOST_DIRECTIVES))
    assert await ask(acme, side_by_side(MOST_SELECTIONS))
    assert await ask(acme, in_a_row(MOST_FRAGMENTS)) == {"viewer": {"role": "MEMBER"}}
    assert await ask(acme, f"{{ {'a' * MOST_NAME}: viewer {{ role }} }}")
    for text, variables in ((PUBLISH, {"manifest": nested(MOST_NESTING)}), (literal(MOST_NESTING), {})):
        assert await ask(acme, text, **variables) == {"publishEnvironmentVersion": {"__typename": "InvalidInput"}}
    assert (await ask(acme, get_introspection_query(input_value_deprecation=True)))["__schema"]


async def test_what_asks_too_much_is_refused_in_clear_words_and_at_once(
    acme: Tenant, statements: list[str], subtests: pytest.Subtests
) -> None:
    statements.clear()
    for why, (text, message) in TOO_MUCH.items():
        if text.startswith("subscription"):
            continue  # is asked otherwise: see below
        with subtests.test(why):
            started = time.process_time()
            errors = await refusals(acme, text)
            assert any(message in error["message"] for error in errors)
            # A bomb of fragments spread out is 20^12 fields: no machine is slow enough to confuse the two.
            assert time.process_time() - started < 10
    assert statements == []


async def test_every_way_refuses_the_same_and_sends_no_statement(
    acme: Tenant, statements: list[str], subtests: pytest.Subtests
) -> None:
    in_documents: dict[str, tuple[str, dict[str, Any], str]] = {
        why: (text, {}, message) for why, (text, message) in TOO_MUCH.items()
    }
    async with served(acme) as service:
        for way, asked in WAYS.items():
            await asked(service, "{ viewer { id } }", {})
            statements.clear()
            for why, (text, variables, message) in {**in_documents, **TOO_MUCH_IN_VARIABLES}.items():
                with subtests.test(f"{way}: {why}"):
                    if way == "post" and text.startswith("subscription"):
                        continue
                    answer = await asked(service, text, variables)
                    assert not answer.get("data")
                    assert any(message in error["message"] for error in answer["errors"])
            # Who asks is looked up all the same.
            assert set(statements) <= {"accounts.identify"}


async def test_programs_are_told_the_limit_in_numbers(acme: Tenant) -> None:
    (error,) = await refusals(acme, FIRST)
    assert error["extensions"] == {
        "code": "LIMIT_EXCEEDED",
        "limit": "objects",
        "found": 250_500,
        "allowed": MOST_NODES,
    }


LARGE = [
    (
        "query($id: ID!) { environmentVersion(id: $id) { runs(first: 50) { edges { node { "
        "trials { stages { name } } } } } } }",
        3_651,
    ),
    ("{ evaluationTrials(first: 500) { edges { node { id stages { name } run { id } rollout { id } } } } }", 5_500),
    ("{ evaluationRuns(first: 500) { edges { node { id trials { attempt stages { name } } } } } }", 36_500),
]


@pytest.mark.parametrize(("text", "cost"), LARGE)
async def test_large_questions_that_make_sense_are_answered_at_once(acme: Tenant, text: str, cost: int) -> None:
    operation = graph.documents.find(text).operation(None)
    assert operation is not None
    assert operation.cost.nodes({}) == cost < MOST_NODES
    given = {"id": "01890a5d-ac96-774b-bcce-b302099a8057"} if "$id" in text else {}
    assert await graph.compiled(text, given, None, session(acme).context()) is not None


async def test_pages_by_variable_are_counted_anew_for_each_request(acme: Tenant) -> None:
    assert (await execute(acme, FIRST, n=100)).errors is None
    assert await graph.compiled(FIRST, {"n": 100}, None, session(acme).context()) is not None
    assert await graph.compiled(FIRST, {"n": 500}, None, session(acme).context()) is None
    for impossible in (501, 0, -1):
        (error,) = await refusals(acme, "query($n: Int) { environments(first: $n) { totalCount } }", n=impossible)
        assert error["extensions"]["code"] == "INVALID_INPUT"
