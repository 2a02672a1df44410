"""One answer of an export, taken apart into lines and checked against the manifest that ends it."""

import hashlib
import json
from dataclasses import dataclass, field
from typing import Any, Final

import orjson

from agentforge.download.errors import BrokenTransferError, DownloadError

#: Of a line without its end. PostgreSQL makes none of a gigabyte; of what goes on for longer, none is to be waited for.
MOST_LINE_BYTES: Final = 1024**3


@dataclass(frozen=True, slots=True)
class Manifest:
    """What the last line of an answer tells of those before it; `skipped` counts by reason."""

    rollouts: int
    sha256: str
    skipped: dict[str, int]
    snapshot_at: str


@dataclass(slots=True)
class Part:
    """The lines of one answer.

    The last whole line is always held back: it is the manifest, or the one beside which the answer broke off, and
    then it is better asked for again. `last_id` is the rollout of the last line given out, in this part or before.
    """

    last_id: str | None = None
    lines: int = 0
    _digest: "hashlib._Hash" = field(default_factory=hashlib.sha256)
    _held: bytes | None = None
    _pieces: list[bytes] = field(default_factory=list)
    _waiting: int = 0

    def feed(self, chunk: bytes) -> bytes:
        """The lines that are whole now, each with its line feed. Raises BrokenTransferError, DownloadError."""
        self._pieces.append(chunk)
        self._waiting += len(chunk)
        if b"\n" not in chunk:
            if self._waiting > MOST_LINE_BYTES:
                raise DownloadError(f"A line came of more than {MOST_LINE_BYTES:,} bytes, which is no rollout.")
            return b""
        *whole, rest = b"".join(self._pieces).split(b"\n")
        self._pieces, self._waiting = [rest], len(rest)
        if self._held is not None:
            whole.insert(0, self._held)
        self._held = whole.pop()
        if not whole:
            return b""
        last_id = self.last_id
        for line in whole:
            last_id = _identity(_read(line), last_id)
        self.last_id = last_id
        ready = b"\n".join([*whole, b""])
        self._digest.update(ready)
        self.lines += len(whole)
        return ready

    def end(self) -> Manifest:
        """The manifest, when what came fits it. Raises BrokenTransferError where none has come, else DownloadError."""
        read = {} if self._held is None or any(self._pieces) else _read(self._held)
        if read.get("format") != "manifest":
            raise BrokenTransferError("the answer ended without its manifest")
        manifest = _manifest(read)
        if (manifest.rollouts, manifest.sha256) != (self.lines, self._digest.hexdigest()):
            raise DownloadError(
                f"What came does not fit its manifest: {self.lines:,} lines with SHA-256 {self._digest.hexdigest()}, "
                f"where {manifest.rollouts:,} with {manifest.sha256} were sent. Something on the way changes them."
            )
        return manifest


def _manifest(read: dict[str, Any]) -> Manifest:
    try:
        manifest = Manifest(read["rollouts"], read["sha256"], read["skipped"], read["snapshotAt"])
    except KeyError as error:
        raise DownloadError(f"The service's manifest has no {error}, which this version needs.") from error
    skipped = manifest.skipped
    if not (
        type(manifest.rollouts) is int
        and isinstance(manifest.sha256, str)
        and isinstance(manifest.snapshot_at, str)
        and isinstance(skipped, dict)
        and all(type(count) is int for count in skipped.values())
    ):
        raise DownloadError("The service's manifest holds other values than this version knows.")
    return manifest


def _identity(read: dict[str, Any], before: str | None) -> str | None:
    """The rollout of a line, which is older than that of the line before; None where lines are of none."""
    if read.get("format") == "manifest":
        raise BrokenTransferError("the answer went on after its manifest")
    identity = read.get("rolloutId")
    if not isinstance(identity, str):
        return None
    if before is not None and identity >= before:
        raise DownloadError(f"The line of rollout {identity} came after that of {before}, out of order.")
    return identity


def _read(line: bytes) -> dict[str, Any]:
    try:
        try:
            read = orjson.loads(line)
        except orjson.JSONDecodeError:
            read = json.loads(line)  # takes half characters, which orjson does not
    except (ValueError, RecursionError):
        read = None
    if not isinstance(read, dict):
        raise BrokenTransferError("a line came that is no JSON object")
    return read
