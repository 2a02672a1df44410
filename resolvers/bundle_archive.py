"""A bundle's archive, read with suspicion: a tar compressed with zstandard, of files and folders alone."""

import io
import tarfile
from dataclasses import dataclass, field
from pathlib import PureWindowsPath
from typing import TYPE_CHECKING, Self

import zstandard

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

MAX_FILES = 10_000
MAX_UNPACKED_BYTES = 256 * 1024 * 1024
MAX_PATH_BYTES = 1024
MAX_NAME_BYTES = 255

TOO_LARGE = f"files take more than {MAX_UNPACKED_BYTES:,} bytes unpacked; keep large data out of the bundle"
TOO_MANY = f"there are more than {MAX_FILES:,} files and folders; keep generated files out of the bundle"

# Enough for every compression level below 20; more would be the sender's choice of our memory.
_MAX_WINDOW_BYTES = 8 * 1024 * 1024
# A compressed block takes 4 bytes or more and yields 128 KiB at most: so a slice never yields over 16 MiB.
_SLICE_BYTES = 512
# Headers, a long name's own record and padding take less than 4 KiB a member.
_MAX_TAR_BYTES = MAX_UNPACKED_BYTES + MAX_FILES * 4096 + tarfile.RECORDSIZE
_MAX_LONG_NAME_BYTES = 2 * MAX_PATH_BYTES
_END_OF_ARCHIVE_BYTES = 2 * tarfile.BLOCKSIZE
_REPACK = "pack the folder again with `agentforge environment publish`"


class BundleError(ValueError):
    """These files cannot become a bundle, or these bytes are none; the message says why and what to do."""


def problem_with_name(name: str) -> str | None:
    """What hinders this path inside a bundle on any system, worded to follow the name."""
    parts = name.split("/")
    try:
        longest = max(len(part.encode()) for part in parts)
    except UnicodeEncodeError:
        return "has a name that is not UTF-8"
    if longest > MAX_NAME_BYTES or len(name.encode()) > MAX_PATH_BYTES:
        return f"is longer than {MAX_NAME_BYTES} bytes, or {MAX_PATH_BYTES} with its folders"
    if "\0" in name or "\\" in name:
        return "has a backslash or a NUL in its name"
    if name.startswith("/") or PureWindowsPath(name).drive:
        return "has an absolute path, or a drive letter"
    if not {"", ".", ".."}.isdisjoint(parts):
        return "has an empty part, '.' or '..' in its path"
    return None


class _Member(tarfile.TarInfo):
    """A header refused before tarfile acts on it, unless it is of a file, a folder or a long name."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> Self:
        member = super().frombuf(buf, encoding, errors)
        if member.type not in (tarfile.REGTYPE, tarfile.AREGTYPE, tarfile.DIRTYPE, tarfile.XHDTYPE):
            raise BundleError(
                f"{member.name!r} is a link, a device or of another kind (tar type {member.type!r}); "
                "a bundle holds only files and folders"
            )
        # tarfile would read a long name into memory whatever its size, and no data after a folder.
        most = {tarfile.XHDTYPE: _MAX_LONG_NAME_BYTES, tarfile.DIRTYPE: 0}.get(member.type, MAX_UNPACKED_BYTES)
        if not 0 <= member.size <= most:
            raise BundleError(f"{member.name!r} has a size of {member.size:,} bytes, which no bundle has; {_REPACK}")
        return member


class _Unpacked(io.RawIOBase):
    """The tar inside the archive, decompressed a little at a time and only forward."""

    def __init__(self, content: bytes) -> None:
        self._content = memoryview(content)
        self._position = 0
        self._pending = memoryview(b"")
        self._frame = zstandard.ZstdDecompressor(max_window_size=_MAX_WINDOW_BYTES).decompressobj()
        self._length = 0
        self._end_of_data = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "WriteableBuffer", /) -> int:
        while not self._pending and not self._frame.eof and self._position < len(self._content):
            piece = self._content[self._position : self._position + _SLICE_BYTES]
            self._position += len(piece)
            self._pending = memoryview(self._frame.decompress(piece))
        target = memoryview(buffer)
        part = self._pending[: len(target)]
        target[: len(part)] = part
        self._pending = self._pending[len(part) :]
        if data := bytes(part).rstrip(b"\0"):
            self._end_of_data = self._length + len(data)
        self._length += len(part)
        if self._length > _MAX_TAR_BYTES:
            raise BundleError(TOO_LARGE)
        return len(part)

    def check_end(self, end_of_members: int) -> None:
        """Read to the end: only zeros may follow the members, and nothing the compressed frame."""
        while self.read(tarfile.RECORDSIZE):
            pass
        if not self._frame.eof or self._length < end_of_members + _END_OF_ARCHIVE_BYTES:
            raise BundleError("the archive ends too early; send it again, whole")
        surplus = self._frame.unused_data or self._position < len(self._content)
        # tarfile takes a damaged header for the end of the archive without a word.
        if surplus or self._end_of_data > end_of_members:
            raise BundleError(f"the archive has other bytes after its last file; {_REPACK}")


@dataclass(slots=True)
class _Contents:
    """What the archive listed so far; a folder has to stand before what it holds, so nothing conflicts."""

    folders: set[str] = field(default_factory=lambda: {""})
    names: set[str] = field(default_factory=set)
    unpacked_bytes: int = 0

    def add(self, member: tarfile.TarInfo) -> None:
        name = member.name
        if problem := problem_with_name(name) or self._problem_with_member(member):
            raise BundleError(f"{name!r} {problem}; {_REPACK}")
        self.names.add(name)
        if member.isdir():
            self.folders.add(name)
        else:
            self.unpacked_bytes += member.size
        if len(self.names) > MAX_FILES:
            raise BundleError(TOO_MANY)
        if self.unpacked_bytes > MAX_UNPACKED_BYTES:
            raise BundleError(TOO_LARGE)

    def _problem_with_member(self, member: tarfile.TarInfo) -> str | None:
        if member.mode & ~0o777:
            return "has a set-user, set-group or sticky bit"
        if not member.pax_headers.keys() <= {"path"}:
            return "has tar extensions"
        if member.name in self.names:
            return "stands in the archive twice"
        if member.name.rpartition("/")[0] not in self.folders:
            return "is not preceded by its folder"
        return None


def check_archive(content: bytes) -> None:
    """Read the archive through, writing nothing and holding no more than some megabytes of it unpacked.

    Raises BundleError unless it is whole, within the limits, and of plain files and folders alone, each
    under a name of its own that stays inside.
    """
    source, contents, end = _Unpacked(content), _Contents(), 0
    try:
        with _open(source) as tar:
            for member in tar:
                contents.add(member)
                blocks = -(-member.size // tarfile.BLOCKSIZE)
                end = member.offset_data + blocks * tarfile.BLOCKSIZE
        source.check_end(end)
    except BundleError:
        raise
    # tarfile recurses once for each of a chain of long-name records, and meets broken names as ValueError.
    except (tarfile.TarError, zstandard.ZstdError, ValueError, RecursionError) as error:
        raise BundleError(f"the bytes are not a tar archive compressed with zstandard; {_REPACK}") from error


def open_archive(content: bytes) -> tarfile.TarFile:
    """The archive's members, to be read once and in order."""
    return _open(_Unpacked(content))


def _open(source: _Unpacked) -> tarfile.TarFile:
    return tarfile.open(fileobj=source, mode="r|", tarinfo=_Member, encoding="utf-8", errors="strict")
