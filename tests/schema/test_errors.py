"""What a client is told when something fails: expected failures in words, all others by an id alone."""

import json
import logging
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, cast

import asyncpg
import pytest
import strawberry
from strawberry.exceptions import MissingQueryError
from strawberry.extensions import SchemaExtension
from strawberry.schema.exceptions import CannotGetOperationTypeError
from strawberry.types import ExecutionResult
from structlog.testing import capture_logs

from db.changes import Changes
from db.embedded import DatabaseUrls
from db.tenant import Tenant
from resolvers.context import Session
from schema.extensions import HideUnexpectedErrors
from schema.graph import graph
from tests.schema.asking import execute, session, subscribed
from tests.schema.world import World

MASKED = re.compile(r"Something went wrong on our side\. It is logged as ([0-9a-f]{32})\.")
#: Words that would tell a client how the service is built.
INNER_WORDS = re.compile(
    r"column|relation|constraint|evaluation_runs|secret|select|insert|asyncpg|Postgres|resolvers", re.I
)


async def break_database(database: DatabaseUrls, *statements: str) -> None:
    connection = await asyncpg.connect(database.owner)
    try:
        for statement in statements:
            await connection.execute(statement)
    finally:
        await connection.close()


def logged_id(error: dict[str, Any], logs: list[Any], *words: str) -> str:
    """Checks that `error` tells an id and nothing else, and that the log has the failure's own words under it."""
    found = MASKED.fullmatch(error["message"])
    assert found
    assert error["extensions"] == {"code": "INTERNAL", "errorId": found[1]}
    assert not INNER_WORDS.search(json.dumps(error | {"locations": None}))
    (entry,) = [one for one in logs if one.get("error_id") == found[1]]
    assert (entry["event"], entry["log_level"]) == ("graphql_error", "error")
    for word in words:
        assert word in str(entry["exc_info"])
    return found[1]


async def test_a_failing_statement_is_told_by_an_id_alone(world: World, database: DatabaseUrls) -> None:
    await break_database(database, "alter table evaluation_runs drop column failure_detail")
    text = "{ viewer { role } evaluationRuns { edges { node { id } } } }"
    with capture_logs() as logs:
        result = await execute(world.tenant, text)
    assert result.errors
    (error,) = [dict(one.formatted) for one in result.errors]
    assert error["path"] == ["evaluationRuns"]
    logged_id(error, logs, "failure_detail")
    assert result.data is None


async def test_each_failing_field_has_an_id_of_its_own(world: World, database: DatabaseUrls) -> None:
    await break_database(database, "alter table rollouts drop column seed cascade")
    text = "{ evaluationTrials { edges { node { id rollout { id } } } } }"
    with capture_logs() as logs:
        result = await execute(world.tenant, text)
    assert result.errors
    ids = {logged_id(dict(error.formatted), logs, "seed") for error in result.errors}
    assert len(ids) == len(result.errors) == len(world.trials)
    assert result.data is not None
    assert {edge["node"]["rollout"] for edge in result.data["evaluationTrials"]["edges"]} == {None}


async def test_a_violated_constraint_is_not_named(acme: Tenant, database: DatabaseUrls) -> None:
    await break_database(database, "alter table environments add constraint secret_rule check (slug <> 'boom')")
    text = 'mutation { createEnvironment(input: { slug: "boom", name: "n" }) { __typename } }'
    with capture_logs() as logs:
        result = await execute(acme, text)
    assert result.errors
    logged_id(dict(result.errors[0].formatted), logs, "secret_rule")


async def test_a_missing_row_that_must_be_there_is_masked_too(world: World, database: DatabaseUrls) -> None:
    await break_database(
        database,
        "drop policy tenant on evaluator_configurations",
        "create policy tenant on evaluator_configurations to agentforge_app using (false)",
    )
    with capture_logs() as logs:
        result = await execute(
            world.tenant, "{ evaluationRuns(first: 1) { edges { node { evaluatorConfiguration { id } } } } }"
        )
    assert result.errors
    logged_id(dict(result.errors[0].formatted), logs, "EvaluationRun.evaluatorConfiguration")


async def test_errors_are_logged_once(acme: Tenant, database: DatabaseUrls, caplog: pytest.LogCaptureFixture) -> None:
    await break_database(database, "alter table environments drop column name cascade")
    with capture_logs() as logs, caplog.at_level(logging.DEBUG, "strawberry"):
        await execute(acme, "{ environments { totalCount edges { node { id } } } }")
        await execute(acme, "{ environments(first: 0) { totalCount } }")
        await execute(acme, "{ nope }")
    assert [entry["event"] for entry in logs] == ["graphql_error"]
    assert [record for record in caplog.records if record.name.startswith("strawberry")] == []


async def test_expected_errors_keep_their_words(acme: Tenant) -> None:
    with capture_logs() as logs:
        result = await execute(acme, "{ viewer { role } environments(first: 0) { totalCount } }")
    assert result.errors
    assert dict(result.errors[0].formatted) == {
        "message": "first is 0; a page has 1 to 500 rows.",
        "locations": [{"line": 1, "column": 19}],
        "path": ["environments"],
        "extensions": {"code": "INVALID_INPUT", "field": ["first"]},
    }
    assert logs == []


