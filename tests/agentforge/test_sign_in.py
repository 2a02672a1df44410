"""Signing in with a password or a link, signing out, and what must not be told on the way."""

import asyncio
import logging

import asyncpg
import httpx
import pytest
from structlog.testing import capture_logs

from agentforge.settings import Settings
from agentforge.sign_in_limit import SignInLimit
from db.tenant import Pool, Tenant
from resolvers import accounts, members
from tests.agentforge.gate import (
    ADA,
    HOST,
    application,
    assert_problem,
    assert_unauthorized,
    client_of,
    served,
)

PASSWORD = "correct horse battery"
CREDENTIALS = {"email": ADA, "password": PASSWORD}


async def test_signing_in_with_a_password_and_out_again(
    client: httpx.AsyncClient, acme: Tenant, rival: Tenant, administrator: "asyncpg.Connection[asyncpg.Record]"
) -> None:
    await members.add_member(acme, ADA, "member", PASSWORD)
    await members.add_member(rival, ADA, "owner")
    signed_in = await client.post("/api/v1/session", json={**CREDENTIALS, "organization": "rival"})
    assert (signed_in.status_code, signed_in.content) == (204, b"")
    assert signed_in.headers["cache-control"] == "no-store"
    value, *attributes = signed_in.headers["set-cookie"].split("; ")
    assert set(attributes) == {"HttpOnly", "Max-Age=1209600", "Path=/", "SameSite=lax"}
    assert (await client.get("/api/v1/x")).json()["organization"] == str(rival.organization_id)

    signed_out = await client.delete("/api/v1/session", headers={"Sec-Fetch-Site": "same-origin"})
    assert signed_out.status_code == 204
    assert 'agentforge_session=""' in signed_out.headers["set-cookie"]
    assert await administrator.fetchval("select count(*) from sessions") == 0
    assert_unauthorized(await client.get("/api/v1/x", headers={"Cookie": value}))


async def test_a_token_cannot_be_signed_out(client: httpx.AsyncClient, bearer: str, cookie: str) -> None:
    headers = {"Authorization": bearer, "Cookie": cookie}
    assert_problem(await client.delete("/api/v1/session", headers=headers), 400)
    assert (await client.get("/api/v1/x", headers={"Cookie": cookie})).status_code == 200


async def test_the_cookie_is_secure_where_people_come_by_https(pool: Pool, acme: Tenant) -> None:
    await members.add_member(acme, ADA, "member", PASSWORD)
    behind_proxy = Settings(public_url="https://forge.example.com")
    for app, url in ((application(pool, behind_proxy), HOST), (application(pool), "https://forge.test")):
        async with client_of(app, url) as client:
            signed_in = await client.post("/api/v1/session", json=CREDENTIALS)
            assert "; Secure" in signed_in.headers["set-cookie"]


async def test_a_failed_sign_in_does_not_tell_why(client: httpx.AsyncClient, acme: Tenant, rival: Tenant) -> None:
    await members.add_member(acme, ADA, "member", PASSWORD)
    answers = set()
    for change in (
        {"password": "not the right one"},
        {"email": "nobody@example.com"},
        {"email": "nobody"},
        {"email": f"{ADA}\0"},
        {"organization": "rival"},
        {"organization": "unknown"},
    ):
        response = await client.post("/api/v1/session", json=CREDENTIALS | change)
        assert_unauthorized(response)
        assert "set-cookie" not in response.headers
        answers.add(response.content)
    assert len(answers) == 1


async def test_a_malformed_sign_in_is_refused_without_repeating_it(client: httpx.AsyncClient) -> None:
    json_type = {"Content-Type": "application/json"}
    for body in (
        b"",
        b"not json",
        b"[]",
        b'{"email": "ada@example.com"}',
        b'{"email": "ada@example.com", "password": 123456789012}',
        b'{"email": "ada@example.com", "password": "hunter2hunter2", "more": "hunter2hunter2"}',
        b'{"email": "\\ud800", "password": "hunter2hunter2"}',
        b'{"email": "\xff", "password": "hunter2hunter2"}',
    ):
        response = await client.post("/api/v1/session", content=body, headers=json_type)
        assert_problem(response, 400)
        assert b"hunter2" not in response.content
    form = await client.post("/api/v1/session", data=CREDENTIALS)
    assert_problem(form, 415)
    large = await client.post("/api/v1/session", json=CREDENTIALS | {"password": "x" * 20_000})
    assert_problem(large, 413)


