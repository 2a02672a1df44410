"""The example's world, spoken to in plain JSON-RPC lines by a client that knows no library of the protocol."""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.service import PROJECT

FOLDER = PROJECT / "examples" / "admin_console"
SECONDS = 30


class World:
    """A running world; answers are matched to requests by their id."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self.process = process
        self.input = process.stdin
        self.output = process.stdout
        self.last_id = 0

    async def write(self, line: bytes) -> None:
        self.input.write(line + b"\n")
        await self.input.drain()

    async def read(self) -> Any:
        """The next message, which is one line of JSON."""
        message = json.loads(await asyncio.wait_for(self.output.readline(), SECONDS))
        assert message["jsonrpc"] == "2.0"
        return message

    async def ask(self, method: str, **parameters: object) -> Any:
        """The answer to one request: its result, or its error."""
        self.last_id += 1
        asked = {"jsonrpc": "2.0", "id": self.last_id, "method": method, "params": parameters}
        await self.write(json.dumps(asked).encode())
        while (message := await self.read()).get("id") != self.last_id:
            assert "id" not in message, "only notifications come between"
        return message.get("result", message.get("error"))

    async def call(self, tool: str, **arguments: object) -> Any:
        return await self.ask("tools/call", name=tool, arguments=arguments)


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "admin_console"),
        cwd=tmp_path,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(FOLDER), "AGENTFORGE_SEED": "7"},
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    started = World(process)
    try:
        yield started
    finally:
        started.input.close()
        try:
            assert await asyncio.wait_for(process.wait(), SECONDS) == 0, "it ends when its input does"
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()


async def initialize(world: World) -> Any:
    client = {"name": "plain", "version": "1"}
    result = await world.ask("initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo=client)
    await world.write(b'{"jsonrpc":"2.0","method":"notifications/initialized"}')
    return result


async def test_it_introduces_itself_and_its_tools(world: World) -> None:
    introduced = await initialize(world)
    assert introduced["protocolVersion"] == "2025-06-18"
    assert introduced["serverInfo"]["name"] == "admin-console"
    assert "tools" in introduced["capabilities"]
    tools = {tool["name"]: tool for tool in (await world.ask("tools/list"))["tools"]}
    assert len(tools) == 8
    assert tools["restock"]["inputSchema"]["required"] == ["sku", "quantity"]
    assert all(tool["description"] for tool in tools.values())


async def test_a_call_changes_what_the_next_one_shows(world: World) -> None:
    await initialize(world)

    async def target() -> Any:
        answer = await world.call("search_products", query="SKU-9")
        assert answer["isError"] is False
        return next(product for product in answer["structuredContent"]["result"] if product["sku"] == "SKU-9")

    before = await target()
    answer = await world.call("restock", sku="SKU-9", quantity=before["case_size"])
    assert answer["structuredContent"]["stock"] == before["stock"] + before["case_size"]
    assert json.loads(answer["content"][0]["text"]) == answer["structuredContent"]
    assert await target() == before | {"stock": before["stock"] + before["case_size"]}


async def test_what_it_cannot_do_is_said_and_leaves_it_running(world: World) -> None:
    await initialize(world)
    refused = await world.call("restock", sku="SKU-9", quantity=1)
    assert refused["isError"] is True
    assert "full cases" in refused["content"][0]["text"]
    for answer in (await world.call("restock", sku="SKU-9"), await world.call("no_such_tool")):
        assert answer.get("isError") is True or answer["code"] == -32602
    assert (await world.ask("no/such/method"))["code"] == -32601
    for broken in (b"{", b"not json", b"[]", b'{"jsonrpc":"2.0"}', b"\xff"):
        await world.write(broken)
    assert await world.ask("ping") == {}
