"""Removing what an attempt left behind, whatever it did to make that hard."""

import contextlib
import fcntl
import os
import stat
import struct
import sys
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Final

_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
# linux/fs.h
_GET_FLAGS: Final = 0x80086601
_SET_FLAGS: Final = 0x40086602
_HINDERING_FLAGS: Final = 0x10 | 0x20  # immutable, append only


def remove_folder(folder: Path) -> OSError | None:
    """Removes a folder and all in it, when the processes that wrote there have ended; returns what prevented it.

    Modes and flags that forbid it are changed first. Inner folders are first moved up into `folder` itself: so
    no path grows too long and nothing recurses, however deep they were. Links are removed, never followed; what
    is mounted inside stays.
    """
    try:
        _open_up(folder)
        top = os.open(folder, _FOLDER)
    except OSError as error:
        return error
    try:
        left = _Removal(top).run()
    finally:
        os.close(top)
    with contextlib.suppress(OSError):
        folder.rmdir()
        return None
    return left or OSError(f"{folder} is not empty")


class _Removal:
    def __init__(self, top: int) -> None:
        self._top = top
        self._names = map("moved-{}".format, count())
        self._stuck: set[str] = set()
        self._failed: OSError | None = None

    def run(self) -> OSError | None:
        """Removes what it can and returns the first error, if any."""
        while folders := [name for name in self._empty(self._top) if name not in self._stuck]:
            self._stuck.update(name for name in folders if not self._try(name, self._top, self._remove_inner))
        return self._failed

    def _empty(self, folder: int) -> list[str]:
        """Removes everything but folders, whose names it returns."""
        folders = []
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.name)
                else:
                    self._try(entry.name, folder, lambda name, inside: os.unlink(name, dir_fd=inside))
        return folders

    def _remove_inner(self, name: str, top: int) -> None:
        _open_up(name, top)
        inner = os.open(name, _FOLDER, dir_fd=top)
        try:
            for folder in self._empty(inner):
                self._try(folder, inner, self._move_up)
        finally:
            os.close(inner)
        os.rmdir(name, dir_fd=top)

    def _move_up(self, name: str, inside: int) -> None:
        _open_up(name, inside)  # its own mode counts, as its entry `..` changes
        os.rename(name, self._free_name(), src_dir_fd=inside, dst_dir_fd=self._top)

    def _free_name(self) -> str:
        for name in self._names:
            try:
                os.stat(name, dir_fd=self._top, follow_symlinks=False)
            except FileNotFoundError:
                return name
        raise AssertionError

    def _try(self, name: str, inside: int, remove: Callable[[str, int], None]) -> bool:
        try:
            try:
                remove(name, inside)
            except PermissionError:
                _make_mutable(name, inside)
                remove(name, inside)
        except OSError as error:
            self._failed = self._failed or error
            return False
        return True


def _open_up(folder: str | Path, inside: int | None = None) -> None:
    """Lets its owner read and change a folder."""
    if inside is None or stat.S_ISDIR(os.stat(folder, dir_fd=inside, follow_symlinks=False).st_mode):
        with contextlib.suppress(PermissionError):  # it may be readable all the same
            os.chmod(folder, stat.S_IRWXU, dir_fd=inside)


def _make_mutable(name: str, inside: int) -> None:
    """Takes away the flags of chattr(1) that forbid changes, of the entry and of the folder it is in."""
    if sys.platform != "linux":
        return
    for path, place in ((".", inside), (name, inside)):
        with contextlib.suppress(OSError):
            descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=place)
            try:
                (flags,) = struct.unpack("L", fcntl.ioctl(descriptor, _GET_FLAGS, bytes(struct.calcsize("L"))))
                fcntl.ioctl(descriptor, _SET_FLAGS, struct.pack("L", flags & ~_HINDERING_FLAGS))
            finally:
                os.close(descriptor)
