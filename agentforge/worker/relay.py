"""The relay between an agent's MCP clients and the one world process of the attempt, and what it records.

Lines are passed on as the bytes they came in. What is recorded, as steps in the order of their
completion:

- each request of the agent with its response. `tools/call`: the tool's name, its arguments as sent, the
  texts of the result; any other request: tool `mcp`, the method, the result as JSON text. An error is its
  JSON text. A request still unanswered at the end has the observation "".
- a request or notification of the world that has parameters: tool `mcp`, its method, the parameters as
  JSON text. Of these as many are kept as the attempt may have steps; the log tells when more came.
- an answer or notification of the agent that has content: tool `mcp`, the line as command, the
  observation "".
- a line of the agent that is not one JSON-RPC message: it never reaches the world, so that nothing can be
  asked without being recorded; the agent gets a parse error, and both are a step of tool `mcp`.

All steps but those of the world's own accord count towards the limit of steps.

A line of the world that is not a JSON-RPC message goes to the log instead of the agent.

Any number of clients may connect, one after the other or at once; all talk to the same world, whose state
goes on. A reconnecting client sends `initialize` again, and the world answers again. A response goes to
the client that asked. Ids are not rewritten: a request whose id is in flight for another client waits for
that one's response. Requests of the world go to the client that connected last, notifications to every
client.
"""

import asyncio
import contextlib
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from agentforge.worker.lines import PIECE_BYTES, Lines, LineTooLongError
from agentforge.worker.log import LogStream
from agentforge.worker.messages import (
    Message,
    UnreadableError,
    line_text,
    read_message,
    result_text,
    tool_call,
    whole_line,
)
from agentforge.worker.outcome import Ending
from agentforge.worker.processes import LINE_BYTES, Process, describe_exit
from agentforge.worker.steps import Recorder

RECORDED_BYTES: Final = 64 * 1024 * 1024
UNASKED_BYTES: Final = 64 * 1024 * 1024
_LEAST_UNASKED: Final = 256  # bytes that a message counts as: reading a short one takes time too
_CONNECTIONS: Final = 16
_WORLD_GRACE_SECONDS: Final = 2.0
_PARSE_ERROR: Final = '{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}'


@dataclass(eq=False, slots=True)
class _Client:
    writer: asyncio.StreamWriter
    task: asyncio.Task[None] = field(init=False)
    unanswered: int = 0
    is_idle: asyncio.Event = field(default_factory=asyncio.Event)


@dataclass(slots=True)
class _Asked:
    client: _Client
    tool: str
    command: str
    is_call: bool
    is_answered: asyncio.Event = field(default_factory=asyncio.Event)


class _FloodError(Exception):
    """The world sends more of its own accord than it may."""


