"""Starts one command and stays until it, and everything it started, has ended.

Run by its path in a process of its own (see `processes`), with a socket to the worker as first argument.
As the subreaper of its command it becomes the parent of every orphan, so a double-forked daemon in a
session of its own is still found, and belongs to one attempt without doubt. When the socket closes, be it
that the worker asks or that the worker was killed, the tree is ended: SIGTERM, a grace, SIGKILL. Outside
Linux there are no subreapers, so there orphans escape.

It reports two lines: `started` or `error REASON`, then `exit CODE` (negative for a signal).
"""

import contextlib
import ctypes
import os
import signal
import socket
import sys
import threading
import time
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import psutil

GRACE_SECONDS: Final = 2.0
_SET_CHILD_SUBREAPER: Final = 36  # linux/prctl.h
_IGNORED: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


def main() -> None:
    control = socket.socket(fileno=int(sys.argv[1]))
    control.set_inheritable(False)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    for number in _IGNORED:
        signal.signal(number, signal.SIG_IGN)
    # The worker says when it knows this process, so that a start given up midway leaves no command behind.
    if not control.recv(1):
        return
    try:
        command = _spawn(sys.argv[2:])
    except (OSError, ValueError) as error:
        _report(control, f"error {error}")
        return
    _release_standard_streams()
    _report(control, "started")
    threading.Thread(target=_end_when_told, args=(control,), daemon=True).start()
    _reap(command, control)


def _spawn(command: list[str]) -> int:
    # Python ignores the last two itself; an ignored signal would be inherited.
    defaults = [*_IGNORED, signal.SIGPIPE, signal.SIGXFSZ]
    return os.posix_spawnp(command[0], command, os.environ, setsid=True, setsigdef=defaults)


def _release_standard_streams() -> None:
    """Lets the command's readers see the end of its output when it ends."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)


def _report(control: socket.socket, line: str) -> None:
    with contextlib.suppress(OSError):  # the worker may be gone
        control.sendall(line.replace("\n", " ").encode("utf-8", "backslashreplace") + b"\n")


def _reap(command: int, control: socket.socket) -> None:
    """Waits until there is no child left: with none, there is no descendant either."""
    while True:
        try:
            process, status = os.waitpid(-1, 0)
        except ChildProcessError:
            return
        if process == command:
            _report(control, f"exit {os.waitstatus_to_exitcode(status)}")
            threading.Thread(target=_end_descendants, daemon=True).start()


def _end_when_told(control: socket.socket) -> None:
    control.recv(1)
    _end_descendants()


def _end_descendants() -> None:
    # Imported late: it takes longer than all else here, and most commands leave nothing behind.
    import psutil

    own = psutil.Process()
    deadline = time.monotonic() + GRACE_SECONDS
    _signal(own.children(recursive=True), signal.SIGTERM)
    time.sleep(max(0, deadline - time.monotonic()))
    while True:  # until `_reap` ends this process
        _signal(own.children(recursive=True), signal.SIGKILL)
        time.sleep(0.01)


def _signal(processes: "list[psutil.Process]", number: signal.Signals) -> None:
    import psutil

    for process in processes:
        with contextlib.suppress(psutil.Error):  # it has just ended by itself
            process.send_signal(number)


if __name__ == "__main__":
    main()
    os._exit(0)  # a thread may still be asleep in its grace
