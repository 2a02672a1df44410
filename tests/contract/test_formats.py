"""Formats of exports over HTTP, of attempts that a worker recorded; and who took them, in the graph."""

import json
from typing import Any

import pytest
from atif import Trajectory

from tests.service import Client, Service

AUDITS = """query($after: String) { viewer { organization { exportAudits(first: 50, after: $after) { edges { node {
  actor isToken actorRole kind format filters { name value } outcome endedAt lines bytes } } } } } }"""


@pytest.fixture
def client(service: Service) -> Client:
    return service.client


def exported(client: Client, **parameters: str) -> tuple[list[Any], Any]:
    """The lines and the manifest."""
    answer = client.get("/api/v1/rollouts", params=parameters | {"manifest": "true"})
    assert answer.status_code == 200, answer.text
    *lines, manifest = [json.loads(line) for line in answer.content.splitlines()]
    assert manifest["rollouts"] == len(lines)
    return lines, manifest["skipped"]


def calls(line: dict[str, Any]) -> list[tuple[str, Any, str]]:
    """Tool, arguments and observation of each call of a tool in a line of the default format."""
    steps = [step for step in line["trajectory"] if step["tool"] != "mcp"]
    return [(step["tool"], json.loads(step["command"]), step["observation"]) for step in steps]


def test_every_attempt_is_a_valid_document(client: Client) -> None:
    plain, _ = exported(client)
    lines, skipped = exported(client, format="atif")
    assert skipped == {}
    for line, recorded in zip(lines, plain, strict=True):
        document = Trajectory.model_validate(line["trajectory"])
        assert document.trajectory_id == line["rolloutId"] == recorded["rolloutId"]
        assert document.session_id == line["evaluationRunId"]
        turns = [step for step in document.steps[1:] if not (step.extra or {}).get("agentforge", {}).get("protocol")]
        found = [
            (call.function_name, call.arguments, result.content)
            for step in turns
            for call, result in zip(
                step.tool_calls or [], step.observation.results if step.observation else [], strict=True
            )
        ]
        assert found == calls(recorded)
        assert len(document.steps) == 1 + len(recorded["trajectory"])


def test_messages_hold_each_call_and_the_world_s_tools(client: Client) -> None:
    plain = {line["rolloutId"]: line for line in exported(client)[0]}
    lines, skipped = exported(client, format="openai-messages")
    assert len(lines) >= 5
    without = [line for line in plain.values() if not calls(line)]
    assert skipped == ({"no_tool_calls": len(without)} if without else {})
    assert len(lines) == len(plain) - len(without)
    for line in lines:
        asked, told = line["messages"][1::2], line["messages"][2::2]
        found = [
            (one["tool_calls"][0]["function"]["name"], one["tool_calls"][0]["function"]["arguments"], other["content"])
            for one, other in zip(asked, told, strict=True)
        ]
        assert found == calls(plain[line["rolloutId"]])
        listed = {tool["function"]["name"] for tool in line["tools"]}
        assert not listed or {name for name, *_ in found} <= listed
    assert any(line["tools"] for line in lines)


@pytest.mark.parametrize("pair", ["trajectory", "divergence"])
def test_pairs_are_those_of_the_default_format(client: Client, pair: str) -> None:
    known = {f"{line['preferred']}:{line['rejected']}" for line in exported(client, kind="preference")[0]}
    lines, skipped = exported(client, kind="preference", format="trl", pair=pair)
    assert len(lines) + sum(skipped.values()) == len(known) > 0
    assert {line["pairId"] for line in lines} <= known
    every, left_out = exported(client, kind="preference", format="trl", pair=pair, pairs="all")
    assert len(every) + sum(left_out.values()) > len(known)
    assert len({line["pairId"] for line in every}) == len(every)
    assert all(line["chosenReward"] > line["rejectedReward"] for line in every)


def test_owners_read_who_took_what(service: Service, tokens: dict[str, str]) -> None:
    viewer = Client(service.url, tokens["viewer"])
    content = viewer.get("/api/v1/rollouts", params={"kind": "failed", "format": "atif", "limit": "2"}).content
    found = service.client.graph(AUDITS)["viewer"]["organization"]["exportAudits"]["edges"]
    audit = next(edge["node"] for edge in found if edge["node"]["actorRole"] == "VIEWER")
    assert (audit["isToken"], audit["kind"], audit["format"]) == (True, "FAILED", "atif")
    assert (audit["outcome"], audit["lines"], audit["bytes"]) == ("COMPLETED", "2", str(len(content)))
    assert audit["filters"] == [{"name": "limit", "value": "2"}]
    assert audit["actor"]
