"""Which addresses answer without a sign-in, from the application's own table of routes."""

import re

import asyncpg
import httpx
import pytest
from starlette.routing import BaseRoute, Mount, Route, WebSocketRoute

from agentforge.app import build
from agentforge.settings import Settings
from agentforge.workspace import PAGES
from db.changes import Changes
from tests.contract.documents import UNKNOWN_ID
from tests.service import Client, Service, command_json, metrics_of

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")

#: The answer to each request that needs no sign-in.
PUBLIC = {
    ("GET", "/graphql"): 200,
    ("GET", "/healthz"): 200,
    ("HEAD", "/healthz"): 200,
    ("GET", "/readyz"): 200,
    ("HEAD", "/readyz"): 200,
    ("GET", "/favicon.ico"): 200,
    ("HEAD", "/favicon.ico"): 200,
    ("GET", "/static/graphiql.js"): 200,
    ("HEAD", "/static/graphiql.js"): 200,
    ("GET", "/sign-in"): 200,
    ("POST", "/api/v1/session"): 415,
}
NAMES = {"{id}": UNKNOWN_ID, "{file}": UNKNOWN_ID, "{sha256}": "0" * 64, "{slug}": "none"}


def named(path: str) -> str:
    """The path of a route with values for its parameters."""
    return re.sub(r"{\w+}", lambda parameter: NAMES.get(parameter[0], parameter[0]), path)


# The document of each page tells nothing: its script asks the graph.
PUBLIC |= {(method, named(page)): 200 for method in ("GET", "HEAD") for page in PAGES}


def table_of_routes() -> list[BaseRoute]:
    """What the application answers; its connections are never opened for that."""
    never_opened = asyncpg.create_pool("postgresql://nobody@127.0.0.1:1/nowhere", min_size=0)
    return build(never_opened, never_opened, Changes(), Settings()).routes


def paths() -> list[str]:
    """An address of each route; that of a mounted folder is one of its files."""
    found = set()
    for route in table_of_routes():
        assert isinstance(route, Route | WebSocketRoute | Mount)
        path = f"{route.path}/graphiql.js" if isinstance(route, Mount) else route.path
        found.add(named(path))
    assert not [path for path in found if "{" in path], "a new parameter: say above what stands for it"
    return sorted(found)


async def test_the_table_names_every_public_address() -> None:
    assert {path for _, path in PUBLIC} <= set(paths())


@pytest.mark.parametrize("token", [None, "wrong", "agentforge_" + "x" * 43])
async def test_all_others_need_a_sign_in(service: Service, token: str | None) -> None:
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    methods = METHODS if token is None else ("GET", "POST")
    async with httpx.AsyncClient(base_url=service.url, headers=headers) as client:
        for path in [*paths(), "/unknown", "/api/v1", "/static", "/api/v1/rollouts/", "//"]:
            for method in methods:
                response = await client.request(method, service.url + path)
                if expected := PUBLIC.get((method, path)):
                    assert response.status_code == expected, (method, path)
                    continue
                assert response.status_code == 401, (method, path)
                assert response.headers["WWW-Authenticate"] == "Bearer"
                assert response.headers["Content-Type"] == "application/problem+json"
                if method != "HEAD":
                    assert (response.json()["status"], response.json()["title"]) == (401, "Unauthorized")


async def test_a_token_is_let_in_everywhere(service: Service) -> None:
    headers = {"Authorization": f"Bearer {service.token}"}
    async with httpx.AsyncClient(base_url=service.url, headers=headers) as client:
        for path in set(paths()) - {"/metrics"}:  # which has a token of its own
            for method in METHODS:
                response = await client.request(method, path)
                assert response.status_code not in (401, 403, 500), (method, path)


def test_the_graph_tells_nothing_without_a_sign_in(service: Service) -> None:
    for query in ("{ viewer { id } }", "{ __schema { types { name } } }", "{ __typename }"):
        response = Client(service.url, None).request("POST", "/graphql", json={"query": query})
        assert (response.status_code, "data" in response.json()) == (401, False)
        asked_by_address = httpx.get(f"{service.url}/graphql", params={"query": query})
        assert (asked_by_address.status_code, "data" in asked_by_address.text) == (405, False)


def test_a_revoked_token_is_refused_at_once(service: Service) -> None:
    options = ("--organization", "demo")
    made = command_json("token", "create", *options, "--role", "viewer", data_dir=service.data_dir)
    client = Client(service.url, made["token"])
    assert client.get("/api/v1/rollouts").status_code == 200
    command_json("token", "revoke", made["id"], *options, data_dir=service.data_dir)
    assert client.get("/api/v1/rollouts").status_code == 401


def test_metrics_tell_nothing_of_an_organization(service: Service) -> None:
    viewer = service.client.graph("{ viewer { id organization { id name } } environments { edges { node { id } } } }")
    service.client.get(f"/api/v1/rollouts/{viewer['viewer']['id']}")
    text = metrics_of(service)
    assert 'agentforge_http_requests_total{method="GET",path="/api/v1/rollouts/{id}",status="404"}' in text
    assert re.search(r'^agentforge_trials_total\{failure_category="\w*",status="completed"\} [1-9]', text, re.MULTILINE)
    ids = [viewer["viewer"]["id"], viewer["viewer"]["organization"]["id"]]
    assert not [word for word in (*ids, str(service.token), "demo", "admin-console") if word in text]
