"""Runs as they change: over graphql-transport-ws with a client that is not ours, and as server-sent events."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.typing import Subprotocol

from tests.contract.conftest import Practice
from tests.contract.documents import RUN, RUN_BY_ID, START, UNKNOWN_ID, ended_run, made
from tests.service import Client, Service, eventually, metrics_of

PROTOCOL = Subprotocol("graphql-transport-ws")
SECONDS = 60

RUN_UPDATED = "subscription($id: ID!) { evaluationRunUpdated(id: $id) { " + RUN + " } }"
TRIAL_FINISHED = """subscription($version: ID) { evaluationTrialFinished(environmentVersionId: $version) {
  id attempt status reward run { id } } }"""


@asynccontextmanager
async def connection(url: str, **headers: str) -> AsyncIterator[ClientConnection]:
    address = url.replace("http", "ws", 1) + "/graphql"
    async with connect(address, subprotocols=[PROTOCOL], additional_headers=headers) as socket:
        assert socket.subprotocol == PROTOCOL
        yield socket


async def receive(socket: ClientConnection) -> Any:
    text = await asyncio.wait_for(socket.recv(), SECONDS)
    assert isinstance(text, str), "the protocol is text; browsers could not read bytes"
    return json.loads(text)


async def send(socket: ClientConnection, **message: object) -> None:
    await socket.send(json.dumps(message))


@asynccontextmanager
async def signed_in(client: Client) -> AsyncIterator[ClientConnection]:
    """A connection whose first message says who it is, as browsers must do it: they can set no header."""
    async with connection(client.url) as socket:
        await send(socket, type="connection_init", payload={"Authorization": f"Bearer {client.token}"})
        assert (await receive(socket))["type"] == "connection_ack"
        yield socket


async def subscribe(socket: ClientConnection, name: str, query: str, **variables: object) -> None:
    await send(socket, type="subscribe", id=name, payload={"query": query, "variables": variables})


async def until_complete(socket: ClientConnection, name: str) -> list[Any]:
    """The results of one operation until it says that it is complete."""
    results = []
    while (message := await receive(socket))["type"] != "complete":
        assert (message["type"], message["id"]) == ("next", name)
        assert "errors" not in message["payload"], message
        results.append(message["payload"]["data"])
    assert message["id"] == name
    return results


async def closed(socket: ClientConnection) -> int:
    with pytest.raises(ConnectionClosed) as raised:
        await receive(socket)
    assert raised.value.rcvd is not None
    return raised.value.rcvd.code


def waiting_agent(gate: Path) -> tuple[str, ...]:
    """An agent that ends once a file is there, so that nothing finishes before its watchers listen."""
    script = "import pathlib, sys, time\nwhile not pathlib.Path(sys.argv[1]).exists(): time.sleep(0.02)"
    return ("{python}", "-c", script, str(gate))


def check_updates(updates: list[Any]) -> None:
    """The run from its beginning to its end, each state a step onward from the one before."""
    order = ["QUEUED", "RUNNING", "COMPLETED"]
    runs = [order.index(run["status"]) for run in updates]
    assert runs == sorted(runs)
    assert runs.index(order.index("COMPLETED")) == len(runs) - 1, "it ends with the run"
    for attempt in range(updates[0]["attemptCount"]):
        trials = [order.index(run["trials"][attempt]["status"]) for run in updates]
        assert trials == sorted(trials)
        assert 1 in trials, "no attempt is seen running"
    assert updates[0]["passAtK"] == []
    assert len(updates[-1]["passAtK"]) == updates[-1]["attemptCount"]


async def test_a_run_is_heard_until_it_is_complete(own: Practice, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    configuration = own.configure(2, *waiting_agent(gate))
    async with signed_in(own.client) as socket:
        run_id = made(own.client, START, version=own.version, configuration=configuration)
        await subscribe(socket, "run", RUN_UPDATED, id=run_id)
        first = await receive(socket)
        gate.touch()
        updates = [first["payload"]["data"], *await until_complete(socket, "run")]
        check_updates([update["evaluationRunUpdated"] for update in updates])
        assert updates[-1]["evaluationRunUpdated"] == own.client.graph(RUN_BY_ID, id=run_id)["evaluationRun"]
        await subscribe(socket, "again", RUN_UPDATED, id=run_id)
        assert await until_complete(socket, "again") == [updates[-1]], "of a run that has ended: once, as it is"


async def test_finished_trials_are_heard_by_their_organization_alone(
    own: Practice, foreign: Practice, tmp_path: Path
) -> None:
    gates = tmp_path / "own", tmp_path / "foreign"
    async with signed_in(own.client) as mine, signed_in(foreign.client) as theirs:
        await subscribe(mine, "all", TRIAL_FINISHED)
        await subscribe(theirs, "all", TRIAL_FINISHED)
        await subscribe(theirs, "of a version that is not theirs", TRIAL_FINISHED, version=own.version)
        run_id = made(own.client, START, version=own.version, configuration=own.configure(2, *waiting_agent(gates[0])))
        gates[0].touch()
        heard = [(await receive(mine))["payload"]["data"]["evaluationTrialFinished"] for _ in range(2)]
        trials = ended_run(own.client, run_id)["trials"]
        assert {trial["id"] for trial in heard} == {trial["id"] for trial in trials}
        assert {trial["run"]["id"] for trial in heard} == {run_id}
        configuration = foreign.configure(1, *waiting_agent(gates[1]))
        their_run = made(foreign.client, START, version=foreign.version, configuration=configuration)
        gates[1].touch()
        # Had they heard the first run, its trials would come before their own.
        message = await receive(theirs)
        assert (message["id"], message["payload"]["data"]["evaluationTrialFinished"]["run"]["id"]) == ("all", their_run)


async def test_only_those_who_are_signed_in_are_let_in(service: Service) -> None:
    bearer = f"Bearer {service.token}"
    for payload in (
        None,
        {},
        {"Authorization": "Bearer wrong"},
        {"Authorization": service.token},
        {"Authorization": 1},
    ):
        async with connection(service.url) as socket:
            await send(socket, type="connection_init", **({} if payload is None else {"payload": payload}))
            assert await closed(socket) == 4403
    async with connection(service.url) as socket:
        await subscribe(socket, "early", TRIAL_FINISHED)
        assert await closed(socket) == 4401
    async with connection(service.url, Authorization=bearer) as socket:
        await send(socket, type="connection_init")
        assert (await receive(socket))["type"] == "connection_ack"
        await send(socket, type="ping")
        assert (await receive(socket))["type"] == "pong"
        await subscribe(socket, "viewer", "{ viewer { role } }")
        assert await until_complete(socket, "viewer") == [{"viewer": {"role": "OWNER"}}]
    with pytest.raises(InvalidStatus) as refused:
        async with connection(service.url, Authorization="Bearer wrong"):
            pass
    assert refused.value.response.status_code == 401


async def test_a_workers_token_hears_nothing(service: Service, tokens: dict[str, str]) -> None:
    async with connection(service.url, Authorization=f"Bearer {tokens['worker']}") as socket:
        await send(socket, type="connection_init")
        assert await closed(socket) == 4403


async def test_another_protocol_is_refused(service: Service) -> None:
    address = service.url.replace("http", "ws", 1) + "/graphql"
    async with connect(address, subprotocols=[Subprotocol("graphql-ws")]) as socket:
        assert await closed(socket) == 4406


async def test_an_unknown_run_is_an_error_and_its_end(service: Service) -> None:
    async with signed_in(service.client) as socket:
        await subscribe(socket, "unknown", RUN_UPDATED, id=UNKNOWN_ID)
        message = await receive(socket)
        assert message["payload"]["errors"][0]["extensions"] == {"code": "NOT_FOUND"}
        assert await receive(socket) == {"id": "unknown", "type": "complete"}


async def test_a_run_is_heard_as_server_sent_events(own: Practice, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    run_id = made(own.client, START, version=own.version, configuration=own.configure(1, *waiting_agent(gate)))
    asked = {"query": RUN_UPDATED, "variables": {"id": run_id}}
    headers = {"Authorization": f"Bearer {own.client.token}", "Accept": "text/event-stream"}
    lines = []
    async with (
        httpx.AsyncClient(base_url=own.client.url, timeout=SECONDS) as client,
        client.stream("POST", "/graphql", json=asked, headers=headers) as answer,
    ):
        assert answer.headers["Content-Type"].startswith("text/event-stream")
        async for line in answer.aiter_lines():
            gate.touch()
            lines += [line] if line and not line.startswith(":") else []
    assert set(lines[:-2:2]) == {"event: next"}
    assert lines[-2].strip() == "event: complete"
    results = [json.loads(line.removeprefix("data: ")) for line in lines[1:-2:2]]
    updates = [result["data"]["evaluationRunUpdated"] for result in results]
    check_updates(updates)
    assert updates[-1] == own.client.graph(RUN_BY_ID, id=run_id)["evaluationRun"]


def test_events_need_a_sign_in_too(service: Service) -> None:
    asked = {"query": TRIAL_FINISHED}
    refused = httpx.post(f"{service.url}/graphql", json=asked, headers={"Accept": "text/event-stream"})
    assert refused.status_code == 401


async def test_a_listener_that_leaves_is_let_go(service: Service) -> None:
    def answered() -> float:
        """How many streams and answers of the graph have ended."""
        text = metrics_of(service)
        name = 'agentforge_http_requests_total{method="POST",path="/graphql",status="200"} '
        return sum(float(line.removeprefix(name)) for line in text.splitlines() if line.startswith(name))

    headers = {"Authorization": f"Bearer {service.token}", "Accept": "text/event-stream"}
    before = answered()
    async with (
        httpx.AsyncClient(base_url=service.url) as client,
        client.stream("POST", "/graphql", json={"query": TRIAL_FINISHED}, headers=headers) as answer,
    ):
        assert answer.status_code == 200
        assert answered() == before
    eventually(lambda: answered() == before + 1, 10)
