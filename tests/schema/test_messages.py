"""What comes in over the wire and is no request, too large, or too much at a time."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

import httpx
import pytest
from structlog.testing import capture_logs
from websockets.exceptions import ConnectionClosed

from db.changes import Changes
from db.embedded import DatabaseUrls
from db.tenant import Tenant
from schema.limits import MOST_BYTES, MOST_OPERATIONS
from tests.schema.serving import EVENTS, SECONDS, Service, served

TRIALS = "subscription { evaluationTrialFinished { id } }"


@pytest.fixture
async def service(acme: Tenant) -> AsyncIterator[Service]:
    async with served(acme) as service:
        yield service


def query(text: str, **others: Any) -> bytes:
    return json.dumps({"query": text, **others}).encode()


REFUSED = {
    "a batch": (b'[{"query": "{ viewer { id } }"}, {"query": "{ viewer { id } }"}]', "Batching is not supported"),
    "an empty batch": (b"[]", "Batching is not supported"),
    "NaN": (b'{"query": "{ viewer { id } }", "variables": {"a": NaN}}', "it is no JSON object"),
    "infinity": (b'{"query": "{ viewer { id } }", "variables": {"a": [-Infinity]}}', "it is no JSON object"),
    "not UTF-8": (b'{"query": "\xff"}', "it is no JSON object"),
    "half a character": (b'{"query": "\xe2\x82"}', "it is no JSON object"),
    "nothing": (b"", "it is no JSON object"),
    "text": (b'"{ viewer { id } }"', "it is no JSON object"),
    "nested without end": (
        b'{"query": "{ viewer { id } }", "variables": {"a": ' + b"[" * 100_000 + b"]" * 100_000 + b"}}",
        "values may be nested at most 16 levels deep",
    ),
    "objects without end": (
        b'{"query": "{ viewer { id } }", "variables": ' + b'{"a":' * 100_000 + b"1" + b"}" * 100_000 + b"}",
        "values may be nested at most 16 levels deep",
    ),
}


async def test_what_is_no_request_is_refused_in_clear_words(service: Service, subtests: pytest.Subtests) -> None:
    for headers in ({}, EVENTS):
        for why, (body, words) in REFUSED.items():
            with subtests.test(why):
                given = {"Content-Type": "application/json"} | headers
                response = await service.post(content=body, headers=given)
                assert response.status_code == 400
                assert response.headers["content-type"] == "application/problem+json"
                assert words in response.json()["detail"]


async def test_half_a_character_is_repeated_as_json_can(service: Service) -> None:
    response = await service.post(json={"query": "{ viewer { id } }", "operationName": "\ud800"})
    assert response.status_code == 400
    assert "\ud800" in response.json()["detail"]


async def test_of_a_key_given_twice_the_last_counts_on_both_paths(service: Service) -> None:
    for text, answer in (("{ environments { totalCount } }", {"totalCount": 0}), ("{ viewer { role } }", None)):
        body = b'{"query": "{ nope }", "query": %b}' % json.dumps(text).encode()
        data = (await service.post(content=body, headers={"Content-Type": "application/json"})).json()["data"]
        assert data == ({"environments": answer} if answer else {"viewer": {"role": "MEMBER"}})


@pytest.mark.parametrize("announced", [True, False])
async def test_a_body_that_is_too_large_is_refused_before_it_has_come(service: Service, announced: bool) -> None:
    async def chunks() -> AsyncIterator[bytes]:
        for _ in range(160):
            yield b" " * 65_536
            await asyncio.sleep(0)

    length = {"Content-Length": str(160 * 65_536)} if announced else {}
    headers = service.headers | length | {"Content-Type": "application/json"}
    async with (
        httpx.AsyncClient(timeout=SECONDS) as client,
        client.stream("POST", service.url, content=chunks(), headers=headers) as response,
    ):
        assert response.status_code == 413
        assert json.loads(await response.aread())["detail"] == f"The body may take at most {MOST_BYTES:,} bytes."


async def test_a_long_document_within_the_limit_is_answered(service: Service) -> None:
    text = "{ environments { totalCount } } #"
    body = query(text + " " * (MOST_BYTES - len(query(text))))
    assert len(body) == MOST_BYTES
    response = await service.post(content=body, headers={"Content-Type": "application/json"})
    assert response.json() == {"data": {"environments": {"totalCount": 0}}}


async def test_a_message_that_is_too_large_closes_the_socket(service: Service) -> None:
    async with service.socket() as socket:
        with suppress(ConnectionClosed):
            await socket.send(json.dumps({"type": "ping", "payload": {"text": "x" * MOST_BYTES}}))
        await asyncio.wait_for(socket.wait_closed(), SECONDS)
        assert socket.close_code == 1009


MESSAGES: list[Any] = [
    [],
    5,
    None,
    {},
    {"type": 5},
    {"type": "unknown"},
    {"type": "subscribe"},
    {"type": "subscribe", "id": 5, "payload": {"query": "{ viewer { id } }"}},
    {"type": "subscribe", "id": [], "payload": {"query": "{ viewer { id } }"}},
    {"type": "subscribe", "id": "1", "payload": []},
    {"type": "subscribe", "id": "1", "payload": {"query": 5}},
    {"type": "subscribe", "id": "1", "payload": {"query": None}},
    {"type": "subscribe", "id": "1", "payload": {"query": "{ viewer { id } }", "variables": []}},
    {"type": "subscribe", "id": "1", "payload": {"query": "{ viewer { id } }", "operationName": 5}},
    {"type": "complete", "id": {}},
    {"type": "subscribe", "id": "1", "payload": {"query": "{ " + "é" * 1000}},
]


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: json.dumps(message)[:60])
async def test_a_message_that_is_none_closes_the_socket(service: Service, message: Any) -> None:
    async with service.socket() as socket:
        await socket.send(json.dumps(message))
        with pytest.raises(ConnectionClosed):
            await asyncio.wait_for(socket.recv(), SECONDS)
        assert socket.close_code == 4400


@pytest.mark.parametrize("text", ["[" * 100_000, "NaN", "\0", "{"], ids=["deep", "NaN", "NUL", "cut"])
async def test_a_message_that_is_no_json_closes_the_socket(service: Service, text: str) -> None:
    async with service.socket() as socket:
        await socket.send(text)
        with pytest.raises(ConnectionClosed):
            await asyncio.wait_for(socket.recv(), SECONDS)
        assert socket.close_code == 4400


async def test_bytes_close_the_socket(service: Service) -> None:
    async with service.socket() as socket:
        await socket.send(b'{"type": "ping"}')
        await asyncio.wait_for(socket.wait_closed(), SECONDS)
        assert socket.close_code == 4400


async def test_text_that_is_no_utf_8_closes_the_socket(service: Service) -> None:
    async with service.socket() as socket:
        await socket.send(b'{"type": "\xff"}', text=True)
        await asyncio.wait_for(socket.wait_closed(), SECONDS)
        assert socket.close_code == 1007


async def test_operations_of_a_connection_are_counted(acme: Tenant, database: DatabaseUrls) -> None:
    changes = Changes()
    with capture_logs() as logs:
        async with served(acme, changes) as service, service.socket() as socket:
            for number in range(MOST_OPERATIONS + 1):
                await socket.send(json.dumps({"type": "subscribe", "id": str(number), "payload": {"query": TRIALS}}))
            refused = json.loads(await asyncio.wait_for(socket.recv(), SECONDS))
            words = "This is operation 51 under way on the connection; at most 50 are allowed."
            assert (refused["type"], refused["id"]) == ("error", str(MOST_OPERATIONS))
            (error,) = refused["payload"]
            numbers = {"limit": "operations", "found": MOST_OPERATIONS + 1, "allowed": MOST_OPERATIONS}
            assert error == {"message": words, "extensions": {"code": "LIMIT_EXCEEDED", **numbers}}
            # One ends, and another may begin.
            await socket.send(json.dumps({"type": "complete", "id": "0"}))
            await socket.send(json.dumps({"type": "subscribe", "id": "next", "payload": {"query": "{ __typename }"}}))
            answer = json.loads(await asyncio.wait_for(socket.recv(), SECONDS))
            assert answer == {"id": "next", "type": "next", "payload": {"data": {"__typename": "Query"}}}
    assert not [entry for entry in logs if entry["log_level"] == "error"]
    assert not changes.subscriptions
