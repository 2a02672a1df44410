"""The graph over HTTP: what goes in and out as bytes."""

import hashlib
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from db.accounts import Identity
from db.changes import Changes
from db.tenant import Tenant
from schema.endpoint import GraphQLEndpoint
from tests.factory import step
from tests.schema.asking import SUBJECT
from tests.schema.world import TRAJECTORY, Outcome, add_run, small_world


def signed_in(app: ASGIApp, tenant: Tenant) -> ASGIApp:
    """Puts into each request what signing in puts there."""
    identity = Identity(tenant.organization_id, SUBJECT, None, "member")

    async def with_identity(scope: Scope, receive: Receive, send: Send) -> None:
        state = {"tenant": tenant, "identity": identity, "identify_again": None}
        await app({**scope, "state": state}, receive, send)

    return with_identity


async def nobody(_: str) -> Identity | None:
    return None


@pytest.fixture
async def client(acme: Tenant, tmp_path: Path) -> AsyncIterator[httpx.AsyncClient]:
    page = tmp_path / "graphiql.html"
    page.write_text("<!doctype html><title>GraphiQL</title>", "utf-8")
    app = Starlette(routes=[Route("/graphql", GraphQLEndpoint(page, acme.pool, Changes(), nobody))])
    transport = httpx.ASGITransport(signed_in(app, acme))
    async with httpx.AsyncClient(transport=transport, base_url="http://service") as client:
        yield client


async def post(client: httpx.AsyncClient, query: str, **variables: Any) -> Any:
    response = await client.post("/graphql", json={"query": query, "variables": variables})
    assert response.status_code == 200
    assert response.headers["content-type"] == "application/json"
    return json.loads(response.content)


async def test_text_and_numbers_that_json_hardly_holds(client: httpx.AsyncClient, acme: Tenant) -> None:
    world = await small_world(acme)
    odd = "NUL \0, a lone \ud800, \u2028, \x1b[31mred\x1b[0m, 🐘, \\u0041"
    metrics = {"stage_a": 1, "big": 2**70, "small": 5e-324, "text": odd}
    outcome = Outcome(0.1 + 0.2, steps=[step(1, command=odd, observation=odd)], log=odd, metrics=metrics)
    await add_run(world, world.versions[0], world.configurations[0], [outcome], seed=2**63 - 1)
    answered = await post(
        client,
        "{ evaluationTrials { edges { node { seed reward metrics trajectory { log steps { edges { node {"
        " command observation } } } } } } } }",
    )
    (edge,) = answered["data"]["evaluationTrials"]["edges"]
    assert edge["node"] == {
        "seed": str(2**63 - 1),
        "reward": 0.1 + 0.2,
        "metrics": metrics,
        "trajectory": {"log": odd, "steps": {"edges": [{"node": {"command": odd, "observation": odd}}]}},
    }


@pytest.mark.parametrize("log", ["log", "half a character: \ud800"])
async def test_an_agent_s_document_is_passed_on_as_it_was_written(
    client: httpx.AsyncClient, acme: Tenant, log: str
) -> None:
    world = await small_world(acme)
    outcome = Outcome(1.0, log=log, agent_trajectory=TRAJECTORY, atif_errors=["not what it should be"])
    await add_run(world, world.versions[0], world.configurations[0], [outcome])
    query = "{ evaluationTrials { edges { node { trajectory { log atif { valid errors document } } } } } }"
    for accept in ("application/json", "text/event-stream"):
        response = await client.post("/graphql", json={"query": query}, headers={"Accept": accept})
        # Numbers, keys that stand twice and escapes as they are; line breaks would end an event.
        assert TRAJECTORY.replace(b"\r", b" ").replace(b"\n", b" ") in response.content
    (edge,) = (await post(client, query))["data"]["evaluationTrials"]["edges"]
    atif = {"valid": False, "errors": ["not what it should be"], "document": json.loads(TRAJECTORY)}
    assert edge["node"]["trajectory"] == {"log": log, "atif": atif}


async def test_what_is_not_json_is_no_document(client: httpx.AsyncClient, acme: Tenant) -> None:
    world = await small_world(acme)
    outcomes = [
        Outcome(1.0, agent_trajectory=b"\xff", atif_errors=["not UTF-8"], is_json=False),
        Outcome(1.0, atif_errors=["too large"], is_json=False),
        Outcome(1.0),
    ]
    await add_run(world, world.versions[0], world.configurations[0], outcomes)
    query = "{ evaluationTrials(orderBy: OLDEST) { edges { node { trajectory { atif { version url document } } } } } }"
    answered = [
        edge["node"]["trajectory"]["atif"] for edge in (await post(client, query))["data"]["evaluationTrials"]["edges"]
    ]
    url = answered[0].pop("url")
    assert url.endswith("/agent-trajectory")
    assert answered == [{"version": None, "document": None}, {"version": None, "url": None, "document": None}, None]


