"""Whatever is asked, the service answers in its own words: no failure of ours, and nothing of how it is made.

AGENTFORGE_FUZZ=5000 asks so many generated operations of each kind instead of 100.
"""

import json
import os
import re
from collections.abc import Iterator
from typing import Any, Final

import httpx
import pytest
from graphql import (
    FloatValueNode,
    GraphQLInputObjectType,
    GraphQLList,
    GraphQLNonNull,
    IntValueNode,
    ListValueNode,
    NameNode,
    NullValueNode,
    ObjectFieldNode,
    ObjectValueNode,
    StringValueNode,
    build_schema,
    get_named_type,
)
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st
from hypothesis_graphql import mutations, queries

from schema.graph import graph
from tests.schema.everything import fields_of, selection
from tests.service import Client, Service, command_json

EXAMPLES: Final = int(os.environ.get("AGENTFORGE_FUZZ", "100"))
#: Words that tell how the service is built.
INNER_WORDS: Final = re.compile(r"asyncpg|Traceback|pg_|\.py\b|relation \"|violates|SELECT |syntax error at", re.ASCII)

generated = settings(
    max_examples=EXAMPLES,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
)


@pytest.fixture(scope="module")
def organization(service: Service) -> Client:
    """One of its own, to which anything may be done."""
    made = command_json("organization", "create", "fuzz", "--owner", "f@fuzz.example", data_dir=service.data_dir)
    return Client(service.url, made["token"])


@pytest.fixture(scope="module")
def ids(service: Service, organization: Client) -> list[str]:
    """Real ones of the demo's organization and one of the fuzzed one, which is why some answers are full."""
    found = service.client.graph("""{ environments { edges { node { id latestVersion { id } } } }
      evaluationRuns { edges { node { id evaluatorConfiguration { id } trials { id rollout { id } } } } } }""")
    made = organization.graph(
        'mutation { createEnvironment(input: { slug: "fuzz", name: "n" }) { ... on Environment { id } } }'
    )
    return re.findall(r"[0-9a-f]{8}-[0-9a-f-]{27}", json.dumps([found, made]))


@pytest.fixture(scope="module")
def connection() -> Iterator[httpx.Client]:
    with httpx.Client(timeout=60) as client:
        yield client


def assert_in_words(connection: httpx.Client, client: Client, body: bytes, accept: str = "*/*") -> None:
    """The answer is one of the protocol, and no failure of the service."""
    headers = {"Authorization": f"Bearer {client.token}", "Content-Type": "application/json", "Accept": accept}
    response = connection.post(f"{client.url}/graphql", content=body, headers=headers)
    assert response.status_code in (200, 400), response.text
    events = response.headers["content-type"].startswith("text/event-stream")
    answer = json.loads(response.text.split("\r\n")[1].removeprefix("data: ") if events else response.content)
    if response.status_code == 200:
        assert answer.keys() <= {"data", "errors"}
    event("told errors" if "errors" in answer else "answered" if "data" in answer else "refused")
    for error in answer.get("errors", ()):
        assert error.get("extensions", {}).get("code") != "INTERNAL", error
        assert not INNER_WORDS.search(error["message"]), error


TEXTS = st.one_of(
    st.text(max_size=20),
    st.sampled_from(["", "\0", "a\0b", "\ud800", "x" * 70_000, "%s", "'; drop table runs; --", "\u202e", "NaN", "{}"]),
)


def literal(value: object) -> Any:
    """The value as it stands in a document."""
    match value:
        case None:
            return NullValueNode()
        case str():
            return StringValueNode(value=value)
        case int():
            return IntValueNode(value=str(value))
        case float():
            return FloatValueNode(value=repr(value))
        case list():
            return ListValueNode(values=tuple(map(literal, value)))
        case dict():
            names = {re.sub(r"\W", "_", f"k{name}", flags=re.ASCII): inner for name, inner in value.items()}
            fields = (ObjectFieldNode(name=NameNode(value=name), value=literal(one)) for name, one in names.items())
            return ObjectValueNode(fields=tuple(fields))
    raise TypeError(value)


def scalars(ids: list[str]) -> dict[str, st.SearchStrategy[Any]]:
    numbers = st.integers(-(10**30), 10**30) | st.sampled_from([2**31, 2**63, -(2**63) - 1])
    moments = st.datetimes().map(lambda moment: moment.isoformat() + "Z") | TEXTS
    leaves = st.none() | numbers | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5)
    inner = leaves | st.lists(leaves, max_size=3) | st.dictionaries(st.text(max_size=5), leaves, max_size=3)
    json_values = inner | st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    return {
        "BigInt": (numbers | TEXTS.filter(_is_source)).map(literal),
        "DateTime": moments.filter(_is_source).map(literal),
        "JSON": json_values.filter(lambda value: _is_source(json.dumps(value))).map(literal),
        "RealId": (st.sampled_from(ids) | st.uuids().map(str) | TEXTS.filter(_is_source)).map(literal),
        "Text": TEXTS.filter(_is_source).map(literal),
        "First": (st.integers(1, 40) | st.integers(-5, 10**10)).map(literal),
    }


