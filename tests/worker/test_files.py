"""What is kept of an agent's workspace: files that patterns name, and nothing that is not inside."""

import json
import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentforge.worker import files
from agentforge.worker.files import FILE_BYTES, KeptFile, keep_files, read_trajectory
from agentforge.worker.redaction import Redactor

ALL = ("**",)
MANY = 10**9
PLAIN = Redactor([])
NOBODY = 65534


def keep(workspace: Path, *patterns: str, most_bytes: int = MANY) -> dict[str, bytes | str | None]:
    """By path what was kept, or why it was not."""
    kept = keep_files(workspace, patterns, most_bytes, PLAIN)
    assert kept.remarks == ()
    return {file.path: file.omitted if file.content is None else file.content for file in kept.files}


def put(workspace: Path, *paths: str | bytes) -> None:
    for path in map(os.fsencode, paths):
        whole = os.path.join(os.fsencode(workspace), path)  # noqa: PTH118 - names of bytes
        os.makedirs(os.path.dirname(whole), exist_ok=True)  # noqa: PTH103, PTH120
        Path(os.fsdecode(whole)).write_bytes(path)


@pytest.mark.parametrize(
    ("pattern", "kept"),
    [
        ("a", ["a"]),
        ("*", ["a", "b.log"]),
        ("*.log", ["b.log"]),
        ("out/*", ["out/.hidden", "out/c.log", "out/d"]),
        ("out/?", ["out/d"]),
        ("out/[cd]*", ["out/c.log", "out/d"]),
        ("out/**", ["out/.hidden", "out/c.log", "out/d", "out/in/deep/e.log"]),
        ("**/*.log", ["b.log", "out/c.log", "out/in/deep/e.log"]),
        ("out/**/in/**/*.log", ["out/in/deep/e.log"]),
        ("**/deep/*", ["out/in/deep/e.log"]),
        ("out", []),
        ("out/in/*", []),
        ("a/**", []),
        ("A", []),
        ("**", ["a", "b.log", "out/.hidden", "out/c.log", "out/d", "out/in/deep/e.log"]),
    ],
)
def test_patterns(tmp_path: Path, pattern: str, kept: list[str]) -> None:
    put(tmp_path, "a", "b.log", "out/.hidden", "out/c.log", "out/d", "out/in/deep/e.log")
    assert keep(tmp_path, pattern) == {path: path.encode() for path in kept}


names = st.sampled_from(["a", "b", "a.b", "*", "a*", "?", "**"])
patterns = st.lists(names, min_size=1, max_size=4).map("/".join)


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sets(patterns, min_size=1, max_size=3))
def test_patterns_mean_what_pathlib_takes_them_for(tmp_path: Path, wanted: set[str]) -> None:
    if not any(tmp_path.iterdir()):
        put(tmp_path, "a/a/a.b", "a/b/b", "a/b/a/a.b", "a.b/a", "b", "ab/b/b/b")
    # Path.glob takes a last ** for folders alone before Python 3.13.
    spelled = {f"{pattern}/*" if pattern.endswith("**") else pattern for pattern in wanted}
    found = {path for pattern in spelled for path in tmp_path.glob(pattern) if path.is_file()}
    assert set(keep(tmp_path, *wanted)) == {str(path.relative_to(tmp_path)) for path in found}


def test_names_that_are_hard_to_hold(tmp_path: Path) -> None:
    hostile = [
        *(b"a\nb\r.txt", b"\xff\xfe", b"\xed\xa0\x80", b"\x01\x1b[31m", b"caf\xc3\xa9", b"\xe2\x80\xaegpj.exe"),
        *(b"x" * 255, b"..a", b"-rf", b"CON", b'"\\', b"\xe2\x80\xa8/in a folder ", b"\xff/\xff"),
    ]
    put(tmp_path, *hostile)
    kept = keep(tmp_path, *ALL)
    assert {os.fsencode(path) for path in kept} == set(hostile)
    assert list(kept) == sorted(kept, key=os.fsencode)
    for path, content in kept.items():
        assert content == os.fsencode(path)
        assert json.loads(json.dumps(path)) == path


def test_nothing_by_way_of_links_and_nothing_but_files(tmp_path: Path) -> None:
    workspace, outside = tmp_path / "workspace", tmp_path / "outside"
    put(outside, "secret", "in/secret")
    put(workspace, "own/file")
    (workspace / "file").symlink_to(outside / "secret")
    (workspace / "folder").symlink_to(outside)
    (workspace / "own" / "up").symlink_to(workspace)
    (workspace / "gone").symlink_to("nowhere")
    os.mkfifo(workspace / "pipe")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(workspace / "socket"))
        kept = keep(workspace, *ALL, "folder/secret", "folder/in/secret")
    reason = "not a regular file"
    assert kept == {
        **dict.fromkeys(("file", "folder", "gone", "pipe", "socket", "own/up"), reason),
        "own/file": b"own/file",
    }
    (tmp_path / "link").symlink_to(workspace)
    assert keep_files(tmp_path / "link", ALL, MANY, PLAIN).files == ()


