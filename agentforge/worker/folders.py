"""The folders of workers: what one that was killed left on disk is removed by the next."""

import fcntl
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import structlog

from agentforge.worker.removal import remove_folder

log = structlog.get_logger()

_PREFIX: Final = "attempts-"


@contextmanager
def attempts_folder(directory: Path) -> Iterator[Path]:
    """A new folder in `directory` for the attempts of this process alone, removed at the end.

    Folders there whose processes have gone are removed first: agents wrote them, and may have written their secrets.
    A process holds a lock on its folder, which the kernel frees however the process ends.
    """
    with _locked(directory):
        for folder in directory.glob(f"{_PREFIX}*"):
            _remove_if_free(folder)
        own = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=directory))
        lock = os.open(own, os.O_RDONLY | os.O_DIRECTORY)
        fcntl.flock(lock, fcntl.LOCK_EX)
    try:
        yield own
    finally:
        _remove(own)
        os.close(lock)


@contextmanager
def _locked(directory: Path) -> Iterator[None]:
    """So that nobody finds a folder between its making and its locking."""
    lock = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


def _remove_if_free(folder: Path) -> None:
    try:
        lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError as error:
        log.warning("folder_left", directory=str(folder), error=str(error))
        return
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return
    else:
        _remove(folder)
    finally:
        os.close(lock)


def _remove(folder: Path) -> None:
    if left := remove_folder(folder):
        log.warning("folder_left", directory=str(folder), error=str(left))
