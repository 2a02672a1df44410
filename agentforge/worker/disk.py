"""What a tree of processes keeps on disk, measured a little at a time."""

import errno
import os
import stat
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator

    from agentforge.worker.tree import Member

#: A file or folder costs at least a block, however small: millions of empty ones fill a disk too.
LEAST_BYTES = 4096
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_DEEP = 1 << 62


def measure(folders: "Iterable[str]", members: "Iterable[Member]") -> "Generator[int, None, None]":
    """Yields the bytes of one file or folder after the other, in blocks as the file system counts them.

    Links are not followed, other file systems not entered, several names of one file counted once. Files without
    a name that the processes hold open are counted too; a folder that its owner removed holds nothing. Folders
    nested so deep that descriptors run out, some thousands, count as endless.
    """
    seen: set[tuple[int, int]] = set()
    for folder in folders:
        try:
            yield from _walk(folder, seen)
        except OSError as error:
            yield _DEEP if error.errno in (errno.EMFILE, errno.ENFILE) else 0
    if sys.platform == "linux":
        for member in members:
            yield from _nameless(member.pid, seen)


def _walk(folder: str, seen: set[tuple[int, int]]) -> "Generator[int, None, None]":
    if (top := _open(folder)) is None:
        return
    levels = [top]
    try:
        device = os.fstat(top.descriptor).st_dev
        while levels:
            entry = next(levels[-1].entries, None)
            if entry is None:
                levels.pop().close()
                continue
            status = _status(entry)
            if status is None or status.st_dev != device:
                continue
            yield _size(status, seen)
            if stat.S_ISDIR(status.st_mode) and (inner := _open(entry.name, levels[-1].descriptor)):
                levels.append(inner)
    finally:
        for level in levels:
            level.close()


class _Level:
    """An open folder; `closed_mode` is the mode to be given back to one that its owner had closed to everybody."""

    def __init__(self, descriptor: int, closed_mode: int | None = None) -> None:
        self.descriptor = descriptor
        self.closed_mode = closed_mode
        self.entries = self._scan()

    def _scan(self) -> "Iterator[os.DirEntry[str]]":
        try:
            return os.scandir(self.descriptor)
        except OSError:
            self.close()
            raise

    def close(self) -> None:
        if self.closed_mode is not None:
            os.fchmod(self.descriptor, self.closed_mode)
        os.close(self.descriptor)


def _status(entry: "os.DirEntry[str]") -> os.stat_result | None:
    try:
        return entry.stat(follow_symlinks=False)
    except OSError:  # removed meanwhile
        return None


def _size(status: os.stat_result, seen: set[tuple[int, int]]) -> int:
    if status.st_nlink > 1 and not stat.S_ISDIR(status.st_mode):
        if (status.st_dev, status.st_ino) in seen:
            return 0
        seen.add((status.st_dev, status.st_ino))
    return max(status.st_blocks * 512, LEAST_BYTES)


def _open(name: str, folder: int | None = None) -> _Level | None:
    """Opens a folder, also one that its owner has closed to everybody; None when it has gone."""
    try:
        descriptor = os.open(name, _FOLDER, dir_fd=folder)
    except PermissionError:
        return _open_closed(name, folder)
    except (FileNotFoundError, NotADirectoryError):
        return None
    if os.fstat(descriptor).st_mode & stat.S_IXUSR:
        return _Level(descriptor)
    os.close(descriptor)  # its entries could be read, but not how large they are
    return _open_closed(name, folder)


def _open_closed(name: str, folder: int | None) -> _Level | None:
    if sys.platform != "linux":
        return None
    try:
        place = os.open(name, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=folder)
    except OSError:
        return None
    path = f"/proc/self/fd/{place}"
    try:
        mode = stat.S_IMODE(os.fstat(place).st_mode)
        os.chmod(path, mode | stat.S_IRUSR | stat.S_IXUSR)  # noqa: PTH101
        return _Level(os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC), mode)
    except OSError:
        return None
    finally:
        os.close(place)


def _nameless(pid: int, seen: set[tuple[int, int]]) -> "Generator[int, None, None]":
    try:
        entries = os.scandir(f"/proc/{pid}/fd")
    except OSError:
        return
    with entries:
        for entry in entries:
            try:
                status = entry.stat()
            except OSError:
                continue
            file = (status.st_dev, status.st_ino)
            if stat.S_ISREG(status.st_mode) and status.st_nlink == 0 and file not in seen:
                seen.add(file)
                yield status.st_blocks * 512
            else:
                yield 0
