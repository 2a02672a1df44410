"""Bundles: packed alike everywhere, unpacked once, and refused when anything about them is odd."""

import hashlib
import multiprocessing
import os
import shutil
import socket
import tempfile
from collections.abc import Callable
from multiprocessing.synchronize import Barrier
from pathlib import Path

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from resolvers.bundle_archive import MAX_FILES, MAX_UNPACKED_BYTES, problem_with_name
from resolvers.bundles import (
    MAX_PACKED_BYTES,
    BundleError,
    check_bundle,
    pack_bundle,
    unpack_bundle,
    unpacked_bundle,
)

LEFT_OUT = {"__pycache__", ".git", ".DS_Store"}


def tree(directory: Path) -> dict[str, tuple[bool, bytes | None]]:
    """Each path below, whether it can be executed, and its bytes, or None for a folder."""
    return {
        path.relative_to(directory).as_posix(): (
            bool(path.stat().st_mode & 0o100),
            path.read_bytes() if path.is_file() else None,
        )
        for path in directory.rglob("*")
    }


def example(directory: Path) -> Path:
    """A small environment, as an author's folder looks, with what tools leave behind."""
    (directory / "world" / "__pycache__").mkdir(parents=True)
    (directory / "empty").mkdir()
    (directory / ".git").mkdir()
    (directory / "environment.json").write_text('{"task": "Restock"}')
    (directory / "world" / "server.py").write_text("print('hello')\n" * 50)
    (directory / "world" / "run.sh").write_text("#!/bin/sh\n")
    (directory / "world" / "run.sh").chmod(0o700)
    (directory / "world" / ("ä" * 120)).write_bytes(b"\0\xff")
    for junk in (".git/HEAD", ".DS_Store", "world/__pycache__/server.cpython-311.pyc", "world/old.pyc"):
        (directory / junk).write_text("not part of it")
    return directory


def test_a_bundle_holds_the_files_and_unpacks_read_only(tmp_path: Path) -> None:
    source = example(tmp_path / "source")
    bundle = pack_bundle(source)
    assert bundle.sha256 == hashlib.sha256(bundle.content).hexdigest()
    cache = tmp_path / "deep" / "cache"
    assert unpacked_bundle(cache, bundle.sha256) is None

    previous = os.umask(0o077)
    try:
        unpacked = unpack_bundle(bundle.content, cache, bundle.sha256)
    finally:
        os.umask(previous)

    assert unpacked == cache / bundle.sha256 == unpacked_bundle(cache, bundle.sha256)
    assert list(cache.iterdir()) == [unpacked]
    long_name = "ä" * 120
    names = ["empty", "environment.json", "world", "world/run.sh", "world/server.py", f"world/{long_name}"]
    assert sorted(tree(unpacked)) == names
    modes = {path.name: path.stat().st_mode & 0o7777 for path in [unpacked, *unpacked.rglob("*")]}
    assert modes == {
        bundle.sha256: 0o755,
        "empty": 0o755,
        "environment.json": 0o444,
        "world": 0o755,
        "run.sh": 0o555,
        "server.py": 0o444,
        long_name: 0o444,
    }
    assert (unpacked / "world" / long_name).read_bytes() == b"\0\xff"
    assert pack_bundle(unpacked) == bundle

    shutil.rmtree(cache)


def test_the_same_files_give_the_same_bytes(tmp_path: Path) -> None:
    first = pack_bundle(example(tmp_path / "first"))
    previous = os.umask(0o077)
    try:
        second = example(tmp_path / "elsewhere" / "second")
    finally:
        os.umask(previous)
    for path in second.rglob("*"):
        os.utime(path, (1, 1))
    assert pack_bundle(second) == first

    # What goes into the compressor is the same for every version of Python and zstandard.
    tar = zstandard.ZstdDecompressor().decompressobj().decompress(first.content)
    assert hashlib.sha256(tar).hexdigest() == "24708339e0ab9b24a4d45bab5c0cf3d46f136f4b693265af6e96fdf7f1a0ddc7"

    (second / "world" / "server.py").chmod(0o755)
    assert pack_bundle(second) != first


names = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="/\0\\"), min_size=1, max_size=40)
trees = st.dictionaries(st.lists(names, min_size=1, max_size=3).map("/".join), st.binary(max_size=2000), max_size=6)


