"""Starts one command and stays until it, and everything it started, has ended.

Forked by `guard_server`, or, in a sandbox, run by its path with arguments of this shape:

    CONTROL STREAMS MEMORY_BYTES PROCESSES DISK_BYTES FOLDER... -- COMMAND...

CONTROL is a socket to the worker, which sends the command's variables over it: guard and sandbox have none of them,
as some (`LD_PRELOAD`) would have any program run what an environment's author likes. STREAMS is `0`, or the descriptor
of standard input, with that of standard output the next one, where a sandbox has taken their places. As the subreaper
of its command it becomes the parent of every orphan, so a double-forked daemon in a session of its own is still
found, and belongs to one attempt without doubt. When the socket closes, be it that the worker asks or that the worker
was killed, the tree is ended: SIGTERM, a grace, SIGKILL. A tree over one of its limits gets no grace. Outside Linux
there are no subreapers, so there orphans escape.

It reports lines: `started PID` or `error REASON`; then perhaps `limit KIND`; then `exit CODE` (negative for a
signal); and `gone` when nothing is left.
"""

import math
import os
import select
import signal
import sys
import time

# Isolated and without `site`, which each start would wait for.
sys.path.append(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))  # noqa: PTH100, PTH120

from agentforge.worker import tree
from agentforge.worker.watch import POLL_SECONDS, Watch, privilege, set_hard_limits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

_prctl = None
if sys.platform == "linux":
    import ctypes

    _prctl = ctypes.CDLL(None).prctl

LENGTH_BYTES = 8
GRACE_SECONDS = 2.0
_KILL_SECONDS = 0.01
#: Of a report; the name of a program that cannot be started may be as long as one likes, and stands in the reason.
_LINE_BYTES = 4096
_SET_DUMPABLE, _SET_CHILD_SUBREAPER = 4, 36  # linux/prctl.h
_IGNORED = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


def main() -> None:
    separator = sys.argv.index("--")
    control, streams, memory_bytes, processes, disk_bytes = map(int, sys.argv[1:6])
    os.set_inheritable(control, False)
    if streams:
        os.dup2(streams, 0)
        os.dup2(streams + 1, 1)
        os.closerange(streams, streams + 2)
    # The worker says when it knows this process, so that a start given up midway leaves no command behind.
    if variables := read_request(control):
        env = dict(one.split("=", 1) for one in os.fsdecode(variables).split("\0"))
        os.environ["PATH"] = env.get("PATH", os.defpath)
        command, folders = sys.argv[separator + 1 :], sys.argv[6:separator]
        stay(control, command, env, memory_bytes, processes, disk_bytes, folders=folders)


def read_request(control: int) -> bytes:
    """What the worker sends before anything starts, behind its length; nothing when it gave up."""
    length = _read_exactly(control, LENGTH_BYTES)
    return _read_exactly(control, int.from_bytes(length)) if length else b""


def _read_exactly(control: int, count: int) -> bytes:
    """So many bytes, or none where the stream ends before."""
    found = b""
    while len(found) < count:
        if not (piece := os.read(control, count - len(found))):
            return b""
        found += piece
    return found


def stay(
    control: int,
    command: list[str],
    env: "Mapping[str, str]",
    memory_bytes: int,
    processes: int,
    disk_bytes: int,
    *,
    folders: list[str],
) -> None:
    """Starts the command and returns when its whole tree has ended. It is looked for in this process's PATH."""
    if _prctl is not None:
        _prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    cannot_be_traced()
    woken = _wake_on_children()
    set_hard_limits(memory_bytes, processes, disk_bytes)
    try:
        pid = _spawn(command, env)
    except (OSError, ValueError) as error:
        report(control, f"error {error}")
        return
    _release_standard_streams()
    report(control, f"started {os.getpid()}")
    privilege()
    Guard(pid, control, woken, Watch(memory_bytes, processes, disk_bytes, folders)).stay()
    report(control, "gone")


def cannot_be_traced() -> None:
    """What a guard watches has the same user, who may else trace it: stop it, or have it report what he likes."""
    if _prctl is not None:
        _prctl(_SET_DUMPABLE, 0, 0, 0, 0)


def _wake_on_children() -> int:
    """Returns a pipe that can be read whenever a child has ended."""
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    os.set_blocking(writing, False)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    for number in _IGNORED:
        signal.signal(number, signal.SIG_IGN)
    return reading


def _spawn(command: list[str], env: "Mapping[str, str]") -> int:
    # Python ignores the last two itself; an ignored signal would be inherited.
    defaults = [*_IGNORED, signal.SIGPIPE, signal.SIGXFSZ]
    return os.posix_spawnp(command[0], command, env, setsid=True, setsigdef=defaults)


def _release_standard_streams() -> None:
    """Lets the command's readers see the end of its output when it ends."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)


def report(control: int, line: str) -> None:
    """Tells the worker, if it is there still."""
    try:
        text = line.replace("\n", " ").encode("utf-8", "backslashreplace")
        os.write(control, text[:_LINE_BYTES] + b"\n")
    except OSError:  # the worker may be gone
        return


class Guard:
    """Watches over the tree of one command."""

    def __init__(self, command: int, control: int, woken: int, watch: Watch) -> None:
        self._command = command
        self._control = control
        self._woken = woken
        self._watch = watch
        self._deadline = math.inf  # when the grace ends, once the tree has been asked to end

    def stay(self) -> None:
        """Returns when there is no child left: with none, there is no descendant either."""
        next_look = time.monotonic() + POLL_SECONDS  # what has just begun holds nothing yet
        while self._reap():
            now = time.monotonic()
            if now >= self._deadline:
                tree.kill()
                # What was killed takes a moment to be gone, or may have been missed.
                self._wait(_KILL_SECONDS)
                continue
            if now >= next_look:
                self._look()
                next_look = time.monotonic() + self._watch.next_seconds
            self._wait(min(next_look, self._deadline) - time.monotonic())

    def _wait(self, seconds: float) -> None:
        # Once closed the socket can always be read, so nobody listens to it any more.
        ears = [self._woken, self._control] if self._deadline == math.inf else [self._woken]
        ready, _, _ = select.select(ears, [], [], max(0.0, seconds))
        if self._control in ready:
            self._end()
        if self._woken in ready:
            os.read(self._woken, 65_536)

    def _look(self) -> None:
        self._note(self._watch.exceeded())

    def _note(self, limit: str | None) -> None:
        if limit:
            report(self._control, f"limit {limit}")
            self._deadline = 0.0

    def _end(self) -> None:
        if self._deadline == math.inf:
            self._deadline = time.monotonic() + GRACE_SECONDS
            tree.terminate()

    def _reap(self) -> bool:
        """Takes note of the children that ended; whether there are others."""
        code, has_others = None, True
        try:
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                if ended[0] == self._command:
                    code = os.waitstatus_to_exitcode(ended[1])
        except ChildProcessError:
            has_others = False
        if code is not None:
            self._conclude(code, has_others=has_others)
        return has_others

    def _conclude(self, code: int, *, has_others: bool) -> None:
        if self._deadline == math.inf:
            # Whoever goes too far and ends between two looks, perhaps of it, is to be found as well.
            self._note(self._watch.exceeded_at_last(has_members=has_others))
        report(self._control, f"exit {code}")
        if has_others:
            self._end()


if __name__ == "__main__":
    main()
