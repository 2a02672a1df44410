"""The processes below this one, as the kernel tells of them.

For the guard, which each start of a command waits for: nothing is imported that costs milliseconds.
Outside Linux psutil is asked instead.
"""

import os
import signal
import sys

TYPE_CHECKING = False  # which typing would cost a millisecond to say
if TYPE_CHECKING:
    from collections.abc import Callable

_PAGE = os.sysconf("SC_PAGE_SIZE")
#: Threads up to which each is asked for its children; a machine has some hundred processes in all.
_SMALL_TREE = 64
_TELLS_CHILDREN = os.path.exists(f"/proc/self/task/{os.getpid()}/children")  # noqa: PTH110


class Member:
    """One process; `resident` in bytes, pages shared with others included."""

    __slots__ = ("group", "is_zombie", "parent", "pid", "resident", "threads")

    def __init__(self, pid: int, parent: int, group: int, *, threads: int, resident: int, is_zombie: bool) -> None:
        self.pid = pid
        self.parent = parent
        self.group = group
        self.threads = threads
        self.resident = resident
        self.is_zombie = is_zombie


def descendants(most: int = sys.maxsize) -> list[Member]:
    """Returns every process that this one started or adopted, and theirs, zombies too; not many more than `most`."""
    return _from_proc(most) if sys.platform == "linux" else _from_psutil()


def glimpse(most: int) -> list[Member]:
    """The same at a fraction of the cost while the tree is small: from parent to child, past the rest of the machine.

    One that starts or ends meanwhile may keep another from being seen, so that this is no way to find all of them.
    """
    if not _TELLS_CHILDREN:
        return descendants(most)
    found: list[Member] = []
    waiting, left = [str(os.getpid())], _SMALL_TREE
    while waiting:
        name = waiting.pop()
        for thread in _entries(f"/proc/{name}/task"):
            left -= 1
            if left < 0:
                return descendants(most)
            for child in read_file(f"/proc/{name}/task/{thread}/children", 65_536).split():
                if member := _read(child.decode()):
                    found.append(member)
                    waiting.append(child.decode())
    return found


def _entries(folder: str) -> list[str]:
    try:
        return os.listdir(folder)  # noqa: PTH208 - pathlib costs 5 ms
    except OSError:  # its process has gone
        return []


def _from_proc(most: int) -> list[Member]:
    found: list[Member] = []
    family = {os.getpid()}
    others: list[Member] = []
    for pid in sorted(int(name) for name in os.listdir("/proc") if name.isdigit()):  # noqa: PTH208 - pathlib costs 5 ms
        member = _read(str(pid))
        if member is None:
            continue
        # Parents nearly always have the lower number, so that a tree that is too large is seen before its end.
        if member.parent in family:
            family.add(pid)
            found.append(member)
            if len(found) > most:
                return found
        else:
            others.append(member)
    while later := [member for member in others if member.parent in family and member.pid not in family]:
        family |= {member.pid for member in later}
        found += later
    return found


def _read(name: str) -> Member | None:
    data = read_file(f"/proc/{name}/stat", 4096)
    # The name of the program, in parentheses, may hold anything; proc_pid_stat(5) numbers what follows from 3.
    fields = data[data.rfind(b")") + 2 :].split()
    if len(fields) < 22:
        return None
    return Member(
        int(name),
        int(fields[1]),
        int(fields[2]),
        threads=int(fields[17]),
        resident=int(fields[21]) * _PAGE,
        is_zombie=fields[0] in b"ZX",
    )


def read_file(path: str, most: int) -> bytes:
    """Returns the beginning of a file of /proc; nothing when its process has gone or is somebody else's."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
        try:
            return os.read(descriptor, most)
        finally:
            os.close(descriptor)
    except OSError:
        return b""


def _from_psutil() -> list[Member]:
    import psutil

    found = []
    for process in psutil.Process().children(recursive=True):
        try:
            with process.oneshot():
                found.append(
                    Member(
                        process.pid,
                        process.ppid(),
                        os.getpgid(process.pid),
                        threads=process.num_threads(),
                        resident=process.memory_info().rss,
                        is_zombie=process.status() == psutil.STATUS_ZOMBIE,
                    )
                )
        except (psutil.Error, OSError):
            continue
    return found


def terminate() -> None:
    """Asks every descendant to end."""
    for member in descendants():
        _signal(os.kill, member.pid, signal.SIGTERM)


def kill() -> None:
    """Ends every descendant that there is, also one that starts others as fast as it can.

    All are stopped first, until no new one is found: what is stopped starts nothing.
    """
    if os.getpid() == 1:  # of a sandbox, where the kernel reaches all at once
        _signal(os.kill, -1, signal.SIGKILL)
        return
    stopped: set[int] = set()
    while new := [member for member in descendants() if member.pid not in stopped and not member.is_zombie]:
        _stop_groups(new)
        for member in new:
            _signal(os.kill, member.pid, signal.SIGSTOP)
            stopped.add(member.pid)
    for pid in stopped:
        _signal(os.kill, pid, signal.SIGKILL)


def _stop_groups(members: list[Member]) -> None:
    """Stops whole process groups, in the kernel, which no fork of a member can slip through."""
    # Each member left our own group with its session; that one is never stopped, whatever was read.
    for group in {member.group for member in members} - {os.getpgrp(), 0}:
        _signal(os.killpg, group, signal.SIGSTOP)


def _signal(send: "Callable[[int, int], None]", number: int, what: signal.Signals) -> None:
    try:
        send(number, what)
    except OSError:  # it has just ended by itself
        return