def _is_source(text: str) -> bool:
    """A document is Unicode text; what is none comes in variables alone."""
    return not re.search("[\0\ud800-\udfff]", text)


def wild_schema() -> Any:
    """The graph, whose ids, texts and page sizes are scalars of their own, to be drawn like the others."""
    text = re.sub(r"\b(\w+): ID(!?)(?= = |\)|,|$)", r"\1: RealId\2", graph.as_str(), flags=re.MULTILINE)
    text = re.sub(r"\b(after|slug|name|stage|bundleSha256): String(!?)(?= = |\)|,|$)", r"\1: Text\2", text)
    text = text.replace("first: Int", "first: First")
    return build_schema(text + "\nscalar RealId\nscalar Text\nscalar First\n", assume_valid=True)


WILD: Final = wild_schema()


@pytest.fixture(scope="module")
def asked(ids: list[str]) -> dict[str, st.SearchStrategy[str]]:
    """Operations to draw, made once: what is made anew for each example is not drawn alike."""
    drawn = scalars(ids)
    return {"query": queries(WILD, custom_scalars=drawn), "mutation": mutations(WILD, custom_scalars=drawn)}


@generated
@given(data=st.data())
def test_any_query_is_answered(
    data: st.DataObject, service: Service, asked: dict[str, st.SearchStrategy[str]], connection: httpx.Client
) -> None:
    text = data.draw(asked["query"])
    assert_in_words(connection, service.client, json.dumps({"query": text}).encode())


@generated
@given(data=st.data())
def test_any_mutation_is_answered(
    data: st.DataObject, organization: Client, asked: dict[str, st.SearchStrategy[str]], connection: httpx.Client
) -> None:
    text = data.draw(asked["mutation"])
    assert_in_words(connection, organization, json.dumps({"query": text}).encode())


HOSTILE: Final = st.one_of(
    TEXTS,
    st.none(),
    st.booleans(),
    st.integers(-(10**400), 10**400),
    st.floats(),
    st.just("1e999"),  # also as a number: see `body`
    st.lists(TEXTS, max_size=3),
    st.dictionaries(TEXTS, TEXTS, max_size=3),
    st.integers(1, 1500).map(lambda levels: f"deep {levels}"),  # lists so deep: see `body`
)


def hostile(kind: Any, ids: list[str]) -> st.SearchStrategy[Any]:
    """Values that mostly have the type's shape, and whose parts are what no sane client sends."""
    match kind:
        case GraphQLNonNull():
            return hostile(kind.of_type, ids)
        case GraphQLList():
            return st.lists(hostile(kind.of_type, ids), max_size=3) | HOSTILE
        case GraphQLInputObjectType():
            members = {name: hostile(member.type, ids) for name, member in kind.fields.items()}
            required = [name for name, member in kind.fields.items() if isinstance(member.type, GraphQLNonNull)]
            needed = {name: members.pop(name) for name in required}
            return st.fixed_dictionaries(needed, optional=members) | HOSTILE
    if kind.name == "ID":
        return st.sampled_from(ids) | HOSTILE
    if values := getattr(kind, "values", None):
        return st.sampled_from(list(values)) | HOSTILE
    return HOSTILE


def body(**members: object) -> bytes:
    text = json.dumps(members)
    text = re.sub(r'"deep (\d+)"', lambda found: "[" * int(found[1]) + "]" * int(found[1]), text)
    return text.replace('"1e999"', "1e999").encode()


def with_variables(operation: str, name: str) -> str:
    """The field with each argument from a variable."""
    field = fields_of(operation.capitalize())[name]
    declared = ", ".join(f"${argument}: {value.type}" for argument, value in field.args.items())
    given_ = ", ".join(f"{argument}: ${argument}" for argument in field.args)
    return f"{operation}({declared}) {{ {name}({given_}) {selection(get_named_type(field.type), 1)} }}"


FIELDS: Final = [
    (operation, name)
    for operation in ("query", "mutation")
    for name, field in fields_of(operation.capitalize()).items()
    if field.args
]


@generated
@given(data=st.data())
def test_any_variables_are_answered(
    data: st.DataObject, organization: Client, service: Service, ids: list[str], connection: httpx.Client
) -> None:
    operation, name = data.draw(st.sampled_from(FIELDS))
    arguments = fields_of(operation.capitalize())[name].args
    drawn = {key: data.draw(hostile(value.type, ids)) for key, value in arguments.items()}
    client = service.client if operation == "query" else organization
    chosen = data.draw(st.none() | st.sampled_from([None, "", "A", "\0", "\ud800", 5]))
    accept = data.draw(st.sampled_from(["*/*", "text/event-stream"]))
    content = body(query=with_variables(operation, name), variables=drawn, operationName=chosen)
    assert_in_words(connection, client, content, accept)