class Relay:
    """Serves a world on a unix socket while its context is open; on leaving, the world is let go."""

    def __init__(
        self,
        world: Process,
        socket: Path,
        recorder: Recorder,
        stray_lines: LogStream,
        steps: int,
        decide: Callable[[Ending], None],
    ) -> None:
        """`decide` is told when world or agent went too far and the attempt must end."""
        self._world = world
        self._socket = socket
        self._recorder = recorder
        self._stray_lines = stray_lines
        self._steps_left = steps
        self._unasked_left = steps
        self._unasked_bytes_left = UNASKED_BYTES
        self._decide = decide
        self._clients: list[_Client] = []
        self._asked: dict[str, _Asked] = {}
        self._first_asked: float | None = None
        self._has_answered = False
        self._long_line = asyncio.Lock()  # sixteen clients could have the worker hold as many long lines

    def is_dead(self, seconds: float) -> bool:
        """Whether the world has answered nothing at all, and has been asked something these seconds ago or earlier."""
        if self._has_answered or self._first_asked is None:
            return False
        return asyncio.get_running_loop().time() - self._first_asked >= seconds

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_unix_server(self._serve, self._socket, limit=PIECE_BYTES)
        self._reading = asyncio.create_task(self._read_world())
        self._reading.add_done_callback(self._check)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._server.close()
        await self._dismiss(self._clients)
        self._world.stdin.close()
        if kind is None:
            # Answers still under way are recorded, and the world may write down what it keeps.
            await asyncio.wait([self._reading], timeout=_WORLD_GRACE_SECONDS)
        self._reading.cancel()
        await asyncio.gather(self._reading, return_exceptions=True)
        self._stray_lines.close()
        for asked in self._asked.values():
            self._recorder.add(asked.tool, asked.command, "")
        await self._server.wait_closed()

    async def _dismiss(self, clients: Collection[_Client]) -> None:
        tasks = [client.task for client in clients]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _check(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()):
            self._decide(Ending("errored", "environment_failed", f"the relay failed: {error}"))

    # From the agent

    def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(self._clients) >= _CONNECTIONS or self._reading.done():
            writer.close()
            return
        client = _Client(writer)
        self._clients.append(client)
        client.task = asyncio.create_task(self._hear(reader, client))
        client.task.add_done_callback(self._check)
        client.task.add_done_callback(lambda _: self._leave(client))

    def _leave(self, client: _Client) -> None:
        self._clients.remove(client)
        client.writer.close()

    async def _hear(self, reader: asyncio.StreamReader, client: _Client) -> None:
        with contextlib.suppress(ConnectionError):
            with Lines(reader, LINE_BYTES, self._long_line) as lines, contextlib.suppress(LineTooLongError):
                while line := await lines.next():
                    await self._from_agent(client, line)
            if client.unanswered:
                await client.is_idle.wait()

    async def _from_agent(self, client: _Client, line: bytes) -> None:
        if not line.strip():
            return
        try:
            message = read_message(line, is_strict=True)
        except UnreadableError:
            if self._may_step():
                self._record("mcp", line_text(line), _PARSE_ERROR)
                await _send(client, f"{_PARSE_ERROR}\n".encode())
            return
        if message.identity is not None or message.has_content:
            if not self._may_step():
                return
            if message.is_request:
                await self._ask(client, message)
            else:
                self._record("mcp", line_text(line), "")
        self._world.stdin.write(whole_line(line))
        await self._world.stdin.drain()

    async def _ask(self, client: _Client, message: Message) -> None:
        assert message.identity
        while earlier := self._asked.get(message.identity):
            await earlier.is_answered.wait()
        call = tool_call(message.params) if message.method == "tools/call" else None
        tool, command = call or ("mcp", str(message.method))
        command = self._recorder.hold(command)
        self._asked[message.identity] = _Asked(client, tool, command, is_call=call is not None)
        self._check_size()
        self._first_asked = self._first_asked or asyncio.get_running_loop().time()
        client.unanswered += 1
        client.is_idle.clear()

    def _may_step(self) -> bool:
        self._steps_left -= 1
        if self._steps_left < 0:
            self._decide(Ending("errored", "step_limit", "the agent asked more often than it may"))
        return self._steps_left >= 0

    # From the world

    async def _read_world(self) -> None:
        try:
            with Lines(self._world.stdout, LINE_BYTES) as lines:
                while line := await lines.next():
                    await self._from_world(line)
            # The command may still be about to end: its exit code says more than the end of its output.
            code = None
            with contextlib.suppress(TimeoutError):
                code = await asyncio.wait_for(self._world.ended(), 1)
            reason = f"the environment {'closed its output' if code is None else describe_exit(code)}"
        except LineTooLongError:
            reason = f"the environment wrote a line of more than {LINE_BYTES} bytes"
        except _FloodError:
            reason = f"the environment sent more than {UNASKED_BYTES} bytes that nobody asked for"
        # Before the agent can notice, so that its reaction is not taken for the cause.
        self._decide(Ending("errored", "environment_failed", reason))
        await self._dismiss(self._clients)

    async def _from_world(self, line: bytes) -> None:
        if not line.strip():
            return
        try:
            message = read_message(line, is_strict=False)
        except UnreadableError:
            self._count_unasked(line)
            self._stray_lines.feed(line)
            return
        if message.method is not None or message.identity not in self._asked:
            self._count_unasked(line)
        for client in self._answer(message):
            await _send(client, whole_line(line))

    def _count_unasked(self, line: bytes) -> None:
        self._unasked_bytes_left -= max(len(line), _LEAST_UNASKED)
        if self._unasked_bytes_left < 0:
            raise _FloodError

    def _answer(self, message: Message) -> list[_Client]:
        """Records a message of the world and returns whom it goes to."""
        if message.method is not None:
            if message.has_content:
                self._record_unasked(message.method, str(message.params))
            return self._clients[:] if message.identity is None else self._clients[-1:]
        asked = self._asked.pop(message.identity or "", None)
        if asked is None:
            return self._clients[:]
        self._has_answered = True
        result = message.result and result_text(message.result) if asked.is_call else message.result
        self._record(asked.tool, asked.command, message.error or result or "")
        asked.is_answered.set()
        asked.client.unanswered -= 1
        if not asked.client.unanswered:
            # `_hear` goes on only after the answer, sent in this same turn of the loop, has been handed over.
            asked.client.is_idle.set()
        return [asked.client]

    def _record(self, tool: str, command: str, observation: str) -> None:
        self._recorder.add(tool, command, observation)
        self._check_size()

    def _check_size(self) -> None:
        if self._recorder.size > RECORDED_BYTES:
            self._decide(Ending("errored", "output_limit", f"the steps hold more than {RECORDED_BYTES} bytes"))

    def _record_unasked(self, command: str, observation: str) -> None:
        self._unasked_left -= 1
        if self._unasked_left >= 0:
            self._record("mcp", command, observation)
        elif self._unasked_left == -1:
            self._stray_lines.feed(b"(further unasked messages are passed on without being recorded)\n")


async def _send(client: _Client, line: bytes) -> None:
    if client.writer.is_closing():  # it would be written nowhere, and logged as an error
        return
    with contextlib.suppress(ConnectionError):
        client.writer.write(line)
        await client.writer.drain()
