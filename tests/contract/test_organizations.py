"""To another organization, everything of the first is answered like what does not exist."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from typing import Any
from uuid import uuid4

import httpx
import pytest

from streaming.routes import routes
from tests.contract.conftest import Practice
from tests.contract.documents import CREATE_ENVIRONMENT, UNKNOWN_ID
from tests.service import Client, Service, command_json

WALK = """{ viewer { __typename id organization { __typename id } }
  environments(first: 500) { edges { node { __typename id
    versions(first: 100) { edges { node { __typename id } } } } } }
  evaluatorConfigurations(first: 500) { edges { node { __typename id } } }
  evaluationRuns(first: 500) { edges { node { __typename id
    trials { __typename id trajectory { __typename id: artifactId } rollout { __typename id } } } } } }"""

#: What to ask of a field that takes a filter, so that every row that it would show counts.
SELECTIONS = {
    "evaluationRuns": "totalCount edges { node { id } }",
    "evaluationTrials": "totalCount edges { node { id } }",
    "rollouts": "totalCount edges { node { id } }",
    "capabilityGaps": "trials categorized gaps { failureCategory }",
    "partialRewards": "stage trials",
}

INTROSPECTION = """{
  node: __type(name: "Node") { possibleTypes { name } }
  query: __type(name: "Query") { fields { name args { name type { kind name ofType { name } } } } }
  mutation: __type(name: "Mutation") { fields { name args { type { ofType { name } } } } }
  inputs: __schema { types { name inputFields { name type { name ofType { name } } } } } }"""


def things(value: object) -> Iterator[tuple[str, str]]:
    """The id and the type of everything in an answer."""
    if isinstance(value, dict):
        if "id" in value:
            yield value["id"], value["__typename"]
        value = list(value.values())
    for inner in value if isinstance(value, list) else ():
        yield from things(inner)


def walk(client: Client) -> dict[str, str]:
    return dict(things(client.graph(WALK)))


@pytest.fixture
def ids(service: Service) -> list[str]:
    """Every id of the first organization."""
    found = walk(service.client)
    possible = service.client.graph(INTROSPECTION)["node"]["possibleTypes"]
    assert {one["name"] for one in possible} <= set(found.values()), "WALK does not meet every kind of node"
    options = ("--organization", "demo")
    tokens = command_json("token", "list", *options, data_dir=service.data_dir)
    owner = command_json("member", "add", "owner@demo.example", *options, "--role", "owner", data_dir=service.data_dir)
    return [*found, *(token["id"] for token in tokens), owner["userId"]]


@pytest.fixture
async def browser(other: Client) -> AsyncIterator[httpx.AsyncClient]:
    """The other organization's client, for some requests at once: fewer than there may be exports."""
    headers = {"Authorization": f"Bearer {other.token}"}
    limits = httpx.Limits(max_connections=4)
    async with httpx.AsyncClient(base_url=other.url, headers=headers, timeout=60, limits=limits) as client:
        yield client


def seen(response: httpx.Response) -> tuple[int, bytes, list[tuple[str, str]]]:
    """All that a client can see of an answer, but for its date."""
    return response.status_code, response.content, [item for item in response.headers.items() if item[0] != "date"]


def id_fields(schema: Any, input_type: str) -> list[str]:
    """The fields of an input type that take an id."""
    (fields,) = [one["inputFields"] for one in schema["inputs"]["types"] if one["name"] == input_type]
    return [
        field["name"]
        for field in fields
        if "ID" in (field["type"]["name"], (field["type"]["ofType"] or {}).get("name"))
    ]


def reading_document(schema: Any) -> str:
    """Asks for one id in every way that the graph offers."""
    asked = []
    for field in schema["query"]["fields"]:
        for argument in field["args"]:
            name = argument["type"]["name"] or argument["type"]["ofType"]["name"]
            if argument["name"] == "id":
                asked.append(f"{field['name']}(id: $id) {{ id }}")
            elif argument["name"] == "filter":
                filters = [f"filter: {{ {key}: $id }}" for key in id_fields(schema, name)]
                asked += [f"{field['name']}({text}) {{ {SELECTIONS[field['name']]} }}" for text in filters]
    numbered = [f"a{number}: {text}" for number, text in enumerate(asked)]
    return f"query($id: ID!) {{ {' '.join(numbered)} }}"


def changes(schema: Any, own: Practice) -> list[tuple[str, str, str, dict[str, object]]]:
    """Each field of a mutation's input that takes an id: mutation, input type, field, the other fields' values."""
    known: dict[str, object] = {
        "environmentVersionId": own.version,
        "evaluatorConfigurationId": own.configuration,
        "mode": "NEW_WORLD",
        "count": 1,
        "manifest": {"task": "x", "world": {"command": ["x"]}, "evaluator": {"command": ["x"]}},
    }
    found = []
    for mutation in schema["mutation"]["fields"]:
        input_type = mutation["args"][0]["type"]["ofType"]["name"]
        (fields,) = [one["inputFields"] for one in schema["inputs"]["types"] if one["name"] == input_type]
        rest = {field["name"]: known[field["name"]] for field in fields if field["name"] in known}
        found += [(mutation["name"], input_type, field, rest) for field in id_fields(schema, input_type)]
    return found


async def same_as_unknown(browser: httpx.AsyncClient, ids: list[str], *paths: str) -> None:
    for path in paths:
        unknown = seen(await browser.get(path.replace("{id}", UNKNOWN_ID)))
        answers = await asyncio.gather(*(browser.get(path.replace("{id}", one)) for one in ids))
        assert [path for answer in answers if seen(answer) != unknown] == []


