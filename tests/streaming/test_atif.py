"""Rollouts as documents of the Agent Trajectory Interchange Format."""

import json
from typing import Any

import pytest
from atif import Trajectory
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from db import configurations
from db.tenant import Tenant
from tests.factory import MANIFEST, Attempt, step
from tests.streaming.recorded import CUT, FUNCTIONS, attempt, leave_document, recorded, rollouts_of
from tests.streaming.web import Client, lines

URL = "/api/v1/rollouts"
ATIF = {"format": "atif"}


async def exported(client: Client, tenant: Tenant, **parameters: str) -> list[Any]:
    async with client(tenant) as web:
        response = await web.get(URL, params=ATIF | parameters)
    assert response.status_code == 200
    return lines(response.content)


async def test_a_line_is_exactly_this(acme: Tenant, client: Client) -> None:
    calls = [("order", '{"sku": "é\\n", "count": 1.10}', "done"), ("look", "{}", CUT)]
    (key,) = await rollouts_of(acme, attempt(0.15, *calls))
    (configuration,) = await acme.fetch(configurations.PAGE, None, 1)
    (line,) = await exported(client, acme)
    (plain,) = await exported(client, acme, format="atif-shaped")
    assert list(line) == list(plain)
    assert {name: line[name] for name in line if name not in ("format", "trajectory")} == {
        name: plain[name] for name in plain if name not in ("format", "trajectory")
    }
    assert line["format"] == "atif"

    def turn(number: int, tool: str, arguments: Any, observation: str, **known: bool) -> dict[str, Any]:
        extra = {"extra": {"agentforge": known}} if known else {}
        name = f"step-{number - 1}"
        return {
            "step_id": number,
            "source": "agent",
            "message": "",
            "tool_calls": [{"tool_call_id": name, "function_name": tool, "arguments": arguments}],
            "observation": {"results": [{"source_call_id": name, "content": observation}]},
            **extra,
        }

    asked = plain["trajectory"]
    assert line["trajectory"] == {
        "schema_version": "ATIF-v1.7",
        "session_id": line["evaluationRunId"],
        "trajectory_id": key,
        "agent": {"name": "scripted", "version": str(configuration.id), "tool_definitions": FUNCTIONS},
        "steps": [
            {"step_id": 1, "source": "user", "message": MANIFEST["task"]},
            turn(2, "mcp", {"command": "initialize"}, asked[0]["observation"], protocol=True),
            turn(3, "mcp", {"command": "tools/list"}, asked[1]["observation"], protocol=True),
            turn(4, "order", {"sku": "é\n", "count": 1.1}, "done"),
            turn(5, "look", {}, CUT, truncated=True),
        ],
        "extra": {
            "agentforge": {
                "environmentVersionId": line["trajectory"]["extra"]["agentforge"]["environmentVersionId"],
                "attempt": 1,
                "execution": 1,
            }
        },
    }
    Trajectory.model_validate(line["trajectory"])


async def test_what_the_agent_left_goes_out_as_it_wrote_it(acme: Tenant, client: Client) -> None:
    own = (
        '{"schema_version": "ATIF-v1.6",\n "session_id":"\u2028 é",\r\n"agent":{"name":"a","version":"1","extra":'
        '{"n":1.10,"big":123456789012345678901234567890,"twice":1,"twice":2}},'
        '"steps":[{"step_id":1,"source":"user","message":"\\ud800\\u0000"}]}'
    )
    key = await leave_document(acme, own.encode())
    await leave_document(acme, own.encode(), valid=False)
    await leave_document(acme, b"not json", valid=False, is_json=False)
    async with client(acme) as web:
        *others, text = (await web.get(URL, params=ATIF)).content.decode().split("\n")[:-1]
    on_one_line = own.replace("\n", " ").replace("\r", " ")
    assert text.endswith(f'"trajectory":{on_one_line}}}')
    assert json.loads(text)["rolloutId"] == key
    for other in others:
        assert json.loads(other)["trajectory"]["schema_version"] == "ATIF-v1.7"
        Trajectory.model_validate(json.loads(other)["trajectory"])


async def test_without_steps_there_is_the_task_alone(acme: Tenant, client: Client) -> None:
    await rollouts_of(acme, Attempt(None, "errored"))
    (line,) = await exported(client, acme)
    assert [one["message"] for one in line["trajectory"]["steps"]] == [MANIFEST["task"]]
    assert line["format"] == "atif"
    Trajectory.model_validate(line["trajectory"])


