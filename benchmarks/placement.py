"""Which cores the processes of a measurement may use."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import psutil


def can_be_apart() -> bool:
    """Whether this is Linux, with more than one core."""
    return sys.platform == "linux" and len(os.sched_getaffinity(0)) > 1


def _hold(processes: list[psutil.Process], cores: set[int]) -> None:
    for process in processes:
        with suppress(ProcessLookupError):
            os.sched_setaffinity(process.pid, cores)


@contextmanager
def database_apart(postmaster: psutil.Process, service: psutil.Process) -> Iterator[None]:
    """One core for the database's processes, those to come too, and the others for the service and its clients."""
    cores = os.sched_getaffinity(0)
    theirs = [postmaster, *postmaster.children()]
    ours = [psutil.Process(), service]
    _hold(theirs, {min(cores)})
    _hold(ours, cores - {min(cores)})
    try:
        yield
    finally:
        _hold([*theirs, *ours, *postmaster.children()], cores)