async def test_no_address_tells_an_id_from_an_unknown_one(browser: httpx.AsyncClient, ids: list[str]) -> None:
    addresses = [route.path.replace("{file}", "{id}") for route in routes if "{id}" in route.path]
    assert len(addresses) == 4
    await same_as_unknown(browser, ids, *addresses, "/api/v1/rollouts?environmentVersionId={id}")


async def test_no_field_tells_an_id_from_an_unknown_one(
    browser: httpx.AsyncClient, service: Service, ids: list[str]
) -> None:
    document = reading_document(service.client.graph(INTROSPECTION))

    async def ask(one: str) -> httpx.Response:
        return await browser.post("/graphql", json={"query": document, "variables": {"id": one}})

    unknown = await ask(UNKNOWN_ID)
    assert "errors" not in unknown.json()
    assert unknown.json()["data"]["a0"] is None
    answers = await asyncio.gather(*map(ask, ids))
    assert [one for one, answer in zip(ids, answers, strict=True) if seen(answer) != seen(unknown)] == []


async def test_no_mutation_tells_an_id_from_an_unknown_one_or_does_anything(
    browser: httpx.AsyncClient, service: Service, foreign: Practice, ids: list[str]
) -> None:
    schema = service.client.graph(INTROSPECTION)
    asked = changes(schema, foreign)
    assert len(asked) == 10
    declared = ", ".join(f"$i{number}: {input_type}!" for number, (_, input_type, _, _) in enumerate(asked))
    fields = " ".join(
        f"m{number}: {mutation}(input: $i{number}) {{ __typename ... on Problem {{ message }} }}"
        for number, (mutation, *_) in enumerate(asked)
    )

    async def ask(one: str) -> httpx.Response:
        variables = {f"i{number}": rest | {field: one} for number, (_, _, field, rest) in enumerate(asked)}
        return await browser.post(
            "/graphql", json={"query": f"mutation({declared}) {{ {fields} }}", "variables": variables}
        )

    before = (walk(service.client), walk(foreign.client))
    unknown = await ask(UNKNOWN_ID)
    assert {answer["__typename"] for answer in unknown.json()["data"].values()} == {"NotFound"}
    answers = await asyncio.gather(*map(ask, ids))
    assert [one for one, answer in zip(ids, answers, strict=True) if seen(answer) != seen(unknown)] == []
    assert (walk(service.client), walk(foreign.client)) == before


async def test_no_subscription_tells_a_run_from_an_unknown_one(
    browser: httpx.AsyncClient, service: Service, ids: list[str]
) -> None:
    document = "subscription($id: ID!) { evaluationRunUpdated(id: $id) { id } }"

    async def ask(one: str) -> httpx.Response:
        asked = {"query": document, "variables": {"id": one}}
        return await browser.post("/graphql", json=asked, headers={"Accept": "text/event-stream"})

    unknown = await ask(UNKNOWN_ID)
    assert "NOT_FOUND" in unknown.text
    answers = await asyncio.gather(*map(ask, ids))
    assert [one for one, answer in zip(ids, answers, strict=True) if seen(answer) != seen(unknown)] == []


def test_lists_and_pages_share_nothing(service: Service, other: Client) -> None:
    mine, theirs = walk(service.client), walk(other)
    assert set(theirs.values()) == set(mine.values())
    assert mine.keys() & theirs.keys() == set()
    for listing in ("environments", "evaluatorConfigurations", "evaluationRuns", "evaluationTrials", "rollouts"):
        cursor = service.client.graph(f"{{ {listing}(first: 1) {{ pageInfo {{ endCursor }} }} }}")[listing]["pageInfo"]
        document = f"query($after: String) {{ {listing}(after: $after) {{ totalCount edges {{ node {{ id }} }} }} }}"
        page = other.graph(document, after=cursor["endCursor"])[listing]
        assert {edge["node"]["id"] for edge in page["edges"]} <= theirs.keys()
        assert page["totalCount"] == other.graph(document)[listing]["totalCount"]


def test_exports_share_nothing(service: Service, other: Client) -> None:
    def exported(client: Client) -> set[str]:
        return {json.loads(text)["rolloutId"] for text in client.get("/api/v1/rollouts").text.splitlines()}

    theirs = exported(other)
    assert theirs
    assert theirs & exported(service.client) == set()
    assert theirs <= walk(other).keys()


def test_names_are_each_organizations_own(service: Service, other: Client) -> None:
    slug = f"shared-{uuid4().hex}"
    for client in (service.client, other):
        assert client.graph(CREATE_ENVIRONMENT, slug=slug)["result"]["__typename"] == "Environment"
        assert client.graph(CREATE_ENVIRONMENT, slug=slug)["result"]["__typename"] == "Conflict"
    assert other.graph('{ environment(slug: "admin-console") { id } }') == {"environment": None}


def test_a_bundle_is_its_uploaders_alone(service: Service, other: Client) -> None:
    version = '{ environment(slug: "admin-console") { latestVersion { bundleSha256 } } }'
    sha256 = service.client.graph(version)["environment"]["latestVersion"]["bundleSha256"]
    unknown = other.get(f"/api/v1/bundles/{'0' * 64}")
    assert unknown.status_code == 404
    assert seen(other.get(f"/api/v1/bundles/{sha256}")) == seen(unknown)
    content = service.client.get(f"/api/v1/bundles/{sha256}").content
    # What the first organization has must not show in the answer to an upload of the same.
    assert other.request("PUT", f"/api/v1/bundles/{sha256}", content=content).status_code == 201
    assert other.request("PUT", f"/api/v1/bundles/{sha256}", content=content).status_code == 200
