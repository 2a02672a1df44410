"""Whether the trajectory that an agent left is one in the Agent Trajectory Interchange Format, 1.0 to 1.8."""

import asyncio
import json
import sys
from dataclasses import dataclass
from typing import Any, Final

from agentforge.worker.atif_check import TOO_MUCH
from agentforge.worker.files import KeptFile

#: A valid document of 16 MiB takes 2 s on a busy machine; one of errors alone takes all the memory that it may first.
CHECK_SECONDS: Final = 20.0


@dataclass(frozen=True, slots=True, kw_only=True)
class AtifVerdict:
    """`errors` is empty for a trajectory in ATIF: up to 21 lines of 300 characters that a database can hold.

    `version` is the schema_version as given. `is_json` tells whether the bytes are JSON that may be passed on.
    """

    version: str | None = None
    errors: tuple[str, ...] = ()
    is_json: bool = False


async def judge(trajectory: KeptFile | None) -> AtifVerdict | None:
    """The verdict on a trajectory.json, kept or not; None if there was none."""
    if trajectory is None:
        return None
    if trajectory.content is None:
        return AtifVerdict(errors=(f"not kept, with its {trajectory.byte_size} bytes: {trajectory.omitted}",))
    return await check(trajectory.content)


async def check(content: bytes) -> AtifVerdict:
    """Validates in a process of its own: neither time nor memory that a document takes is the worker's."""
    arguments = [sys.executable, "-I", "-m", "agentforge.worker.atif_check"]
    try:
        process = await asyncio.create_subprocess_exec(
            *arguments,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            env={"RUST_BACKTRACE": "0"},
        )
    except OSError as error:
        return AtifVerdict(errors=(f"it could not be checked: {error.strerror}",))
    said: dict[str, Any] = {}
    try:
        async with asyncio.timeout(CHECK_SECONDS):
            assert process.stdin
            assert process.stdout
            process.stdin.write(content)
            process.stdin.close()
            while line := await process.stdout.readline():
                said |= json.loads(line)
            await process.wait()
    except TimeoutError:
        pass
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return AtifVerdict(
        version=said.get("version"), errors=tuple(said.get("errors", (TOO_MUCH,))), is_json=said.get("is_json", False)
    )
