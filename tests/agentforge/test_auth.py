"""Nobody gets in without credentials, and no other site can use a person's cookie."""

from uuid import uuid4

import asyncpg
import httpx
import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from agentforge.auth import COOKIE, identify_authorization
from agentforge.settings import Settings
from db.changes import Changes
from db.tenant import Pool, Tenant
from resolvers import accounts
from resolvers.identities import Identities
from tests.agentforge.gate import (
    ADA,
    DAY,
    HOST,
    application,
    assert_problem,
    assert_unauthorized,
    client_of,
    served,
)


async def test_without_credentials_only_the_public_paths_answer(client: httpx.AsyncClient) -> None:
    for path in ("/", "/healthz", "/readyz", "/metrics", "/favicon.ico", "/static/graphiql.js"):
        assert (await client.get(path)).json() == {"role": None}
        assert (await client.head(path)).status_code == 200
    assert (await client.get("/graphql")).json() == {"role": None}
    for method, path in (
        ("GET", "/api/v1/rollouts"),
        ("GET", f"/api/v1/rollouts/{uuid4()}"),
        ("PUT", "/api/v1/bundles/0"),
        ("POST", "/graphql"),
        ("OPTIONS", "/graphql"),
        ("GET", "/graphql/"),
        ("POST", "/healthz"),
        ("GET", "/healthz/"),
        ("GET", "/staticfile"),
        ("POST", "/static/graphiql.js"),
        ("GET", "/api/v1/session"),
        ("DELETE", "/api/v1/session"),
        ("GET", "/anything"),
        ("GET", "//"),
    ):
        assert_unauthorized(await client.request(method, HOST + path))
    assert (await client.head("/sign-in")).status_code == 401


async def test_a_token_acts_for_its_organization(
    client: httpx.AsyncClient, acme: Tenant, rival: Tenant, bearer: str, pool: Pool
) -> None:
    expected = {"role": "viewer", "email": None, "organization": str(acme.organization_id)}
    for header in (bearer, bearer.replace("Bearer", "bearer"), bearer.replace(" ", "  ")):
        assert (await client.get("/api/v1/x", headers={"Authorization": header})).json() == expected
    assert (await client.post("/graphql", headers={"Authorization": bearer})).json() == expected
    identity = await identify_authorization(Identities(pool, Changes()), bearer)
    assert identity is not None
    assert identity.organization_id == acme.organization_id != rival.organization_id


async def test_a_wrong_authorization_header_is_refused_even_beside_a_good_cookie(
    client: httpx.AsyncClient, acme: Tenant, bearer: str, cookie: str
) -> None:
    revoked, secret = await accounts.create_token(acme, "old", "owner", DAY)
    await accounts.revoke_token(acme, revoked.id)
    session_secret = cookie.partition(".")[2]
    for header in (
        "",
        "Bearer",
        "Bearer ",
        "Basic YWRhOmFkYQ==",
        f"Bearer {secret}",
        f"Bearer {session_secret}",
        f"Bearer agentforge_{session_secret}",
        f"{bearer}x",
        f"{bearer}, {bearer}",
        bearer.replace("Bearer", "Token"),
        "Bearer agentforge_" + "é" * 43,
        "Bearer agentforge_" + "\x00" * 43,
        "Bearer " + "x" * 8000,
    ):
        raw = [(b"Authorization", header.encode("latin-1")), (b"Cookie", cookie.encode())]
        assert_unauthorized(await client.get("/api/v1/x", headers=raw))
    twice = [("Authorization", bearer), ("Authorization", bearer)]
    assert_unauthorized(await client.get("/api/v1/x", headers=twice))


async def test_a_cookie_signs_a_person_in_and_anything_else_in_it_does_not(
    client: httpx.AsyncClient,
    acme: Tenant,
    bearer: str,
    cookie: str,
    administrator: "asyncpg.Connection[asyncpg.Record]",
) -> None:
    signed_in = await client.get("/api/v1/x", headers={"Cookie": f"other=1; {cookie}"})
    assert signed_in.json() == {"role": "member", "email": ADA, "organization": str(acme.organization_id)}
    token = bearer.removeprefix("Bearer ")
    for value in ("", "x", token, f"{uuid4().hex}.{token[-43:]}", cookie.partition(".")[2], "é" * 43):
        raw = [(b"Cookie", f"{COOKIE}={value}".encode("latin-1"))]
        assert_unauthorized(await client.get("/api/v1/x", headers=raw))
    await administrator.execute("update sessions set expires_at = now()")
    assert_unauthorized(await client.get("/api/v1/x", headers={"Cookie": cookie}))


@pytest.mark.parametrize("public_url", [None, "https://forge.example.com"])
async def test_no_other_site_can_use_the_cookie(pool: Pool, cookie: str, public_url: str | None) -> None:
    own = "https://forge.example.com"
    allowed: list[dict[str, str]] = [
        {"Sec-Fetch-Site": "same-origin"},
        {"Sec-Fetch-Site": "none"},
        {"Origin": HOST},
        {"X-AgentForge": "1"},
        {"Content-Type": "application/json; charset=utf-8"},
    ]
    refused: list[dict[str, str]] = [
        {},
        {"Content-Type": "text/plain"},
        {"Content-Type": "application/x-www-form-urlencoded"},
        {"Sec-Fetch-Site": "cross-site", "X-AgentForge": "1"},
        {"Sec-Fetch-Site": "same-site", "Origin": HOST},
        {"Origin": "http://evil.test", "Content-Type": "application/json"},
        {"Origin": f"{HOST}:8001"},
        {"Origin": "null", "X-AgentForge": "1"},
        {"Origin": "http://["},
        {"Origin": ""},
    ]
    (allowed if public_url else refused).append({"Origin": own})
    async with client_of(application(pool, Settings(public_url=public_url))) as client:
        for headers in allowed:
            response = await client.post("/graphql", headers={"Cookie": cookie, **headers})
            assert response.status_code == 200, headers
        for headers in refused:
            assert_problem(await client.post("/graphql", headers={"Cookie": cookie, **headers}), 403)
        cross_site_link = {"Cookie": cookie, "Sec-Fetch-Site": "cross-site"}
        assert (await client.get("/api/v1/x", headers=cross_site_link)).status_code == 200


async def test_websockets_take_a_token_or_a_cookie_of_our_own_page(pool: Pool, bearer: str, cookie: str) -> None:
    async with served(application(pool)) as host:

        async def role(path: str = "/graphql", **headers: str) -> str | int:
            named = {name.capitalize(): value for name, value in headers.items()}
            try:
                async with connect(f"ws://{host}{path}", additional_headers=named, proxy=None) as websocket:
                    return str(await websocket.recv())
            except InvalidStatus as refused:
                return refused.response.status_code

        own = f"http://{host}"
        assert await role(authorization=bearer) == '"viewer"'
        assert await role(authorization=bearer, origin="http://evil.test") == '"viewer"'
        assert await role(cookie=cookie, origin=own) == '"member"'
        assert await role() == "null", "connection_init may bring a token"
        assert await role(cookie=f"{COOKIE}=old", origin="http://evil.test") == "null"
        assert await role(cookie=cookie, origin="http://evil.test") == 403
        assert await role(cookie=cookie) == 403
        assert await role(authorization="Bearer wrong", cookie=cookie, origin=own) == 401
        assert await role("/other") == 401
        assert await role("/", origin=own) == 401
