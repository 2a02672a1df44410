"""Watches runs with a thousand subscribers over WebSockets while all of them change; prints how soon all have heard.

    uv run python benchmarks/subscribers.py [--quick] [--json] [--subscribers 1000]

Half watch one run, half a run each. Every run is cancelled, one after the other; each subscriber must hear of its own
and be told that it is complete. Load goes to loopback only.
"""

import asyncio
import json
import time
from contextlib import AsyncExitStack, ExitStack
from dataclasses import dataclass, field
from typing import Any

import asyncpg
from websockets.asyncio.client import ClientConnection, connect
from websockets.typing import Subprotocol

from benchmarks.report import Report, parser, reported
from benchmarks.servers import Filled, Server, filled, service

UPDATED = "subscription($id: ID!) { evaluationRunUpdated(id: $id) { id status trials { attempt status } } }"
SECONDS = 120
MOST_SECONDS = 5.0


@dataclass
class Heard:
    """When each subscriber was told that all is over, and the last status it heard of."""

    complete: list[float] = field(default_factory=list)
    latest: dict[str, str] = field(default_factory=dict)


async def open_runs(database: Filled, wanted: int) -> list[str]:
    """Runs that have not ended, made of ended ones."""
    connection = await asyncpg.connect(database.superuser)
    try:
        rows = await connection.fetch(
            "update evaluation_runs set status = 'running', finished_at = null "
            "where id in (select id from evaluation_runs order by id limit $1) returning id",
            wanted,
        )
    finally:
        await connection.close()
    return [str(row["id"]) for row in rows]


async def subscribe(stack: AsyncExitStack, server: Server, run: str) -> ClientConnection:
    socket = await stack.enter_async_context(
        connect(
            server.url.replace("http", "ws", 1),
            subprotocols=[Subprotocol("graphql-transport-ws")],
            additional_headers=server.headers,
            open_timeout=SECONDS,
        )
    )
    await socket.send(json.dumps({"type": "connection_init"}))
    payload = {"query": UPDATED, "variables": {"id": run}}
    await socket.send(json.dumps({"type": "subscribe", "id": "1", "payload": payload}))
    assert json.loads(await socket.recv())["type"] == "connection_ack"
    assert json.loads(await socket.recv())["type"] == "next"
    return socket


async def listen(socket: ClientConnection, run: str, heard: Heard) -> None:
    async for text in socket:
        message = json.loads(text)
        if message["type"] == "complete":
            heard.complete.append(time.monotonic())
            return
        assert message["type"] == "next", message
        told = message["payload"]["data"]["evaluationRunUpdated"]
        assert told["id"] == run, "another's change"
        heard.latest[run] = told["status"]


async def cancel(database: Filled, runs: list[str]) -> None:
    connection = await asyncpg.connect(database.superuser)
    try:
        for run in runs:
            await connection.execute(
                "update evaluation_runs set status = 'cancelled', finished_at = now() where id = $1", run
            )
    finally:
        await connection.close()


async def measure(server: Server, database: Filled, wanted: int, report: Report) -> None:
    runs = await open_runs(database, wanted // 2 + 1)
    watched = [runs[0]] * (wanted // 2) + runs[1 : wanted - wanted // 2 + 1]
    heard, memory = Heard(), server.process.memory_info().rss
    async with AsyncExitStack() as stack:
        began = time.monotonic()
        sockets: list[Any] = []
        for first in range(0, len(watched), 50):  # as many handshakes at a time as a listening socket holds
            part = watched[first : first + 50]
            sockets += await asyncio.gather(*(subscribe(stack, server, run) for run in part))
        subscribed = time.monotonic() - began
        memory = server.process.memory_info().rss - memory
        listening = asyncio.gather(*(listen(socket, run, heard) for socket, run in zip(sockets, watched, strict=True)))
        began = time.monotonic()
        await cancel(database, runs)
        changed = time.monotonic() - began
        await asyncio.wait_for(listening, SECONDS)
        over = max(heard.complete) - began
    assert set(heard.latest.values()) == {"CANCELLED"}
    print(f"{len(watched)} subscribed in {subscribed:.1f} s, with {memory / 2**20:.0f} MiB more in the server")
    print(f"{len(runs)} runs changed in {changed:.1f} s; all had heard {over - changed:.1f} s later")
    report.at_least("subscribers_that_heard", len(heard.complete), wanted)
    report.at_most("seconds_until_all_had_heard", over - changed, MOST_SECONDS)


def main() -> None:
    made = parser(__doc__)
    made.add_argument("--subscribers", type=int, default=1000)
    arguments = made.parse_args()
    with reported(arguments) as (report, directory), ExitStack() as stack:
        database = filled(stack, directory, 10_000)
        server = stack.enter_context(service(database))
        asyncio.run(measure(server, database, arguments.subscribers, report))


if __name__ == "__main__":
    main()