FAULTS = [
    ("{ nope }", "Cannot query field 'nope' on type 'Query'. Did you mean 'node'?"),
    ("{ viewer { id }", "Syntax Error: Expected Name, found <EOF>."),
    ("{ node { id } }", "Argument 'Query.node(id:)' of type 'ID!' is required, but it was not provided."),
    ("{ ...nowhere }", "Unknown fragment 'nowhere'."),
    (
        "query($n: Int!) { environments(first: $n) { totalCount } }",
        "Variable '$n' has invalid value: Expected a value of non-null type 'Int!'",
    ),
]


async def test_faults_of_the_document_are_told_as_they_are(acme: Tenant, subtests: pytest.Subtests) -> None:
    with capture_logs() as logs:
        for text, message in FAULTS:
            with subtests.test(text):
                result = await execute(acme, text)
                assert result.errors
                assert result.errors[0].message.startswith(message)
    assert logs == []


NAMES = (None, "", "A", "B", "C", "\0", "x" * 300)
CHOICES = (
    "{ __typename }",
    "query A { __typename }",
    "query A { __typename } query B { viewer { role } }",
    "{ __typename } { __typename }",
    "query A { __typename } query A { __typename }",
    "fragment F on Query { __typename }",
    "type A { b: Int }",
    "",
    "# nothing",
)


@pytest.mark.parametrize("text", CHOICES)
async def test_an_operation_that_cannot_be_chosen_is_no_failure_of_ours(text: str, acme: Tenant) -> None:
    """Streams tell it as an error; other answers have a status for it, which the endpoint gives."""
    with capture_logs() as logs:
        for name in NAMES:
            with suppress(CannotGetOperationTypeError, MissingQueryError):
                await graph.execute(text, context_value=session(acme), operation_name=name)
            results = await graph.stream(text, context_value=session(acme), operation_name=name)
            (result,) = [cast("ExecutionResult", one) async for one in results]
            assert not any("our side" in error.message for error in result.errors or ())
    assert logs == []


class FailsOnItsOwn(SchemaExtension):
    def on_validate(self) -> Iterator[None]:
        raise RuntimeError("a secret of the service")
        yield


@strawberry.type
class Greeting:
    hello: str = "world"


async def test_what_fails_outside_of_every_resolver_is_masked_too() -> None:
    schema = strawberry.Schema(Greeting, extensions=[HideUnexpectedErrors, FailsOnItsOwn])
    with capture_logs() as logs:
        result = await schema.execute("{ hello }")
    assert result.errors
    logged_id(dict(result.errors[0].formatted), logs, "a secret of the service")


async def test_nobody_gets_no_context(acme: Tenant, statements: list[str]) -> None:
    statements.clear()
    result = await graph.execute("{ viewer { id } }", context_value=Session(Changes()))
    assert result.data is None
    assert result.errors
    assert result.errors[0].message == "nobody is signed in on this connection"
    assert statements == []


async def test_a_failing_subscription_is_told_by_an_id_alone(world: World, database: DatabaseUrls) -> None:
    run = next(run for run in world.runs if run.row.status == "running")
    text = "subscription($id: ID!) { evaluationRunUpdated(id: $id) { id } }"
    await break_database(database, "alter table evaluation_runs drop column failure_detail")
    with capture_logs() as logs:
        async with subscribed(world.tenant, Changes(), text, id=str(run.row.id)) as results:
            told = [result async for result in results]
    (result,) = told
    assert result.data is None
    (error,) = [dict(one.formatted) for one in result.errors]
    logged_id(error, logs, "failure_detail")


async def test_a_failing_field_of_an_event_is_told_by_an_id_alone(world: World, database: DatabaseUrls) -> None:
    ended = world.runs[0]
    text = "subscription($id: ID!) { evaluationRunUpdated(id: $id) { id trials { rollout { id } } } }"
    await break_database(database, "alter table rollouts drop column seed cascade")
    with capture_logs() as logs:
        async with subscribed(world.tenant, Changes(), text, id=str(ended.row.id)) as results:
            (result,) = [result async for result in results]
    assert len(result.errors) == len(ended.trials)
    for error in result.errors:
        logged_id(dict(error.formatted), logs, "seed")
    assert result.data["evaluationRunUpdated"]["id"] == str(ended.row.id)


async def test_expected_errors_of_subscriptions_keep_their_words(acme: Tenant) -> None:
    run = 'subscription { evaluationRunUpdated(id: "nope") { id } }'
    trial = 'subscription { evaluationTrialFinished(environmentVersionId: "nope") { id } }'
    with capture_logs() as logs:
        for text, noun in ((run, "evaluation run"), (trial, "environment version")):
            async with subscribed(acme, Changes(), text) as results:
                (result,) = [result async for result in results]
            (error,) = result.errors
            assert (error.message, error.extensions) == (f"There is no such {noun}.", {"code": "NOT_FOUND"})
    assert logs == []