async def test_what_a_document_cannot_hold_is_left_out_and_counted(acme: Tenant, client: Client) -> None:
    (kept,) = await rollouts_of(acme, attempt(0.0, ("order", "{}", "done"), listed="[cut]"))
    for command in ("[1]", '{"a":1', "null", '{"a":NaN}', '{"a":' * 5000 + "1" + "}" * 5000, CUT):
        await rollouts_of(acme, attempt(0.5, ("order", command, "done")))
    await rollouts_of(acme, Attempt(0.5, steps=[{**step(1), "observation": 12}]))
    await rollouts_of(acme, Attempt(0.5, steps=[{"step": 1}]))
    *whole, manifest = await exported(client, acme, manifest="true")
    assert [line["rolloutId"] for line in whole] == [kept]
    assert "tool_definitions" not in whole[0]["trajectory"]["agent"]
    assert manifest["rollouts"] == 1
    assert manifest["skipped"] == {"arguments_not_an_object": 6, "step_not_text": 2}
    async with client(acme) as web:
        refused = await web.get(URL, params=ATIF | {"strict": "true"})
        assert (refused.status_code, refused.json()["field"]) == (400, ["strict"])
        assert (await web.get(URL, params=ATIF | {"strict": "true", "kind": "successful"})).status_code == 200
        head = await web.head(URL, params=ATIF)
        assert (head.status_code, "x-rollout-count" in head.headers) == (200, False)


async def test_a_trajectory_of_30_000_steps(acme: Tenant, client: Client) -> None:
    calls = [("order", json.dumps({"number": number}), f"done {number}") for number in range(30_000)]
    await rollouts_of(acme, attempt(1.0, *calls))
    (line,) = await exported(client, acme)
    found = line["trajectory"]["steps"][3:]
    assert [one["tool_calls"][0]["arguments"]["number"] for one in found] == list(range(30_000))
    assert [one["observation"]["results"][0]["content"] for one in found] == [call[2] for call in calls]
    assert len({one["tool_calls"][0]["tool_call_id"] for one in found}) == 30_000


characters = st.text(st.characters(categories=None), max_size=8)
numbers = st.integers(-(2**200), 2**200) | st.floats(allow_nan=False, allow_infinity=False)
values = st.recursive(
    st.none() | st.booleans() | numbers | characters,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(characters, inner, max_size=3),
    max_leaves=5,
)
calls_made = st.lists(st.tuples(characters, st.dictionaries(characters, values, max_size=3), characters), max_size=4)
KNOWN = [("tool\0", {"\ud800": [2**70, 0.1, -0.0, 5e-324]}, "\udfff\u2028\0\x1b[31m"), ("mcp", {"a": 1}, "")]


@given(calls=calls_made, is_ascii=st.booleans())
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@pytest.mark.parametrize("format_", ["atif", "openai-messages"])
async def test_every_text_and_number_comes_out_equal(
    acme: Tenant, client: Client, format_: str, calls: list[Any], is_ascii: bool
) -> None:
    # What is no valid UTF-8 cannot be sent unescaped, so nobody can have stored it so.
    made = [
        (tool, json.dumps(arguments, ensure_ascii=is_ascii or _is_broken(arguments), indent=1), observation)
        for tool, arguments, observation in [*KNOWN, *calls]
    ]
    await rollouts_of(acme, Attempt(0.5, steps=recorded(*made)))
    (line,) = await exported(client, acme, format=format_, limit="1")
    if format_ == "atif":
        Trajectory.model_validate(line["trajectory"])
        turns = line["trajectory"]["steps"][3:]
        found = [
            (one["tool_calls"][0]["function_name"], one["tool_calls"][0]["arguments"], result["content"])
            for one in turns
            for result in one["observation"]["results"]
        ]
    else:
        _, *messages = line["messages"]
        found = [
            (
                asked["tool_calls"][0]["function"]["name"],
                asked["tool_calls"][0]["function"]["arguments"],
                told["content"],
            )
            for asked, told in zip(messages[::2], messages[1::2], strict=True)
        ]
    # As text, which tells 1 from 1.0 and keeps the order of keys; neighbouring surrogates read as their character.
    expected = [(_read(tool), json.loads(command), _read(observation)) for tool, command, observation in made]
    assert json.dumps(found) == json.dumps(expected)


def _read(text: str) -> Any:
    return json.loads(json.dumps(text))


def _is_broken(value: Any) -> bool:
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return True
    return False


async def test_harbor_s_own_validator_takes_every_line(acme: Tenant, client: Client) -> None:
    """`just trainers` installs it."""
    validator = pytest.importorskip("harbor.utils.trajectory_validator", reason="harbor is not installed")
    await rollouts_of(acme, attempt(0.5, *[(one, json.dumps(two), three) for one, two, three in KNOWN]))
    await rollouts_of(acme, Attempt(None, "errored"), attempt(1.0, ("order", "{}", CUT)), task="\u2028")
    found = await exported(client, acme)
    assert len(found) == 3
    for line in found:
        checking = validator.TrajectoryValidator()
        assert checking.validate(line["trajectory"]), checking.get_errors()
