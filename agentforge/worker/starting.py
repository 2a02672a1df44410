"""Starts the guard of a command: forked by the worker's server, or as a program of its own."""

import asyncio
import fcntl
import json
import os
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from agentforge.worker.bounds import Bounds
from agentforge.worker.guard import LENGTH_BYTES
from agentforge.worker.pipes import PIECE_BYTES, Ends, Pipes

#: The variable that tells what belongs to which command.
MARKER: Final = "AGENTFORGE_PROCESS"
#: Descriptors below are those that a sandbox gives to the streams.
_LEAST_CONTROL: Final = 10


@dataclass(slots=True)
class Started:
    """A guard that waits for `go` to be written to its control socket, and the pipes of its command.

    `process` is None for one that was forked.
    """

    go: bytes
    pipes: Pipes
    process: asyncio.subprocess.Process | None = None


async def start_guard(
    theirs: socket.socket,
    command: Sequence[str],
    bounds: Bounds,
    env: Mapping[str, str],
    cwd: Path,
    *,
    has_stdin: bool,
) -> Started:
    """Starts a guard with its end of the control socket. Raises OSError, ValueError."""
    if bounds.sandbox or bounds.guards is None:
        return await _start_program(theirs, command, bounds, env, cwd, has_stdin=has_stdin)
    text = json.dumps(
        {
            "command": list(command),
            "env": dict(env),
            "cwd": str(cwd),
            "bounds": [bounds.memory_bytes, bounds.processes, bounds.disk_bytes],
            "folders": list(map(str, bounds.folders)),
        }
    ).encode()
    ends = Ends.new(has_stdin=has_stdin)
    try:
        bounds.guards.fork([theirs.fileno(), *ends.theirs])
        return Started(_request(text), await ends.opened())
    finally:
        ends.close()


async def _start_program(
    theirs: socket.socket,
    command: Sequence[str],
    bounds: Bounds,
    env: Mapping[str, str],
    cwd: Path,
    *,
    has_stdin: bool,
) -> Started:
    variables = b"\0".join(os.fsencode(f"{name}={value}") for name, value in env.items())
    if variables.count(b"\0") != len(env) - 1:
        raise ValueError("embedded null byte")
    control = fcntl.fcntl(theirs.fileno(), fcntl.F_DUPFD_CLOEXEC, _LEAST_CONTROL)
    try:
        process = await asyncio.create_subprocess_exec(
            *bounds.guarded(control, command),
            stdin=asyncio.subprocess.PIPE if has_stdin else asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            limit=PIECE_BYTES,
            # By this it is found, were it left without its worker's hold; the others are the command's alone.
            env={MARKER: env[MARKER]},
            cwd=cwd,
            pass_fds=[control],
            start_new_session=True,
        )
    finally:
        os.close(control)
    assert process.stdout
    assert process.stderr
    return Started(_request(variables), Pipes(process.stdout, process.stderr, process.stdin), process)


def _request(content: bytes) -> bytes:
    return len(content).to_bytes(LENGTH_BYTES) + content
