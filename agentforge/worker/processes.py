"""Processes that end with everything they started."""

import asyncio
import contextlib
import os
import secrets
import signal
import socket
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Final, Protocol, Self

import psutil

from agentforge.worker import guard
from agentforge.worker.bounds import Bounds
from agentforge.worker.pipes import PIECE_BYTES
from agentforge.worker.starting import MARKER, Started, start_guard

LINE_BYTES: Final = 16 * 1024 * 1024
_PASSES: Final = 50  # of killing what starts others meanwhile
_DEADLINE_SECONDS: Final = guard.GRACE_SECONDS + 5
_WAKE_SECONDS: Final = 5.0
_GUARD_ENDED: Final = "its guard ended"


class CannotStartError(Exception):
    """The command could not be started; the message says why."""


class _GuardEndedError(CannotStartError):
    """The guard ended before it said that the command has started."""

    def __init__(self) -> None:
        super().__init__(_GUARD_ENDED)


class Sink(Protocol):
    """Takes an output stream piece by piece."""

    def feed(self, data: bytes) -> None: ...

    def close(self) -> None: ...


class Process:
    """A running command under its guard (see `guard`). Leaving its context ends the whole tree."""

    def __init__(
        self, started: Started, marker: str, report: asyncio.StreamReader, control: asyncio.StreamWriter
    ) -> None:
        self._pipes = started.pipes
        self._program = started.process
        self._guard = None if started.process is None else started.process.pid
        self._marker = marker
        self._report = report
        self._control = control
        self._started: asyncio.Future[str] = asyncio.get_running_loop().create_future()  # why it has not; or empty
        self._code: asyncio.Future[int | None] = asyncio.get_running_loop().create_future()
        self._is_gone = False  # said the guard, which is then the last of its tree
        self._listening: asyncio.Task[None]
        self._pumps: list[asyncio.Task[None]] = []

    @classmethod
    async def start(
        cls,
        command: Sequence[str],
        *,
        env: Mapping[str, str],
        cwd: Path,
        bounds: Bounds,
        exceeded: Callable[[str, str], None],
        stderr: Sink,
        stdout: Sink | None = None,
    ) -> Self:
        """Starts a command in a session of its own.

        A tree over one of its bounds is ended, and `exceeded` told its kind and what it did, before its exit.
        With a sink for stdout, stdin is empty; without one, the caller uses `stdin` and `stdout`.
        Raises CannotStartError.
        """
        start = partial(cls._start, command, env=env, cwd=cwd, exceeded=exceeded, stderr=stderr, stdout=stdout)
        if bounds.guards is None or bounds.sandbox:
            return await start(bounds=bounds)
        try:
            return await start(bounds=bounds)
        except _GuardEndedError:
            # Somebody has ended the server that was to fork it: another attempt, perhaps, which must not end this one.
            return await start(bounds=replace(bounds, guards=None))

    @classmethod
    async def _start(
        cls,
        command: Sequence[str],
        *,
        env: Mapping[str, str],
        cwd: Path,
        bounds: Bounds,
        exceeded: Callable[[str, str], None],
        stderr: Sink,
        stdout: Sink | None,
    ) -> Self:
        ours, theirs = socket.socketpair()
        marker = secrets.token_hex(16)
        try:
            with theirs:
                marked = {**env, MARKER: marker}
                started = await start_guard(theirs, command, bounds, marked, cwd, has_stdin=stdout is None)
        except BaseException as error:
            ours.close()
            if isinstance(error, (OSError, ValueError)):
                raise CannotStartError(str(error)) from error
            raise
        try:
            report, control = await asyncio.open_unix_connection(sock=ours)
        except BaseException:
            ours.close()
            started.pipes.close()
            raise
        self = cls(started, marker, report, control)
        await self._begin(started.go, stdout, stderr, bounds, exceeded)
        return self

    async def _begin(
        self,
        go: bytes,
        stdout: Sink | None,
        stderr: Sink,
        bounds: Bounds,
        exceeded: Callable[[str, str], None],
    ) -> None:
        self._listening = asyncio.create_task(self._listen(bounds, exceeded))
        if self._program:  # a sandbox that does not start says why
            self._pump_to(stdout, stderr)
        try:
            self._control.write(go)
            while not (await asyncio.wait({self._started}, timeout=_WAKE_SECONDS))[0]:
                if bounds.guards:
                    bounds.guards.wake()
            if reason := self._started.result():
                raise _GuardEndedError if reason == _GUARD_ENDED else CannotStartError(reason)
        except BaseException:
            await self.end()
            raise
        if not self._pumps:
            self._pump_to(stdout, stderr)

    def _pump_to(self, stdout: Sink | None, stderr: Sink) -> None:
        self._pumps = [asyncio.create_task(_pump(self._pipes.stderr, stderr))]
        if stdout is not None:
            self._pumps.append(asyncio.create_task(_pump(self._pipes.stdout, stdout)))

    @property
    def stdin(self) -> asyncio.StreamWriter:
        assert self._pipes.stdin
        return self._pipes.stdin

    @property
    def stdout(self) -> asyncio.StreamReader:
        return self._pipes.stdout

    async def ended(self) -> int | None:
        """Waits for the command itself to end; the exit code, negative for a signal, None when unknown."""
        return await asyncio.shield(self._code)

    async def _listen(self, bounds: Bounds, exceeded: Callable[[str, str], None]) -> None:
        """Hears the guard to its end."""
        try:
            with contextlib.suppress(ConnectionError):  # it was killed with something of ours unread
                # What was cut may end within a character.
                while line := (await self._report.readline()).decode(errors="replace"):
                    word, _, told = line.strip().partition(" ")
                    if word == "limit":
                        exceeded(told, bounds.describe(told))
                    else:
                        self._note(word, told)
        finally:  # whatever it was: somebody waits for both
            if not self._started.done():
                self._started.set_result(_GUARD_ENDED)
            if not self._code.done():
                self._code.set_result(None)

    def _note(self, word: str, told: str) -> None:
        match word:
            case "started":
                self._guard = self._guard or int(told)
                self._started.set_result("")
            case "error":
                self._started.set_result(told)
                self._is_gone = True
            case "exit":
                self._code.set_result(int(told))
            case "gone":
                self._is_gone = True

    async def end(self) -> None:
        """Ends what is left of the tree and returns when all of it is gone: SIGTERM, a grace, SIGKILL."""
        if not self._has_ended():
            with contextlib.suppress(OSError):
                self._control.write_eof()
            if self._guard is not None:
                with contextlib.suppress(OSError):
                    os.kill(self._guard, signal.SIGCONT)  # its tree may have stopped it
        if self._pipes.stdin:
            self._pipes.stdin.close()
            # A pipe that nobody reads would keep its process in a write and never report its end.
            self._pumps.append(asyncio.create_task(_pump(self.stdout, _Nowhere())))
        if not await self._wait_for_guard() or not self._is_gone:
            # Without their guard, orphans are somebody else's children now, but still carry the marker.
            await asyncio.to_thread(_kill_marked, self._marker)
            await self._wait_for_guard()
        if self._pumps:
            await asyncio.wait(self._pumps, timeout=1)
        self._control.close()
        self._pipes.close()
        for task in (*self._pumps, self._listening):
            task.cancel()
        await asyncio.gather(*self._pumps, self._listening, return_exceptions=True)

    def _has_ended(self) -> bool:
        """Whether the guard has; while it has not, its id is no other process's."""
        return self._listening.done() if self._program is None else self._program.returncode is not None

    async def _wait_for_guard(self) -> bool:
        """Waits for the guard's end; false for one that had to be killed."""
        ending = asyncio.gather(*([self._program.wait()] if self._program else []), asyncio.shield(self._listening))
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(ending, _DEADLINE_SECONDS)
            return True
        if self._guard is not None and not self._has_ended():
            await asyncio.to_thread(_kill_tree, self._guard)
        return False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.end()


