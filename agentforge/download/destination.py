"""Where lines go: a file that gets its name when it is whole, or a pipe."""

import errno
import fcntl
import gzip
import os
import signal
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Protocol

import zstandard

from agentforge.download.errors import DownloadError


class Destination(Protocol):
    def write(self, lines: bytes) -> None: ...

    def start_over(self) -> None:
        """Takes back what was written. Raises DownloadError where that cannot be."""


class Pipe:
    """Standard output. When its reader leaves, the process ends as any other in a pipeline does."""

    def __init__(self) -> None:
        self._is_empty = True

    def write(self, lines: bytes) -> None:
        self._is_empty = False
        try:
            sys.stdout.buffer.write(lines)
            sys.stdout.buffer.flush()
        except BrokenPipeError:
            signal.signal(signal.SIGPIPE, signal.SIG_DFL)
            signal.raise_signal(signal.SIGPIPE)

    def start_over(self) -> None:
        if not self._is_empty:
            raise DownloadError(
                "The transfer broke off, and this export can only be started over, not gone on with; "
                "what is in the pipe cannot be taken back."
            )


class File:
    """Lines in a file open for writing, compressed as the name of its target says."""

    def __init__(self, raw: BinaryIO, suffix: str) -> None:
        self._raw = raw
        self._suffix = suffix
        self._coded = self._coder()

    def _coder(self) -> BinaryIO:
        if self._suffix == ".zst":
            return zstandard.ZstdCompressor(write_checksum=True).stream_writer(self._raw, closefd=False)
        if self._suffix == ".gz":
            return gzip.GzipFile(filename="", mode="wb", fileobj=self._raw, mtime=0)  # type: ignore[return-value]
        return self._raw

    def write(self, lines: bytes) -> None:
        self._coded.write(lines)

    def start_over(self) -> None:
        self.finish()  # whatever the coder still holds, so that it comes before the cut
        self._raw.seek(0)
        self._raw.truncate()
        self._coded = self._coder()

    def finish(self) -> None:
        if self._coded is not self._raw:
            self._coded.close()
        self._raw.flush()


@contextmanager
def new_file(path: Path) -> Iterator[File]:
    """A file beside `path` that takes its place at the end of the block, or is removed when that raises.

    Raises DownloadError when `path` is something else than a file or another process writes here too, OSError.
    """
    target = path.resolve()
    if target.exists() and not target.is_file():
        raise DownloadError(f"{path} is there and is no file; - writes to standard output.")
    partial = target.with_name(f".{target.name}.part")
    with _locked(partial) as raw:
        try:
            file = File(raw, target.suffix)
            yield file
            file.finish()
            os.fsync(raw.fileno())
            partial.replace(target)
        except BaseException:
            partial.unlink(missing_ok=True)
            raise


@contextmanager
def _locked(partial: Path) -> Iterator[BinaryIO]:
    """The file, empty, and this process's alone. One that was left by a killed process is taken over."""
    while True:
        with os.fdopen(_opened(partial), "ab") as raw:
            try:
                fcntl.flock(raw, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise DownloadError(f"Another process is writing {partial}.") from None
            # Whoever held the lock until now may have given the file its name, or removed it.
            if partial.exists() and partial.stat().st_ino == os.fstat(raw.fileno()).st_ino:
                raw.truncate(0)
                yield raw
                return


def _opened(partial: Path) -> int:
    """A file and nothing that its name may stand for besides: in a shared folder somebody may have put that there."""
    try:
        descriptor = os.open(partial, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK, 0o666)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENXIO, errno.EISDIR):
            raise _not_a_file(partial) from error
        raise
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode) or found.st_nlink > 1:
        os.close(descriptor)
        raise _not_a_file(partial)
    return descriptor


def _not_a_file(partial: Path) -> DownloadError:
    return DownloadError(f"{partial}, where lines are to be written, is there and is no file of its own.")