@settings(max_examples=40, deadline=None)
@given(trees)
def test_any_tree_survives_the_round_trip(files: dict[str, bytes]) -> None:
    with tempfile.TemporaryDirectory() as temporary:
        source = Path(temporary) / "source"
        source.mkdir()
        for name, content in files.items():
            left_out = [part for part in name.split("/") if part in LEFT_OUT or part.endswith(".pyc")]
            if left_out or problem_with_name(name):
                continue
            path = source / name
            if path.exists() or any(parent.is_file() for parent in path.parents):
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        bundle = pack_bundle(source)
        check_bundle(bundle.content, bundle.sha256)
        unpacked = unpack_bundle(bundle.content, Path(temporary) / "cache", bundle.sha256)
        assert tree(unpacked) == tree(source)


def test_a_cached_folder_is_used_again(tmp_path: Path) -> None:
    bundle = pack_bundle(example(tmp_path / "source"))
    unpacked = unpack_bundle(bundle.content, tmp_path / "cache", bundle.sha256)
    before = (unpacked.stat().st_ino, unpacked.stat().st_mtime_ns)
    again = unpack_bundle(bundle.content, tmp_path / "cache", bundle.sha256)
    assert (again.stat().st_ino, again.stat().st_mtime_ns) == before
    with pytest.raises(BundleError, match="has the SHA-256"):
        unpack_bundle(b"other", tmp_path / "cache", bundle.sha256)


def _unpack_together(barrier: Barrier, content: bytes, caches: list[Path], sha256: str) -> None:
    for cache in caches:
        barrier.wait(timeout=30)
        unpack_bundle(content, cache, sha256)


def test_two_processes_unpack_the_same_bundle_at_once(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    for number in range(200):
        (source / f"{number}.txt").write_text(str(number))
    bundle = pack_bundle(source)
    caches = [tmp_path / f"cache{number}" for number in range(5)]
    context = multiprocessing.get_context("spawn")
    barrier = context.Barrier(2)
    arguments = (barrier, bundle.content, caches, bundle.sha256)
    processes = [context.Process(target=_unpack_together, args=arguments) for _ in range(2)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(timeout=60)
    assert [process.exitcode for process in processes] == [0, 0]
    for process in processes:
        process.close()
    for cache in caches:
        assert [path.name for path in cache.iterdir()] == [bundle.sha256]
        assert tree(cache / bundle.sha256) == tree(source)


def link(path: Path) -> None:
    path.symlink_to("environment.json")


def link_to_folder(path: Path) -> None:
    path.symlink_to("/etc")


def local_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))


def backslash(path: Path) -> None:
    path.with_name("a\\odd").touch()


def drive_letter(path: Path) -> None:
    path.with_name("C:odd").touch()


def not_utf8(path: Path) -> None:
    Path(os.fsdecode(os.fsencode(path) + b"\xff")).touch()


def large(path: Path) -> None:
    with path.open("wb") as written:
        written.truncate(MAX_UNPACKED_BYTES + 1)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (link, "'odd' is a symbolic link; put a copy"),
        (link_to_folder, "'odd' is a symbolic link; put a copy"),
        (local_socket, "'odd' is a device, socket or pipe; a bundle holds only files"),
        (os.mkfifo, "'odd' is a device, socket or pipe; a bundle holds only files"),
        (backslash, r"'a\\\\odd' has a backslash .*; rename it"),
        (drive_letter, "'C:odd' has an absolute path, or a drive letter; rename it"),
        (not_utf8, r"'odd\\udcff' has a name that is not UTF-8; rename it"),
        (large, r"268,435,456 bytes unpacked; keep large data out of the bundle \(reached at 'odd'\)"),
    ],
)
def test_packing_names_what_cannot_be_packed(
    make: Callable[[Path], None], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "environment.json").touch()
    monkeypatch.chdir(tmp_path)  # a socket's path must be short
    make(Path("odd"))
    with pytest.raises(BundleError, match=message):
        pack_bundle(tmp_path)


def test_packing_a_missing_folder_says_so(tmp_path: Path) -> None:
    with pytest.raises(BundleError, match=r"missing' is not a folder"):
        pack_bundle(tmp_path / "missing")


def test_packing_stops_at_too_many_files_and_too_many_bytes(tmp_path: Path) -> None:
    (tmp_path / "noise").write_bytes(os.urandom(MAX_PACKED_BYTES + 1))
    with pytest.raises(BundleError, match=r"more than 33,554,432"):
        pack_bundle(tmp_path)
    (tmp_path / "noise").unlink()
    for number in range(MAX_FILES + 1):
        (tmp_path / str(number)).touch()
    with pytest.raises(BundleError, match=r"more than 10,000 files and folders; .* \(reached at"):
        pack_bundle(tmp_path)