class _Nowhere:
    def feed(self, data: bytes) -> None:
        pass

    def close(self) -> None:
        pass


async def _pump(stream: asyncio.StreamReader, sink: Sink) -> None:
    try:
        while data := await stream.read(PIECE_BYTES):
            sink.feed(data)
    finally:
        sink.close()


def _kill_tree(guard: int) -> None:
    with contextlib.suppress(psutil.Error):
        root = psutil.Process(guard)
        for process in (*root.children(recursive=True), root):
            with contextlib.suppress(psutil.Error):
                process.kill()


def _kill_marked(marker: str) -> None:
    for _ in range(_PASSES):
        found = [process for process in psutil.process_iter() if _is_marked(process, marker)]
        if not found:
            return
        for process in found:
            with contextlib.suppress(psutil.Error):
                process.kill()
        psutil.wait_procs(found, timeout=0.1)


def _is_marked(process: psutil.Process, marker: str) -> bool:
    with contextlib.suppress(psutil.Error, OSError):
        return process.environ().get(MARKER) == marker and process.status() != psutil.STATUS_ZOMBIE
    return False


def describe_exit(code: int | None) -> str:
    """Says how a command ended: `exited with code 3`, `was killed by SIGKILL`."""
    if code is None:
        return "ended in an unknown way"
    if code >= 0:
        return f"exited with code {code}"
    try:
        return f"was killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"was killed by signal {-code}"
