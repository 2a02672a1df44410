"""What `check_bundle` refuses: real hostile archives, each made here."""

import hashlib
import io
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from resolvers.bundle_archive import MAX_FILES
from resolvers.bundles import MAX_PACKED_BYTES, BundleError, check_bundle, unpack_bundle, unpacked_bundle

Member = tuple[tarfile.TarInfo, bytes]


def file(name: str, content: bytes = b"", mode: int = 0o644, pax: Mapping[str, str] = MappingProxyType({})) -> Member:
    member = tarfile.TarInfo(name)
    member.size, member.mode, member.pax_headers = len(content), mode, dict(pax)
    return member, content


def other(name: str, kind: bytes, target: str = "") -> Member:
    member = tarfile.TarInfo(name)
    member.type, member.linkname = kind, target
    return member, b""


def folder(name: str) -> Member:
    return other(name, tarfile.DIRTYPE)


def tar_of(*members: Member, pax: Mapping[str, str] | None = None) -> bytes:
    written = io.BytesIO()
    with tarfile.open(fileobj=written, mode="w", format=tarfile.PAX_FORMAT, pax_headers=pax) as tar:
        for member, content in members:
            tar.addfile(member, io.BytesIO(content))
    return written.getvalue()


def check(content: bytes) -> None:
    check_bundle(content, hashlib.sha256(content).hexdigest())


def check_tar(tar: bytes) -> None:
    check(zstandard.compress(tar))


PLAIN = (folder("a"), file("a/b", b"x" * 700))


def test_the_archives_made_here_pass_without_the_hostile_part() -> None:
    check_tar(tar_of(*PLAIN))
    check_tar(tar_of())
    check_tar(tar_of(folder("ä" * 100), file("ä" * 100 + "/b", b"x")))


@pytest.mark.parametrize(
    ("tar", "message"),
    [
        (tar_of(file("/etc/passwd")), "absolute path"),
        (tar_of(file("x", pax={"path": "/" + "long/" * 30})), "absolute path"),
        (tar_of(file("..")), "'..' in its path"),
        (tar_of(*PLAIN, file("a/../../b")), "'..' in its path"),
        (tar_of(file("./b")), "'.'"),
        (tar_of(*PLAIN, file("a//b")), "empty part"),
        (tar_of(file("")), "empty part"),
        (tar_of(file("C:b")), "drive letter"),
        (tar_of(file("a\\b")), "backslash"),
        (tar_of(file("x", pax={"path": "a\0b"})), "NUL"),
        (tar_of(file("n" * 256)), "longer than 255 bytes"),
        (tar_of(file("n/" * 600 + "n")), "longer than 255 bytes, or 1024"),
        (tar_of(other("a", tarfile.SYMTYPE, "/etc/passwd")), "is a link"),
        (tar_of(*PLAIN, other("c", tarfile.LNKTYPE, "a/b")), "is a link"),
        (tar_of(other("a", tarfile.CHRTYPE)), "a device"),
        (tar_of(other("a", tarfile.BLKTYPE)), "a device"),
        (tar_of(other("a", tarfile.FIFOTYPE)), "of another kind"),
        (tar_of(other("a", tarfile.CONTTYPE)), "of another kind"),
        (tar_of(other("a", tarfile.GNUTYPE_SPARSE)), "of another kind"),
        (tar_of(*PLAIN, pax={"path": "evil"}), "of another kind"),
        (tar_of(file("a"), file("a")), "twice"),
        (tar_of(folder("a"), folder("a")), "twice"),
        (tar_of(*PLAIN, file("a")), "twice"),
        (tar_of(file("a"), file("a/b")), "not preceded by its folder"),
        (tar_of(file("a/b")), "not preceded by its folder"),
        (tar_of(file("a", mode=0o4755)), "set-user"),
        (tar_of(file("a", mode=0o2755)), "set-group"),
        (tar_of(file("x", pax={"linkpath": "/etc"})), "tar extensions"),
        (tar_of(file("x", pax={"size": "-512"})), "tar extensions|zstandard"),
        (
            tar_of(file("x", pax={"GNU.sparse.major": "1", "GNU.sparse.minor": "0"})),
            "tar extensions|zstandard",
        ),
        (tar_of(file("x", pax={"path": "n" * 4000})), "a size of"),
        (tar_of(*PLAIN)[:512] + tar_of(file("evil"))[:512].replace(b"evil", b"EVIL"), "ends too early"),
        (tar_of(*PLAIN) + tar_of(file("hidden")), "other bytes after its last file"),
        (tar_of(*PLAIN) + b"\0" * 512 + b"x", "other bytes after its last file"),
        (tar_of(*[folder(str(number)) for number in range(MAX_FILES + 1)]), "10,000 files and folders"),
        (b"", "not a tar archive"),
        (b"PK\3\4" * 1000, "not a tar archive"),
    ],
)
def test_a_hostile_archive_is_refused(tar: bytes, message: str, tmp_path: Path) -> None:
    content = zstandard.compress(tar)
    sha256 = hashlib.sha256(content).hexdigest()
    with pytest.raises(BundleError, match=message):
        check_bundle(content, sha256)
    with pytest.raises(BundleError, match=message):
        unpack_bundle(content, tmp_path / "cache", sha256)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"not an archive",
        b"\x1f\x8b" + bytes(100),
        tar_of(*PLAIN),
        zstandard.compress(tar_of(*PLAIN)) + b"\0",
        zstandard.compress(tar_of(*PLAIN)) + b"x" * 2000,
        zstandard.compress(tar_of(*PLAIN)) * 2,
        zstandard.compress(tar_of(*PLAIN)) + zstandard.compress(b""),
        zstandard.ZstdCompressor(
            compression_params=zstandard.ZstdCompressionParameters(window_log=24, write_content_size=0)
        ).compress(tar_of(file("a", bytes(17 << 20)))),
    ],
)
def test_bytes_that_are_not_one_whole_archive_are_refused(content: bytes) -> None:
    with pytest.raises(BundleError):
        check(content)


