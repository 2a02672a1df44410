"""Content codings of a stream: chosen by Accept-Encoding, flushed with every chunk."""

import re
from typing import Final, Protocol

import zstandard
from isal import isal_zlib

#: Of both codings. Of rollouts that compress by half, level 1 of ISA-L's deflate makes 450 MB/s where zlib's usual one
#: makes 41, and that of zstd 500 where its usual one makes 190, for no more bytes; of source code it takes 19 % and 9 %
#: more of them, and 814 and 669 MB/s instead of 64 and 463. benchmarks/exports.py measures it again.
_LEVEL: Final = 1


class Encoder(Protocol):
    is_identity: bool

    def add(self, chunk: bytes) -> bytes:
        """What a client can decode to everything added so far."""

    def finish(self) -> bytes: ...


class Identity:
    is_identity = True

    def add(self, chunk: bytes) -> bytes:
        return chunk

    def finish(self) -> bytes:
        return b""


class Gzip:
    is_identity = False

    def __init__(self) -> None:
        gzip_frame = isal_zlib.MAX_WBITS | 16
        self._deflate = isal_zlib.compressobj(_LEVEL, isal_zlib.DEFLATED, gzip_frame)

    def add(self, chunk: bytes) -> bytes:
        return self._deflate.compress(chunk) + self._deflate.flush(isal_zlib.Z_SYNC_FLUSH)

    def finish(self) -> bytes:
        return self._deflate.flush()


class Zstd:
    is_identity = False

    def __init__(self) -> None:
        self._frame = zstandard.ZstdCompressor(_LEVEL, write_checksum=True).compressobj()

    def add(self, chunk: bytes) -> bytes:
        return self._frame.compress(chunk) + self._frame.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK)

    def finish(self) -> bytes:
        return self._frame.flush()


#: By name, the preferred first.
ENCODERS: dict[str, type[Encoder]] = {"zstd": Zstd, "gzip": Gzip, "identity": Identity}

_ITEM = re.compile(r"\s*([^\s;,]+)\s*(?:;\s*q\s*=\s*([01](?:\.[0-9]{0,3})?)\s*)?", re.IGNORECASE)


def choose_encoding(accept_encoding: str) -> str:
    """The coding of ENCODERS with the highest weight; identity where nothing else is asked for (RFC 9110, 12.5.3)."""
    weights = {}
    for item in accept_encoding.lower().split(","):
        if match := _ITEM.fullmatch(item):
            weights[match[1]] = float(match[2] or 1)
    # Unnamed, identity stands behind whatever is named; 0.001 is the least weight that can be written.
    weights.setdefault("identity", 0.0001)
    others = weights.get("*", 0)
    best = max(ENCODERS, key=lambda name: weights.get(name, others))
    return best if weights.get(best, others) > 0 else "identity"
