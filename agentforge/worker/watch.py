"""Whether a tree of processes keeps to its limits: hard ones set by the kernel, and measurements of the whole."""

import os
import resource
import sys
import time

from agentforge.worker.disk import measure
from agentforge.worker.tree import Member, descendants, glimpse, read_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

POLL_SECONDS = 0.1
#: At most this share of a processor's time goes into looking at the processes of one tree.
_SHARE = 0.05
_DISK_PAUSE_SECONDS = 0.25
_DISK_SLICE_SECONDS = 0.01
_THREADS_PER_PROCESS = 16
_OPEN_FILES = 65_536
#: How much more than its limit the kernel lets one process have, at least.
_ROOM = 1024**3
#: How long the last look at the folders may take.
_LAST_LOOK_SECONDS = 2.0


def set_hard_limits(memory_bytes: int, processes: int, disk_bytes: int) -> None:
    """Bounds what one process can do before it is measured; for this process and those it will start.

    Private memory, written or not, and the size of one file may be twice the limit, and at least 1 GiB above it: who
    is over the limit itself is to be found and named, not to crash of it. RLIMIT_AS would count what Node and Java
    only reserve. RLIMIT_NPROC counts the threads of the whole user, and none of root's; so many more than are there
    now is enough for everybody, and stops a bomb. What a system does not know or allow is left out.
    """
    for kind, most in (
        (resource.RLIMIT_DATA, memory_bytes + max(memory_bytes, _ROOM)),
        (resource.RLIMIT_FSIZE, disk_bytes + max(disk_bytes, _ROOM)),
        (resource.RLIMIT_NOFILE, _OPEN_FILES),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_NPROC, _threads_here() + processes * _THREADS_PER_PROCESS),
    ):
        soft, hard = resource.getrlimit(kind)
        hard = most if hard == resource.RLIM_INFINITY else min(hard, most)
        try:
            resource.setrlimit(kind, (hard if soft == resource.RLIM_INFINITY else min(soft, hard), hard))
        except (OSError, ValueError):
            continue


def _threads_here() -> int:
    """The threads of everybody on this machine."""
    return int(read_file("/proc/loadavg", 4096).split()[3].split(b"/")[1]) if sys.platform == "linux" else 1024


def privilege() -> None:
    """Puts this process before those that it watches, as far as it may.

    A bomb whose thousands of processes have sessions of their own leaves others next to nothing of the processors,
    priorities or not: only the real-time policy, which is not inherited, comes first. Measuring folders takes two
    open files for each level.
    """
    try:  # noqa: SIM105 - contextlib costs the guard's start a millisecond
        os.sched_setscheduler(0, os.SCHED_RR | os.SCHED_RESET_ON_FORK, os.sched_param(1))
    except (AttributeError, OSError):  # only root may, on Linux
        pass
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


class Watch:
    """Measures the tree below this process. `next_seconds` is how long to wait before the next look."""

    def __init__(self, memory_bytes: int, processes: int, disk_bytes: int, folders: list[str]) -> None:
        self._memory_bytes = memory_bytes
        self._processes = processes
        self._disk_bytes = disk_bytes
        self._folders = folders
        self._walk: Iterator[int] = iter(())
        self._walked = 0
        self._next_walk = 0.0
        self._next_sharing = 0.0
        self.next_seconds = POLL_SECONDS

    def exceeded(self) -> str | None:
        """Takes one look and returns which limit the tree is over: `memory`, `process` or `disk`."""
        # Of this process alone: where others leave it little of the processors, it is not to look less often.
        begun = time.process_time()
        members = glimpse(self._processes)
        found = self._exceeded_by(members) or ("disk" if self._is_disk_exceeded(members) else None)
        self.next_seconds = max(POLL_SECONDS, (time.process_time() - begun) / _SHARE)
        return found

    def exceeded_at_last(self, *, has_members: bool) -> str | None:
        """The same when the command has ended; measures all of the folders, where that takes no more than two seconds.

        Without members nobody is looked for, which costs more than all else of a short command's guard.
        """
        members = descendants(self._processes) if has_members else []
        return self._exceeded_by(members) or ("disk" if self._is_disk_exceeded_now(members) else None)

    def _exceeded_by(self, members: list[Member]) -> str | None:
        if len(members) > self._processes or sum(m.threads for m in members) > self._processes * _THREADS_PER_PROCESS:
            return "process"
        return "memory" if self._is_memory_exceeded(members) else None

    def _is_memory_exceeded(self, members: list[Member]) -> bool:
        if sum(member.resident for member in members) <= self._memory_bytes:
            return False
        # Pages that several processes share were counted for each; asking how many are costs much more.
        now, begun = time.monotonic(), time.process_time()
        if now < self._next_sharing:
            return False
        held = sum(map(_proportional, members))
        self._next_sharing = now + (time.process_time() - begun) / _SHARE
        return held > self._memory_bytes

    def _is_disk_exceeded(self, members: list[Member]) -> bool:
        """Goes on with measuring for a moment, however much there is, and begins anew after a pause."""
        now = time.monotonic()
        if now < self._next_walk:
            return False
        found = self._walk_on(_DISK_SLICE_SECONDS)
        if found is False:
            self._begin_walk(members)
            self._next_walk = now + _DISK_PAUSE_SECONDS
        return bool(found)

    def _is_disk_exceeded_now(self, members: list[Member]) -> bool:
        self._begin_walk(members)
        return bool(self._walk_on(_LAST_LOOK_SECONDS))

    def _begin_walk(self, members: list[Member]) -> None:
        self._walk, self._walked = iter(measure(self._folders, members)), 0

    def _walk_on(self, seconds: float) -> bool | None:
        """Tells whether the folders hold too much; None when the time was over before all was measured."""
        deadline = time.monotonic() + seconds
        for size in self._walk:
            self._walked += size
            if self._walked > self._disk_bytes:
                return True
            if time.monotonic() > deadline:
                return None
        return False


def _proportional(member: Member) -> int:
    """The bytes of a process, shared pages divided by those who share them; as resident where that is not told."""
    for line in read_file(f"/proc/{member.pid}/smaps_rollup", 4096).splitlines():
        if line.startswith(b"Pss:"):
            return int(line.split()[1]) * 1024
    return member.resident
