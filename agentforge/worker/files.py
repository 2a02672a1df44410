"""Files that an agent leaves in its workspace, kept whatever their names, and never by way of a link.

Each folder is opened beside its parent's descriptor without following links, so that what a name leads to is inside of
the workspace. To be run in a thread, after the agent has ended.
"""

import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from itertools import islice
from pathlib import Path
from typing import Final

from agentforge.worker.redaction import Redactor

FILE_BYTES: Final = 16 * 1024 * 1024
MOST_KEPT: Final = 200
MOST_LISTED: Final = 1000
MOST_LEVELS: Final = 64  # each holds a descriptor
MOST_ENTRIES: Final = 100_000
_READ: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK

#: Patterns by their names, of which the first is for the entries of the folder at hand; an empty one is fulfilled.
_Patterns = frozenset[tuple[str, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptFile:
    """`path` may hold lone surrogates, which stand for bytes that are no UTF-8.

    `byte_size` is that of `content`, or of a file that was left out for the reason `omitted`.
    """

    path: str
    byte_size: int
    content: bytes | None = None
    omitted: str | None = None


@dataclass(frozen=True, slots=True)
class Kept:
    """`remarks` tell what is not in the list."""

    files: tuple[KeptFile, ...] = ()
    remarks: tuple[str, ...] = ()


def read_trajectory(workspace: Path, redactor: Redactor) -> KeptFile | None:
    """Returns the trajectory.json that an agent left; None if there is none."""
    try:
        with _opened(workspace) as folder:
            status = os.stat("trajectory.json", dir_fd=folder, follow_symlinks=False)
            return _read(folder, "trajectory.json", "trajectory.json", status, redactor)
    except OSError:
        return None


def keep_files(workspace: Path, patterns: Sequence[str], most_bytes: int, redactor: Redactor) -> Kept:
    """Returns the files that fit the manifest's patterns, in the order of their names, up to all limits.

    `most_bytes` is what they may hold in all. What does not fit is in the list too, with the reason.
    """
    keeping = _Keeping(redactor, most_bytes)
    remarks: list[str] = []
    if patterns:
        try:
            with _opened(workspace) as folder:
                keeping.walk(folder, "", _begun(frozenset(map(_names, patterns))), MOST_LEVELS)
        except OSError as error:
            remarks.append(f"the workspace cannot be read: {error.strerror}")
    return Kept(tuple(keeping.files), (*remarks, *keeping.remarks()))


@contextmanager
def _opened(folder: Path | str, parent: int | None = None) -> Iterator[int]:
    descriptor = os.open(folder, _READ | os.O_DIRECTORY, dir_fd=parent)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _read(folder: int, name: str, path: str, status: os.stat_result, redactor: Redactor) -> KeptFile:
    left_out = KeptFile(path=path, byte_size=status.st_size)
    if not stat.S_ISREG(status.st_mode):
        return replace(left_out, omitted="not a regular file")
    if status.st_size > FILE_BYTES:
        return replace(left_out, omitted=f"more than {FILE_BYTES} bytes")
    try:
        with os.fdopen(os.open(name, _READ, dir_fd=folder), "rb") as file:
            content = redactor.data(file.read(status.st_size))
    except OSError as error:
        return replace(left_out, omitted=f"cannot be read: {error.strerror}")
    return KeptFile(path=path, byte_size=len(content), content=content)


@dataclass(slots=True)
class _Keeping:
    redactor: Redactor
    bytes_left: int
    kept_left: int = MOST_KEPT
    entries_left: int = MOST_ENTRIES
    files: list[KeptFile] = field(default_factory=list)
    unlisted: int = 0
    unlisted_bytes: int = 0

    def walk(self, folder: int, path: str, patterns: _Patterns, levels: int) -> None:
        for entry in self._entries(folder):
            after = _begun(_advanced(patterns, entry.name))
            if not entry.is_dir(follow_symlinks=False):
                if () in after:
                    self._take(folder, entry, path + entry.name)
            elif after - {()}:
                self._descend(folder, entry.name, f"{path}{entry.name}/", after, levels - 1)

    def remarks(self) -> Iterator[str]:
        if self.unlisted:
            yield f"{self.unlisted} more artifacts of {self.unlisted_bytes} bytes were neither kept nor listed"
        if self.entries_left < 0:
            yield f"artifacts were looked for among the first {MOST_ENTRIES} files and folders only"

    def _entries(self, folder: int) -> list[os.DirEntry[str]]:
        most = max(self.entries_left, 0)
        with os.scandir(folder) as found:
            entries = list(islice(found, most + 1))
        self.entries_left -= len(entries)
        return sorted(entries[:most], key=lambda entry: os.fsencode(entry.name))

    def _descend(self, folder: int, name: str, path: str, patterns: _Patterns, levels: int) -> None:
        try:
            if levels == 0:
                raise OSError(0, f"more than {MOST_LEVELS} levels deep")
            with _opened(name, folder) as descriptor:
                self.walk(descriptor, path, patterns, levels)
        except OSError as error:
            self._list(KeptFile(path=path, byte_size=0, omitted=f"a folder that cannot be read: {error.strerror}"))

    def _take(self, folder: int, entry: os.DirEntry[str], path: str) -> None:
        status = entry.stat(follow_symlinks=False)
        left_out = KeptFile(path=path, byte_size=status.st_size)
        if stat.S_ISREG(status.st_mode) and not self.kept_left:
            self._list(replace(left_out, omitted=f"more than {MOST_KEPT} files"))
        elif self.bytes_left < status.st_size <= FILE_BYTES:
            self._list(replace(left_out, omitted="more than is left of limits.artifact_bytes"))
        else:
            self._list(_read(folder, entry.name, path, status, self.redactor))

    def _list(self, file: KeptFile) -> None:
        if len(self.files) == MOST_LISTED:
            self.unlisted += 1
            self.unlisted_bytes += file.byte_size
            return
        self.files.append(replace(file, path=self.redactor.text(file.path)))
        if file.content is not None:
            self.kept_left -= 1
            self.bytes_left -= file.byte_size


def _names(pattern: str) -> tuple[str, ...]:
    names = tuple(pattern.split("/"))
    return (*names, "*") if names[-1] == "**" else names


def _advanced(patterns: _Patterns, name: str) -> _Patterns:
    """What is left of each pattern beneath an entry of this name; `**` may take any number of folders."""
    return frozenset(
        names if names[0] == "**" else names[1:]
        for names in patterns
        if names and (names[0] == "**" or fnmatchcase(name, names[0]))
    )


def _begun(patterns: _Patterns) -> _Patterns:
    """Adds what is left of patterns whose `**` takes no further folder."""
    found = set(patterns)
    for names in patterns:
        while names and names[0] == "**":
            names = names[1:]
            found.add(names)
    return frozenset(found)
