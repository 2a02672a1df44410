"""An environment's own files as one content-addressed archive: packed, checked, unpacked."""

import hashlib
import io
import os
import re
import shutil
import stat
import tarfile
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import zstandard

from resolvers.bundle_archive import (
    MAX_FILES,
    MAX_UNPACKED_BYTES,
    TOO_LARGE,
    TOO_MANY,
    BundleError,
    check_archive,
    open_archive,
    problem_with_name,
)

__all__ = ["Bundle", "BundleError", "check_bundle", "pack_bundle", "unpack_bundle", "unpacked_bundle"]

MAX_PACKED_BYTES = 32 * 1024 * 1024

_LEFT_OUT = frozenset({"__pycache__", ".git", ".DS_Store"})

# Level 3 searches without the row matcher, which libzstd chooses by what the processor can do: so the same
# input gives the same bytes on any machine.
_LEVEL = 3


@dataclass(frozen=True, slots=True)
class Bundle:
    """A packed folder, and the lower-case hex SHA-256 of its bytes."""

    content: bytes
    sha256: str


def pack_bundle(directory: Path) -> Bundle:
    """Pack a folder as a pax tar compressed with zstandard.

    The same files give the same bytes on every machine that has the same version of zstandard: names are
    sorted, times and owners zero, modes 0644, or 0755 for folders and what the owner may execute.
    `__pycache__`, `*.pyc`, `.git` and `.DS_Store` are left out.

    Raises BundleError, naming the file, for links, devices, sockets and pipes, for names that other systems
    cannot hold, and past the size limits; OSError where a file cannot be read.
    """
    if not directory.is_dir():
        raise BundleError(f"{str(directory)!r} is not a folder; name the folder that holds environment.json")
    packed = io.BytesIO()
    compressor = zstandard.ZstdCompressor(level=_LEVEL, write_checksum=True)
    with (
        compressor.stream_writer(packed, closefd=False) as writer,
        tarfile.open(fileobj=writer, mode="w|", format=tarfile.PAX_FORMAT) as tar,
    ):
        unpacked_bytes = 0
        for count, (name, entry) in enumerate(_entries(directory, ""), start=1):
            unpacked_bytes += entry.stat(follow_symlinks=False).st_size if entry.is_file() else 0
            if count > MAX_FILES:
                raise BundleError(f"{TOO_MANY} (reached at {name!r})")
            if unpacked_bytes > MAX_UNPACKED_BYTES:
                raise BundleError(f"{TOO_LARGE} (reached at {name!r})")
            _add(tar, name, entry)
    content = packed.getvalue()
    _check_packed_size(content)
    return Bundle(content, hashlib.sha256(content).hexdigest())


def check_bundle(content: bytes, sha256: str) -> None:
    """Read the archive through, writing nothing and holding no more than some megabytes of it unpacked.

    Raises BundleError unless the bytes have this digest and are one whole archive within the limits, of
    plain files and folders alone, each under a name of its own that stays inside.
    """
    _check_digest(content, sha256)
    check_archive(content)


def unpacked_bundle(cache: Path, sha256: str) -> Path | None:
    """The folder that `unpack_bundle` made for this digest, if it did."""
    folder = cache / _valid_digest(sha256)
    return folder if folder.is_dir() else None


def unpack_bundle(content: bytes, cache: Path, sha256: str) -> Path:
    """Check the archive and unpack it, once, into the folder `cache/<sha256>`; returns that folder.

    The folder appears whole or not at all, also when several processes unpack the same bundle. Files are
    read-only; folders stay writable for their owner, so that the cache can be removed.
    Raises BundleError like `check_bundle`.
    """
    _check_digest(content, sha256)
    if (cached := unpacked_bundle(cache, sha256)) is not None:
        return cached
    check_archive(content)
    target = cache / sha256
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache, prefix=".unpacking-") as temporary:
        folder = Path(temporary) / sha256
        _make_folder(folder)
        _write_members(content, folder)
        try:
            folder.rename(target)
        except OSError:
            # A folder with files is never replaced: another process was first, with the same files.
            if not target.is_dir():
                raise
    return target


def _entries(directory: Path, prefix: str) -> Iterator[tuple[str, os.DirEntry[str]]]:
    """Files and folders below, a folder before what it holds, each with its checked path in the archive."""
    with os.scandir(directory) as scan:
        entries = sorted(scan, key=lambda entry: entry.name)
    for entry in entries:
        if entry.name in _LEFT_OUT or entry.name.endswith(".pyc"):
            continue
        name = prefix + entry.name
        if problem := problem_with_name(name):
            raise BundleError(f"{name!r} {problem}; rename it")
        if entry.is_symlink():
            raise BundleError(f"{name!r} is a symbolic link; put a copy of what it points to in its place")
        if not (entry.is_file() or entry.is_dir()):
            raise BundleError(f"{name!r} is a device, socket or pipe; a bundle holds only files and folders")
        yield name, entry
        if entry.is_dir():
            yield from _entries(Path(entry), f"{name}/")


def _add(tar: tarfile.TarFile, name: str, entry: os.DirEntry[str]) -> None:
    member = tarfile.TarInfo(name)
    if entry.is_dir():
        member.type, member.mode = tarfile.DIRTYPE, 0o755
        tar.addfile(member)
        return
    executable = entry.stat(follow_symlinks=False).st_mode & stat.S_IXUSR
    content = Path(entry).read_bytes()
    member.size, member.mode = len(content), 0o755 if executable else 0o644
    tar.addfile(member, io.BytesIO(content))


def _valid_digest(sha256: str) -> str:
    if not re.fullmatch("[0-9a-f]{64}", sha256):
        raise BundleError(f"{sha256!r} is not a SHA-256 digest; write it as 64 lower-case hex digits")
    return sha256


def _check_packed_size(content: bytes) -> None:
    if len(content) > MAX_PACKED_BYTES:
        raise BundleError(
            f"the archive takes {len(content):,} bytes, more than {MAX_PACKED_BYTES:,}; "
            "keep large data out of the bundle"
        )


def _check_digest(content: bytes, sha256: str) -> None:
    _check_packed_size(content)
    actual = hashlib.sha256(content).hexdigest()
    if actual != _valid_digest(sha256):
        raise BundleError(f"the archive has the SHA-256 {actual}, not {sha256}; send it again, whole")


def _make_folder(folder: Path) -> None:
    folder.mkdir()
    folder.chmod(0o755)  # whatever the umask


def _write_members(content: bytes, folder: Path) -> None:
    """Write a checked archive into a new folder; no name is ever opened twice, and no link followed."""
    # Not extractall(filter="data"): Python 3.11.0 to 3.11.3 have no filters, and modes are set here anyway.
    with open_archive(content) as tar:
        for member in tar:
            target = folder / member.name
            if member.isdir():
                _make_folder(target)
                continue
            source = tar.extractfile(member)
            assert source is not None, "only folders and files pass the check"
            with target.open("xb") as file:
                shutil.copyfileobj(source, file)
            target.chmod(0o555 if member.mode & stat.S_IXUSR else 0o444)
