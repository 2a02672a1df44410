"""The server that forks guards, as its worker knows it; see `guard_server`."""

import signal
import socket
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from agentforge.worker import guard_server

_END_SECONDS: Final = 5.0


class Guards:
    """A server that forks guards, started when it is needed first, and again when somebody has ended it.

    Leaving its context ends the server; guards go on until their commands have ended.
    """

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._socket: socket.socket | None = None

    def fork(self, descriptors: Sequence[int]) -> None:
        """Asks for a guard with these descriptors: control socket, standard input, output and error. Raises OSError."""
        if self._process is None or self._process.poll() is not None:
            self.start()
        assert self._socket
        try:
            socket.send_fds(self._socket, [b"!"], descriptors)
        except ConnectionError:  # it has just ended
            self.start()
            socket.send_fds(self._socket, [b"!"], descriptors)

    def wake(self) -> None:
        """An agent that may send signals to this user's processes may have stopped it."""
        if self._process:
            self._process.send_signal(signal.SIGCONT)

    def start(self) -> None:
        """Starts the server, anew where it has ended. Raises OSError."""
        self.close()
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                self._process = subprocess.Popen(
                    [sys.executable, "-I", "-S", str(Path(guard_server.__file__)), str(theirs.fileno())],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    env={},
                    cwd="/",
                    pass_fds=[theirs.fileno()],
                    start_new_session=True,
                )
            except BaseException:
                ours.close()
                raise
        ours.setblocking(False)
        self._socket = ours

    def close(self) -> None:
        """Ends the server."""
        if self._socket:
            self._socket.close()
        if self._process:
            self.wake()
            try:
                self._process.wait(_END_SECONDS)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        self._process = self._socket = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()
