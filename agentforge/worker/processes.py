"""Processes that end with everything they started."""

import asyncio
import contextlib
import fcntl
import os
import secrets
import signal
import socket
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Final, Protocol, Self

import psutil

from agentforge.worker import guard
from agentforge.worker.sandbox import STREAMS

LINE_BYTES: Final = 16 * 1024 * 1024
_MARKER: Final = "AGENTFORGE_PROCESS"
_PIECE: Final = 65_536
_PASSES: Final = 50  # of killing what starts others meanwhile
_DEADLINE_SECONDS: Final = guard.GRACE_SECONDS + 5


class CannotStartError(Exception):
    """The command could not be started; the message says why."""


class Sink(Protocol):
    """Takes an output stream piece by piece."""

    def feed(self, data: bytes) -> None: ...

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """What one tree of processes may use. `folders` are those measured; `sandbox` starts what it is put in front of."""

    memory_bytes: int
    processes: int
    disk_bytes: int
    folders: tuple[Path, ...]
    sandbox: tuple[str, ...] = ()

    def describe(self, kind: str) -> str:
        """Says what a tree over its limit of this kind (see `guard`) did."""
        return {
            "memory": f"held more than {self.memory_bytes} bytes of memory",
            "process": f"ran more than {self.processes} processes or their threads at once",
            "disk": f"kept more than {self.disk_bytes} bytes in its folders",
        }[kind]

    def guarded(self, control: int, command: Sequence[str]) -> list[str]:
        """Returns the command line of a guard over this command."""
        # Outside Linux the guard needs psutil.
        python = [sys.executable, "-I", *(["-S"] if sys.platform == "linux" else []), str(Path(guard.__file__))]
        numbers = (control, STREAMS if self.sandbox else 0, self.memory_bytes, self.processes, self.disk_bytes)
        return [*self.sandbox, *python, *map(str, numbers), *map(str, self.folders), "--", *command]


class Process:
    """A running command under its guard (see `guard`). Leaving its context ends the whole tree."""

    def __init__(
        self,
        process: asyncio.subprocess.Process,
        marker: str,
        report: asyncio.StreamReader,
        control: asyncio.StreamWriter,
    ) -> None:
        self._guard = process
        self._marker = marker
        self._report = report
        self._control = control
        self._pumps: list[asyncio.Task[None]] = []
        self._code: asyncio.Task[int | None] | None = None

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
        ours, theirs = socket.socketpair()
        marker = secrets.token_hex(16)
        with theirs:  # not among the descriptors that a sandbox gives to the streams
            control = fcntl.fcntl(theirs.fileno(), fcntl.F_DUPFD_CLOEXEC, 10)
        try:
            process = await asyncio.create_subprocess_exec(
                *bounds.guarded(control, command),
                stdin=asyncio.subprocess.PIPE if stdout is None else asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                limit=_PIECE,
                env={**env, _MARKER: marker},
                cwd=cwd,
                pass_fds=[control],
                start_new_session=True,
            )
        except BaseException as error:
            ours.close()
            if isinstance(error, (OSError, ValueError)):
                raise CannotStartError(str(error)) from error
            raise
        finally:
            os.close(control)
        return await cls._begin(process, marker, ours, stdout, stderr, bounds, exceeded)

    @classmethod
    async def _begin(
        cls,
        process: asyncio.subprocess.Process,
        marker: str,
        control: socket.socket,
        stdout: Sink | None,
        stderr: Sink,
        bounds: Bounds,
        exceeded: Callable[[str, str], None],
    ) -> Self:
        report, writer = await asyncio.open_unix_connection(sock=control)
        self = cls(process, marker, report, writer)
        assert process.stdout
        assert process.stderr
        self._pumps = [asyncio.create_task(_pump(process.stderr, stderr))]
        if stdout is not None:
            self._pumps.append(asyncio.create_task(_pump(process.stdout, stdout)))
        try:
            writer.write(b"!")
            line = (await report.readline()).decode().strip()
            if line != "started":
                raise CannotStartError(line.removeprefix("error ") or "its guard ended")
        except BaseException:
            await self.end()
            raise
        self._code = asyncio.create_task(self._read_code(bounds, exceeded))
        return self

    @property
    def stdin(self) -> asyncio.StreamWriter:
        assert self._guard.stdin
        return self._guard.stdin

    @property
    def stdout(self) -> asyncio.StreamReader:
        assert self._guard.stdout
        return self._guard.stdout

    async def ended(self) -> int | None:
        """Waits for the command itself to end; the exit code, negative for a signal, None when unknown."""
        assert self._code
        return await asyncio.shield(self._code)

    async def _read_code(self, bounds: Bounds, exceeded: Callable[[str, str], None]) -> int | None:
        while line := (await self._report.readline()).decode():
            word, _, value = line.strip().partition(" ")
            if word == "exit":
                return int(value)
            exceeded(value, bounds.describe(value))
        return None

    async def end(self) -> None:
        """Ends what is left of the tree and returns when all of it is gone: SIGTERM, a grace, SIGKILL."""
        self._control.close()
        if self._guard.returncode is None:
            with contextlib.suppress(OSError):
                os.kill(self._guard.pid, signal.SIGCONT)  # its tree may have stopped it
        if self._guard.stdin:
            self._guard.stdin.close()
            # A pipe that nobody reads would keep its process in a write and never report its end.
            self._pumps.append(asyncio.create_task(_pump(self.stdout, _Nowhere())))
        if self._is_unguarded() or not await self._wait_for_guard() or self._guard.returncode != 0:
            # Without their guard, orphans are somebody else's children now, but still carry the marker.
            await asyncio.to_thread(_kill_marked, self._marker)
            await self._wait_for_guard()
        await asyncio.wait(self._pumps, timeout=1)
        for task in (*self._pumps, *([self._code] if self._code else [])):
            task.cancel()
        await asyncio.gather(*self._pumps, return_exceptions=True)

    def _is_unguarded(self) -> bool:
        return self._code is not None and self._code.done() and self._code.result() is None

    async def _wait_for_guard(self) -> bool:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._guard.wait(), _DEADLINE_SECONDS)
            return True
        await asyncio.to_thread(_kill_below, self._guard.pid)
        with contextlib.suppress(ProcessLookupError):
            self._guard.kill()
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
        while data := await stream.read(_PIECE):
            sink.feed(data)
    finally:
        sink.close()


def _kill_below(guard: int) -> None:
    with contextlib.suppress(psutil.Error):
        for process in psutil.Process(guard).children(recursive=True):
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
        return process.environ().get(_MARKER) == marker and process.status() != psutil.STATUS_ZOMBIE
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
