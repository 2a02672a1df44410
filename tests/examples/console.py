"""Start the processes of the admin console the way a worker does: world, evaluator and agent."""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mcp import Client, StdioServerParameters

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "examples" / "admin_console"
MANIFEST: dict[str, Any] = json.loads((FOLDER / "environment.json").read_text("utf-8"))
DEADLINE_SECONDS = 30


@dataclass(frozen=True)
class Ended:
    """How a process ended."""

    code: int
    out: str
    err: str


def command(template: list[str]) -> list[str]:
    """A command of the manifest with its placeholders filled in."""
    return [part.replace("{python}", sys.executable).replace("{bundle}", str(FOLDER)) for part in template]


def environment(seed: int) -> dict[str, str]:
    """The environment variables of world and evaluator."""
    return {"PYTHONPATH": str(FOLDER), "AGENTFORGE_SEED": str(seed), "AGENTFORGE_ATTEMPT": "1"}


def make(directory: Path) -> Path:
    """Create a fresh directory and return it."""
    directory.mkdir()
    return directory


async def run(arguments: list[str], directory: Path, variables: dict[str, str]) -> Ended:
    """Run a process with nothing on stdin until it ends; kill it at the deadline."""
    process = await asyncio.create_subprocess_exec(
        *arguments,
        cwd=directory,
        env={"PATH": os.environ["PATH"], **variables},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        out, err = await asyncio.wait_for(process.communicate(), DEADLINE_SECONDS)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert process.returncode is not None
    return Ended(process.returncode, out.decode(), err.decode())


def server(directory: Path, seed: int) -> StdioServerParameters:
    """How to start the world of a seed in a directory."""
    program, *arguments = command(MANIFEST["world"]["command"])
    return StdioServerParameters(command=program, args=arguments, env=environment(seed), cwd=str(directory))


@asynccontextmanager
async def world(directory: Path, seed: int) -> AsyncIterator[Client]:
    """A client of the world of a seed, whose files stay in the directory."""
    async with Client(server(directory, seed), read_timeout_seconds=DEADLINE_SECONDS) as client:
        yield client


async def call(client: Client, tool: str, **arguments: object) -> Any:
    """The structured result of a tool that succeeds."""
    answer = await client.call_tool(tool, arguments)
    assert not answer.is_error, answer.content
    assert answer.structured_content is not None
    return answer.structured_content.get("result", answer.structured_content)


async def refusal(client: Client, tool: str, **arguments: object) -> str:
    """The text of a tool's error."""
    answer = await client.call_tool(tool, arguments)
    assert answer.is_error, answer.content
    (block,) = answer.content
    assert block.type == "text"
    return block.text


async def evaluate(directory: Path, seed: int) -> dict[str, Any]:
    """The evaluator's verdict on the shop in a directory."""
    ended = await run(command(MANIFEST["evaluator"]["command"]), directory, environment(seed))
    assert ended.code == 0, ended.err
    verdict: dict[str, Any] = json.loads(ended.out)
    return verdict


async def run_agent(directory: Path, seed: int, attempt: int) -> Ended:
    """One attempt of the scripted agent on a world of its own in directory/world."""
    place, workspace = make(directory / "world"), make(directory / "workspace")
    configuration = directory / "mcp.json"
    parameters = server(place, seed).model_dump(include={"command", "args", "env", "cwd"})
    configuration.write_text(json.dumps({"mcpServers": {"environment": parameters}}), "utf-8")
    options = ["--mcp-config", str(configuration), "--seed", str(seed), "--attempt", str(attempt)]
    script = [sys.executable, str(FOLDER / "scripted_agent.py"), "--task", MANIFEST["task"]]
    return await run([*script, *options], workspace, {})