def test_sizes_are_limited_for_each_and_in_all(tmp_path: Path) -> None:
    put(tmp_path, *"abcd")
    for name, size in (("a", 60), ("b", 60), ("c", 40), ("d", 0)):
        os.truncate(tmp_path / name, size)
    (tmp_path / "huge").touch()
    os.truncate(tmp_path / "huge", 2**40)
    kept = keep_files(tmp_path, ALL, 100, PLAIN).files
    assert [(file.path, file.byte_size, file.omitted) for file in kept] == [
        ("a", 60, None),
        ("b", 60, "more than is left of limits.artifact_bytes"),
        ("c", 40, None),
        ("d", 0, None),
        ("huge", 2**40, f"more than {FILE_BYTES} bytes"),
    ]


def test_numbers_are_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MOST_LISTED", 4)
    put(tmp_path, *(f"{number}" for number in range(10)))
    keeping = files._Keeping(PLAIN, MANY, kept_left=3)
    with files._opened(tmp_path) as folder:
        keeping.walk(folder, "", frozenset([("*",)]), 9)
    assert [file.omitted for file in keeping.files] == [None, None, None, "more than 200 files"]
    assert [*keeping.remarks()] == ["6 more artifacts of 6 bytes were neither kept nor listed"]
    bounded = files._Keeping(PLAIN, MANY, entries_left=5)
    with files._opened(tmp_path) as folder:
        bounded.walk(folder, "", frozenset([("*",)]), 9)
    assert len(bounded.files) == 4
    assert [*bounded.remarks()][-1] == "artifacts were looked for among the first 100000 files and folders only"


def test_folders_within_folders_without_end(tmp_path: Path) -> None:
    put(tmp_path, "d/" * 63 + "in", "d/" * 64 + "too deep")
    kept = keep_files(tmp_path, ALL, MANY, PLAIN).files
    assert [(file.path, file.omitted) for file in kept] == [
        ("d/" * 64, "a folder that cannot be read: more than 64 levels deep"),
        ("d/" * 63 + "in", None),
    ]


@pytest.fixture
def bound_by_permissions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder, for somebody who may not read everything: root becomes nobody for as long as the test runs."""
    # From inside: the folders above it are root's alone.
    monkeypatch.chdir(tmp_path)
    user = os.geteuid()
    if user == 0:
        os.chown(tmp_path, NOBODY, NOBODY)
        os.seteuid(NOBODY)
    yield Path()
    os.seteuid(user)


def test_what_may_not_be_read_is_listed(bound_by_permissions: Path) -> None:
    put(bound_by_permissions, "a", "b/c")
    (bound_by_permissions / "a").chmod(0)
    (bound_by_permissions / "b").chmod(0)
    try:
        assert keep(bound_by_permissions, *ALL) == {
            "a": "cannot be read: Permission denied",
            "b/": "a folder that cannot be read: Permission denied",
        }
    finally:
        (bound_by_permissions / "b").chmod(0o700)


def test_secrets_are_taken_out_of_contents_and_names(tmp_path: Path) -> None:
    put(tmp_path, "a sesame-sesame/\udcff sesame-sesame")
    (kept,) = keep_files(tmp_path, ALL, MANY, Redactor(["sesame-sesame"])).files
    content = b"a [redacted]/\xff [redacted]"
    assert (kept.path, kept.content, kept.byte_size) == (os.fsdecode(content), content, len(content))


def test_without_patterns_nothing_is_looked_at(tmp_path: Path) -> None:
    assert keep_files(tmp_path / "nowhere", (), MANY, PLAIN).files == ()
    remarks = keep_files(tmp_path / "nowhere", ALL, MANY, PLAIN).remarks
    assert remarks == ("the workspace cannot be read: No such file or directory",)


def test_a_trajectory_that_is_none_tells_why(tmp_path: Path) -> None:
    path = tmp_path / "trajectory.json"
    assert read_trajectory(tmp_path, PLAIN) is None
    path.write_bytes(b"{}")
    assert read_trajectory(tmp_path, PLAIN) == KeptFile(path=path.name, byte_size=2, content=b"{}")
    os.truncate(path, FILE_BYTES + 1)
    reason = f"more than {FILE_BYTES} bytes"
    assert read_trajectory(tmp_path, PLAIN) == KeptFile(path=path.name, byte_size=FILE_BYTES + 1, omitted=reason)
    path.unlink()
    path.symlink_to("/etc/passwd")
    found = read_trajectory(tmp_path, PLAIN)
    assert found is not None
    assert (found.content, found.omitted) == (None, "not a regular file")
