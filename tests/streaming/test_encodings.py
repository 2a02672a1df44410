"""Content codings: the choice by Accept-Encoding, and the same bytes whatever the choice."""

import gzip
import io
import zlib

import httpx
import pytest
import zstandard

from db.tenant import Tenant
from streaming.encodings import Gzip, Zstd, choose_encoding
from tests.streaming.rows import create_many
from tests.streaming.web import Client

URL = "/api/v1/rollouts?kind=failed"


@pytest.mark.parametrize(
    ("accept_encoding", "chosen"),
    [
        ("", "identity"),
        ("identity", "identity"),
        ("gzip", "gzip"),
        ("GZip , deflate, br", "gzip"),
        ("zstd", "zstd"),
        ("gzip, deflate, br, zstd", "zstd"),
        ("gzip;q=1.0, zstd;q=0.5", "gzip"),
        ("gzip; q=0.5, zstd ;Q=0.501", "zstd"),
        ("gzip;q=0", "identity"),
        ("zstd;q=0, gzip;q=0.001", "gzip"),
        ("*", "zstd"),
        ("*;q=0.5, zstd;q=0", "gzip"),
        ("gzip;q=0.5, identity", "identity"),
        ("gzip;q=0.5, *;q=0", "gzip"),
        ("identity;q=0", "identity"),
        ("br, deflate", "identity"),
        ("gzip;q=high", "identity"),
        ("gzip;q=2", "identity"),
        (",;q=1,,gzip", "gzip"),
    ],
)
def test_choice(accept_encoding: str, chosen: str) -> None:
    assert choose_encoding(accept_encoding) == chosen


def test_what_was_added_can_be_read_at_once() -> None:
    gzipped, inflate = Gzip(), zlib.decompressobj(wbits=31)
    zstandards, frame = Zstd(), zstandard.ZstdDecompressor().decompressobj()
    for chunk in (b"one\n", b"two\n" * 50_000, b"three\n"):
        assert inflate.decompress(gzipped.add(chunk)) == chunk
        assert frame.decompress(zstandards.add(chunk)) == chunk
    assert inflate.decompress(gzipped.finish()) == b""
    assert inflate.eof
    assert frame.decompress(zstandards.finish()) == b""
    assert frame.eof


async def raw(web: httpx.AsyncClient, accept_encoding: str) -> tuple[str | None, bytes]:
    async with web.stream("GET", URL, headers={"Accept-Encoding": accept_encoding}) as response:
        assert (response.status_code, response.headers["vary"]) == (200, "Accept-Encoding")
        content = b"".join([chunk async for chunk in response.aiter_raw()])
    return response.headers.get("content-encoding"), content


async def test_every_coding_gives_the_same_bytes(acme: Tenant, client: Client) -> None:
    async with client(acme) as web:
        for rows in (0, 40):
            if rows:
                await create_many(acme, rows, 10_000)
            named, plain = await raw(web, "identity")
            assert named is None
            assert len(plain) > rows * 10_000 or rows == 0
            named, content = await raw(web, "gzip")
            assert (named, gzip.decompress(content)) == ("gzip", plain)
            named, content = await raw(web, "zstd, gzip")
            with zstandard.ZstdDecompressor().stream_reader(io.BytesIO(content)) as reader:
                assert (named, reader.read()) == ("zstd", plain)
            assert len(content) < len(plain) or rows == 0