def test_a_cut_archive_is_refused_wherever_it_is_cut() -> None:
    tar = tar_of(*PLAIN)
    content = zstandard.compress(tar)
    for length in range(len(content)):
        with pytest.raises(BundleError):
            check(content[:length])
    end_of_members = 512 + 512 + 1024
    for length in range(0, end_of_members + 1024, 128):
        with pytest.raises(BundleError):
            check_tar(tar[:length])
    check_tar(tar[: end_of_members + 1024])


def test_a_chain_of_long_names_is_refused() -> None:
    record = tar_of(file("x", pax={"path": "y"}))[:1024]
    with pytest.raises(BundleError):
        check_tar(record * 5000 + tar_of(file("x")))


def test_another_digest_is_refused() -> None:
    content = zstandard.compress(tar_of(*PLAIN))
    sha256 = hashlib.sha256(content).hexdigest()
    with pytest.raises(BundleError, match=f"has the SHA-256 {sha256}, not {'0' * 64}; send it again"):
        check_bundle(content, "0" * 64)
    for wrong in ("", sha256.upper(), sha256 + "\n", "../../etc"):
        with pytest.raises(BundleError, match="is not a SHA-256 digest"):
            check_bundle(content, wrong)
        with pytest.raises(BundleError, match="is not a SHA-256 digest"):
            unpacked_bundle(Path("/"), wrong)


def test_an_oversized_upload_is_refused_unread() -> None:
    with pytest.raises(BundleError, match="33,554,433 bytes, more than 33,554,432"):
        check_bundle(bytes(MAX_PACKED_BYTES + 1), "0" * 64)


def bomb(*members: Member, zeros: int) -> bytes:
    """An archive of members, the last followed by so many zero bytes."""
    frame = zstandard.ZstdCompressor().compressobj()
    pieces = [frame.compress(b"".join(member.tobuf() for member, _ in members))]
    pieces += [frame.compress(bytes(1 << 20)) for _ in range(zeros >> 20)]
    return b"".join([*pieces, frame.flush()])


def header(name: str, size: int, kind: bytes = tarfile.REGTYPE) -> Member:
    member, content = other(name, kind)
    member.size = size
    return member, content


CHECK_WITHIN_MEMORY = """
import hashlib, resource, sys
from resolvers.bundles import BundleError, check_bundle
content = sys.stdin.buffer.read()
resource.setrlimit(resource.RLIMIT_DATA, (160 << 20, 160 << 20))
try:
    check_bundle(content, hashlib.sha256(content).hexdigest())
except BundleError as error:
    print(error)
"""


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: zstandard.compress(bytes(300 << 20)), "more than 268,435,456 bytes unpacked"),
        (lambda: bomb(header("a", 255 << 20), zeros=400 << 20), "more than 268,435,456 bytes unpacked"),
        (lambda: bomb(header("a", (8 << 30) - 1), zeros=1 << 20), "which no bundle has"),
        (lambda: bomb(header("a", 200 << 20, tarfile.XHDTYPE), zeros=200 << 20), "which no bundle has"),
    ],
)
def test_a_bomb_is_refused_in_bounded_memory(make: Callable[[], bytes], message: str) -> None:
    checked = subprocess.run(
        [sys.executable, "-c", CHECK_WITHIN_MEMORY], input=make(), capture_output=True, timeout=60, check=True
    )
    assert message in checked.stdout.decode()


TAR = bytearray(tar_of(*PLAIN, file("ä" * 60, b"y" * 10)))


@settings(max_examples=300, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 4095), st.integers(0, 255)), min_size=1, max_size=4), st.booleans())
def test_a_damaged_archive_is_whole_or_refused(changes: list[tuple[int, int]], mend: bool) -> None:
    tar = bytearray(TAR)
    for position, value in changes:
        tar[position] = value
    if mend:
        for start in {position - position % 512 for position, _ in changes}:
            mend_checksum(tar, start)
    try:
        check_tar(bytes(tar))
    except BundleError:
        return
    content = zstandard.compress(tar)
    sha256 = hashlib.sha256(content).hexdigest()
    with tempfile.TemporaryDirectory() as temporary:
        unpacked = unpack_bundle(content, Path(temporary) / "cache", sha256)
        assert list(Path(temporary).glob("*/*")) == [unpacked]
        assert len(list(unpacked.rglob("*"))) == 3


def mend_checksum(tar: bytearray, start: int) -> None:
    """Give the header at this place the checksum of its changed bytes."""
    tar[start + 148 : start + 156] = b" " * 8
    tar[start + 148 : start + 156] = b"%06o\0 " % sum(tar[start : start + 512])