async def test_a_link_signs_in_once(client: httpx.AsyncClient, link: str, bearer: str) -> None:
    looked_at = await client.head("/sign-in", params={"link": link}, headers={"Authorization": bearer})
    assert looked_at.status_code == 405
    followed = await client.get("/sign-in", params={"link": link})
    assert (followed.status_code, followed.headers["location"]) == (303, "/")
    assert followed.headers["referrer-policy"] == "no-referrer"
    assert followed.headers["cache-control"] == "no-store"
    assert "HttpOnly" in followed.headers["set-cookie"]
    assert (await client.get("/api/v1/x")).json()["email"] == ADA
    for query in ({"link": link}, {"link": ""}, {"link": "\0\ud800".encode("utf-8", "surrogatepass")}):
        again = await client.get("/sign-in", params=query)
        assert "agentforge sign-in-link" in assert_problem(again, 410)["detail"]
        assert again.headers["referrer-policy"] == "no-referrer"
        assert "set-cookie" not in again.headers
        shown = await client.get("/sign-in", params=query, headers={"Accept": "text/html"})
        assert (shown.status_code, shown.headers["content-type"]) == (410, "text/html; charset=utf-8")
        assert shown.headers["referrer-policy"] == "no-referrer"
    assert (await client.get("/sign-in")).status_code == 200


async def test_guessing_is_slowed_down_also_when_many_guess_at_once(client: httpx.AsyncClient, acme: Tenant) -> None:
    await members.add_member(acme, ADA, "member", PASSWORD)
    guesses = await asyncio.gather(
        *(client.post("/api/v1/session", json=CREDENTIALS | {"password": "x" * 12}) for _ in range(15))
    )
    assert sorted(guess.status_code for guess in guesses) == [401] * 10 + [429] * 5
    right = await client.post("/api/v1/session", json=CREDENTIALS | {"email": ADA.upper()})
    assert_problem(right, 429)
    assert 0 < int(right.headers["retry-after"]) <= 300
    other = await client.post("/api/v1/session", json=CREDENTIALS | {"email": "grace@example.com"})
    assert_unauthorized(other)


def test_the_limit_forgets_after_its_time_on_success_and_when_full() -> None:
    now = 0.0
    limit = SignInLimit(attempts=2, seconds=10, capacity=3, clock=lambda: now)
    assert [limit.start("a"), limit.start("A"), limit.start("a")] == [None, None, 10]
    now = 4.5
    assert limit.start("a") == 6
    now = 10.0
    assert limit.start("a") is None
    limit.succeeded("a")
    assert [limit.start("a"), limit.start("a"), limit.start("a")] == [None, None, 10]
    for number in range(100):
        assert limit.start(str(number)) is None
    assert len(limit) == 3


async def test_secrets_do_not_get_into_the_log(
    pool: Pool, bearer: str, cookie: str, acme: Tenant, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    membership = await members.add_member(acme, ADA, "member", PASSWORD)
    link = await accounts.create_sign_in_link(acme, membership.id)
    async with (
        served(application(pool)) as host,
        httpx.AsyncClient(base_url=f"http://{host}") as client,
    ):
        with capture_logs() as events:
            await client.head("/sign-in", params={"link": link})
            await client.get("/sign-in", params={"link": link})
            await client.post("/api/v1/session", json=CREDENTIALS)
            await client.get("/api/v1/x", headers={"Authorization": bearer})
            await client.get("/api/v1/x", headers={"Cookie": cookie})
    # The client of this test logs addresses too; the service does not.
    logged = "\n".join(record.getMessage() for record in caplog.records if not record.name.startswith("http"))
    requests = [(event["method"], event["path"], event["status"]) for event in events if event["event"] == "request"]
    for request in (("HEAD", "/sign-in", "401"), ("GET", "/sign-in", "303"), ("POST", "/api/v1/session", "204")):
        assert request in requests
    logged += str(events)
    for secret in (link, PASSWORD, bearer.removeprefix("Bearer "), cookie.partition(".")[2]):
        assert secret not in logged