async def test_errors_come_beside_the_data_with_their_code(client: httpx.AsyncClient) -> None:
    answered = await post(client, '{ environment(slug: "a") { id } node(id: "x") { id } viewer { role } }')
    assert answered == {"data": {"environment": None, "node": None, "viewer": {"role": "MEMBER"}}}
    answered = await post(client, "query($n: Int) { environments(first: $n) { totalCount } }", n=501)
    assert answered["data"] is None
    assert answered["errors"][0]["extensions"] == {"code": "INVALID_INPUT", "field": ["first"]}


async def test_get_gives_the_page_and_answers_no_query(client: httpx.AsyncClient) -> None:
    response = await client.get("/graphql", headers={"Accept": "text/html"})
    assert (response.status_code, response.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert "GraphiQL" in response.text
    response = await client.get("/graphql", params={"query": "{ viewer { id } }"})
    assert response.status_code == 405


BODIES = {
    "no JSON": b"{",
    "no query": b"{}",
    "a query that is no text": b'{"query": 5}',
    "variables that are no object": b'{"query": "{ viewer { id } }", "variables": []}',
    "a batch": b'[{"query": "{ viewer { id } }"}]',
    "no object": b"null",
    "a number": b"5",
    "not UTF-8": b'{"query": "\xff"}',
    "nested without end": b'{"query": "{ viewer { id } }", "variables": {"a": '
    + b"[" * 100_000
    + b"]" * 100_000
    + b"}}",
    "a number without end": b'{"query": "{ viewer { id } }", "variables": {"a": ' + b"9" * 10_000 + b"}}",
    "a subscription": b'{"query": "subscription { evaluationTrialFinished { id } }"}',
    "an unknown operation": b'{"query": "query A { viewer { id } } query B { viewer { id } }", "operationName": "C"}',
    "an operation name that is no text": b'{"query": "{ viewer { id } }", "operationName": 5}',
}


async def test_bodies_that_are_no_request_are_refused(
    client: httpx.AsyncClient, statements: list[str], subtests: pytest.Subtests
) -> None:
    statements.clear()
    for why, body in BODIES.items():
        with subtests.test(why):
            response = await client.post("/graphql", content=body, headers={"Content-Type": "application/json"})
            assert response.status_code == 400
    assert (await client.post("/graphql", content=b"{ viewer { id } }")).status_code == 400
    assert statements == []


def persisted(query: str, version: int = 1) -> dict[str, Any]:
    digest = hashlib.sha256(query.encode()).hexdigest()
    return {"persistedQuery": {"version": version, "sha256Hash": digest}}


@pytest.mark.parametrize("query", ["{ environments { totalCount } }", "{ viewer { role } }"])
async def test_a_hash_is_enough_once_its_document_was_sent(client: httpx.AsyncClient, query: str) -> None:
    """Of an operation that is compiled and of one that is not."""
    expected = await post(client, query)
    by_hash = {"extensions": persisted(query)}
    unknown = await client.post("/graphql", json=by_hash)
    assert unknown.status_code == 200
    assert unknown.json() == {
        "errors": [{"message": "PersistedQueryNotFound", "extensions": {"code": "PERSISTED_QUERY_NOT_FOUND"}}]
    }
    assert (await client.post("/graphql", json={"query": query} | by_hash)).json() == expected
    assert (await client.post("/graphql", json=by_hash)).json() == expected


@pytest.mark.parametrize(
    ("extensions", "words"),
    [
        (persisted("{ other }"), "provided sha does not match query"),
        (persisted("{ viewer { role } }", version=2), "version: 1"),
        ({"persistedQuery": {"version": 1, "sha256Hash": "abc"}}, "64 lower-case hex digits"),
        ({"persistedQuery": None}, "64 lower-case hex digits"),
    ],
)
async def test_a_hash_that_is_wrong_is_refused_and_keeps_nothing(
    client: httpx.AsyncClient, extensions: dict[str, Any], words: str
) -> None:
    refused = await client.post("/graphql", json={"query": "{ viewer { role } }", "extensions": extensions})
    assert refused.status_code == 400
    assert words in refused.json()["errors"][0]["message"]
    unknown = await client.post("/graphql", json={"extensions": persisted("{ viewer { role } }")})
    assert unknown.json()["errors"][0]["message"] == "PersistedQueryNotFound"
