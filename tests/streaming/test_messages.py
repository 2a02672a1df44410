"""Rollouts as messages with calls of tools."""

from typing import Any

import httpx
import pytest

from db.tenant import Tenant
from tests.factory import MANIFEST, Attempt
from tests.streaming.recorded import CUT, FUNCTIONS, attempt, recorded, rollouts_of
from tests.streaming.test_audit import the_ended
from tests.streaming.test_transfer import read
from tests.streaming.web import Client, application, lines, serve

URL = "/api/v1/rollouts"
MESSAGES = {"format": "openai-messages"}
TASK = {"role": "user", "content": MANIFEST["task"]}


def turn(number: int, tool: str, arguments: Any, observation: str) -> list[dict[str, Any]]:
    key = f"call{number:05}"
    function = {"name": tool, "arguments": arguments}
    return [
        {"role": "assistant", "content": "", "tool_calls": [{"id": key, "type": "function", "function": function}]},
        {"role": "tool", "tool_call_id": key, "name": tool, "content": observation},
    ]


async def test_a_line_is_exactly_this(acme: Tenant, client: Client) -> None:
    made = attempt(0.15, ("order", '{"sku":"é"}', "done"), ("mcp", "resources/list", "{}"), ("look", "{}", CUT))
    await rollouts_of(acme, made)
    async with client(acme) as web:
        response = await web.get(URL, params=MESSAGES)
        (plain,) = lines((await web.get(URL)).content)
    assert response.headers["content-disposition"].endswith('"agentforge-rollouts-all-openai-messages.jsonl"')
    (line,) = lines(response.content)
    version = line.pop("environmentVersionId")
    assert line == {
        **{name: plain[name] for name in ("schemaVersion", "privacyClass", "rolloutId", "seed", "reward")},
        "format": "openai-messages",
        "evaluationRunId": plain["evaluationRunId"],
        "messages": [TASK, *turn(1, "order", {"sku": "é"}, "done"), *turn(2, "look", {}, CUT)],
        "tools": FUNCTIONS,
        "protocolSteps": [1, 2, 4],
        "truncatedSteps": [5],
    }
    async with client(acme) as web:
        of_version = await web.get(URL, params=MESSAGES | {"environmentVersionId": version})
    assert of_version.content == response.content


CALL = ("order", "{}", "done")


@pytest.mark.parametrize(
    ("made", "reason"),
    [
        (Attempt(1.0), "no_tool_calls"),
        (Attempt(1.0, steps=recorded()), "no_tool_calls"),
        (Attempt(1.0, steps=recorded(("order", "[]", "done"))), "arguments_not_an_object"),
        (Attempt(1.0, steps=recorded(CALL, listed='{"tools":[{"name":"a"' + CUT)), "tools_unreadable"),
        (Attempt(1.0, steps=recorded(CALL, listed='{"tools":[{"name":"a"}]}')), "tools_unreadable"),
        (
            Attempt(1.0, steps=recorded(CALL, listed='{"tools":[{"name":"a","inputSchema":{"m":1e999}}]}')),
            "tools_unreadable",
        ),
    ],
)
async def test_what_is_left_out(acme: Tenant, client: Client, made: Attempt, reason: str) -> None:
    await rollouts_of(acme, made)
    (kept,) = await rollouts_of(acme, attempt(1.0, CALL))
    async with client(acme) as web:
        line, manifest = lines((await web.get(URL, params=MESSAGES | {"manifest": "true"})).content)
        refused = await web.get(URL, params=MESSAGES | {"strict": "true"})
        assert (refused.status_code, refused.json()["field"]) == (400, ["strict"])
        head = await web.head(URL, params=MESSAGES)
    assert line["rolloutId"] == kept
    assert (manifest["rollouts"], manifest["skipped"]) == (1, {reason: 1})
    assert "x-rollout-count" not in head.headers


@pytest.mark.parametrize("listed", ["", '{"code":-32601,"message":"no such method"}', '{"tools":[]}'])
async def test_a_world_that_lists_no_tools(acme: Tenant, client: Client, listed: str) -> None:
    await rollouts_of(acme, attempt(1.0, CALL, listed=listed))
    async with client(acme) as web:
        (line,) = lines((await web.get(URL, params=MESSAGES)).content)
    assert line["tools"] == []


async def test_tools_of_several_answers(acme: Tenant, client: Client) -> None:
    page = '{"tools":[{"name":"look","description":"Looks.","inputSchema":{"const":9007199254740993}}]}'
    await rollouts_of(acme, attempt(1.0, ("mcp", "tools/list", page), CALL))
    async with client(acme) as web:
        (line,) = lines((await web.get(URL, params=MESSAGES)).content)
    schema = {"const": 2**53 + 1}
    again = {"type": "function", "function": {"name": "look", "description": "Looks.", "parameters": schema}}
    assert line["tools"] == [FUNCTIONS[0], again]


async def test_a_strict_export_that_finds_out_late_is_broken_off(acme: Tenant) -> None:
    await rollouts_of(acme, attempt(0.5, ("order", "[]", "done")))
    for _ in range(4):
        await rollouts_of(acme, *[attempt(0.5, ("order", "{}", "x" * 20_000))] * 8)
    got = bytearray()
    async with (
        serve(application(acme)) as (host, port),
        httpx.AsyncClient(base_url=f"http://{host}:{port}") as web,
        web.stream("GET", URL, params=MESSAGES | {"strict": "true"}) as response,
    ):
        assert response.status_code == 200
        with pytest.raises(httpx.RemoteProtocolError, match="incomplete"):
            await read(response.aiter_bytes(), got)
    assert 0 < got.count(b"\n") <= 32
    audit = await the_ended(acme)
    assert (audit.outcome, audit.format) == ("refused", "openai-messages")
    assert audit.lines >= got.count(b"\n")
    assert audit.bytes >= len(got)


async def test_a_strict_export_that_is_refused_beforehand(acme: Tenant, client: Client, statements: list[str]) -> None:
    await rollouts_of(acme, Attempt(1.0), Attempt(1.0), Attempt(0.0), attempt(1.0, CALL))
    statements.clear()
    async with client(acme) as web:
        refused = await web.get(URL, params=MESSAGES | {"strict": "true", "kind": "successful"})
    assert refused.json()["detail"] == "format=openai-messages cannot carry 2 of these rollouts, which have no steps."
    audit = await the_ended(acme)
    assert (audit.outcome, audit.lines, audit.bytes) == ("refused", 0, 0)
    assert "exports.recorded" not in statements
