"""A response of lines: started by its first chunk, and ended cleanly only when it is whole."""

import asyncio
import hashlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial

import orjson
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.types import Message, Receive, Scope, Send

from db import exports
from db.tenant import Tenant, Transaction
from resolvers.rollouts import ExportKind
from streaming.encodings import ENCODERS, Encoder, choose_encoding
from streaming.filters import ExportFilters

CHUNK_BYTES = 64 * 1024

# A client that takes nothing for so long loses its stream, or it would hold a connection of the pool for good.
STALL_SECONDS = 60.0

#: At a time in one process; each holds a connection of a pool of their own for as long as its client takes.
MOST_STREAMS = 8
RETRY_SECONDS = 5
_places = list(range(MOST_STREAMS))

_SNAPSHOT = "ISOLATION LEVEL REPEATABLE READ READ ONLY"
#: The statements are to follow an index from row to row: any other plan builds lines, steps and all, before it sorts.
PLAN = "; ".join(
    f"SET LOCAL enable_{kind} = off" for kind in ("seqscan", "bitmapscan", "hashjoin", "mergejoin", "sort")
)


@dataclass(slots=True)
class _Body:
    """Sends lines in chunks, and the start of the response right before the first of them.

    `digest` takes all bytes as they are before they are encoded.
    """

    send: Send
    headers: Headers
    encoder: Encoder
    digest: "hashlib._Hash | None" = None
    count: int = 0
    started: bool = False
    pieces: list[bytes] = field(default_factory=list)
    size: int = 0

    async def add(self, lines: bytes, count: int) -> None:
        self.pieces.append(lines)
        self.size += len(lines)
        self.count += count
        if self.size >= CHUNK_BYTES:
            await self._write(await self._encoded(), more=True)

    async def finish(self, last_line: Callable[[], bytes] = bytes) -> None:
        """Ends the response; `last_line` is asked for once all others have been taken into the digest."""
        rest = await self._encoded()
        await self._write(rest + self.encoder.add(last_line()) + self.encoder.finish(), more=False)

    async def _encoded(self) -> bytes:
        chunk = self.pieces[0] if len(self.pieces) == 1 else b"".join(self.pieces)
        self.pieces.clear()
        self.size = 0
        if self.digest is None and self.encoder.is_identity:
            return chunk
        return await asyncio.to_thread(self._work, chunk)

    def _work(self, chunk: bytes) -> bytes:
        if self.digest is not None:
            self.digest.update(chunk)
        return self.encoder.add(chunk)

    async def _write(self, chunk: bytes, *, more: bool) -> None:
        if not self.started:
            self.started = True
            await self._send({"type": "http.response.start", "status": 200, "headers": self.headers.raw})
        await self._send({"type": "http.response.body", "body": chunk, "more_body": more})

    async def _send(self, message: Message) -> None:
        async with asyncio.timeout(STALL_SECONDS):
            await self.send(message)


@contextmanager
def _place() -> Iterator[None]:
    """One of the places for streams of this process. Raises HTTPException, a 429, when all are taken."""
    if not _places:
        detail = f"{MOST_STREAMS} exports are under way, which is as many as there may be; try again."
        raise HTTPException(429, detail, headers={"Retry-After": str(RETRY_SECONDS)})
    place = _places.pop()
    try:
        yield
    finally:
        _places.append(place)


async def _until_disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


@dataclass(frozen=True, slots=True)
class LineResponse:
    """Every line of an export from one snapshot, in bounded memory, at the client's pace.

    A failure before the first chunk can still become a problem response. A later one is raised through the
    server, which then closes the connection without the end of the body. A client that leaves ends the query.
    HEAD gives the headers, and in `X-Rollout-Count` how many lines there would be.
    """

    tenant: Tenant
    filters: ExportFilters
    headers: Mapping[str, str]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with _place():
            await self._stream(scope, receive, send)

    async def _stream(self, scope: Scope, receive: Receive, send: Send) -> None:
        # Tasks and no anyio scope: that one cancels again and again, also the rollback.
        sending = asyncio.create_task(self._send_all(scope, send))
        leaving = asyncio.create_task(_until_disconnected(receive))
        try:
            await asyncio.wait((sending, leaving), return_when=asyncio.FIRST_COMPLETED)
        finally:
            sending.cancel()
            leaving.cancel()
            await asyncio.wait((sending, leaving))
        if not sending.cancelled():
            sending.result()

    async def _send_all(self, scope: Scope, send: Send) -> None:
        name = choose_encoding(Headers(scope=scope).get("accept-encoding", ""))
        headers = MutableHeaders({**self.headers, "Vary": "Accept-Encoding"})
        if name != "identity":
            headers["Content-Encoding"] = name
        if scope["method"] == "HEAD":
            headers["X-Rollout-Count"] = str(await self._count())
            await _Body(send, headers, ENCODERS["identity"]()).finish()
            return
        digest = hashlib.sha256() if self.filters.manifest else None
        body = _Body(send, headers, ENCODERS[name](), digest)
        async with self.tenant.transaction(f"{_SNAPSHOT}; {PLAN}", unlimited=True) as transaction:
            taken_at = await _snapshot(transaction) if digest else ""
            query = exports.PREFERENCES if self.filters.kind is ExportKind.PREFERENCE else exports.ROLLOUTS
            await transaction.copy(query, *self.filters.arguments(), sink=body.add)
        await body.finish(partial(self._manifest, body.count, digest, taken_at) if digest else bytes)

    async def _count(self) -> int:
        is_preference = self.filters.kind is ExportKind.PREFERENCE
        query = exports.COUNT_PREFERENCES if is_preference else exports.COUNT_ROLLOUTS
        async with self.tenant.transaction("READ ONLY", unlimited=True) as transaction:
            counted = await transaction.fetch_one(query, *self.filters.arguments())
        assert counted is not None
        return counted.lines

    def _manifest(self, lines: int, digest: "hashlib._Hash", taken_at: str) -> bytes:
        manifest = {
            "schemaVersion": 1,
            "privacyClass": "PRIVATE",
            "format": "manifest",
            "kind": self.filters.kind,
            "rollouts": lines,
            "skipped": {},
            "sha256": digest.hexdigest(),
            "snapshotAt": taken_at,
        }
        return orjson.dumps(manifest) + b"\n"


async def _snapshot(transaction: Transaction) -> str:
    taken = await transaction.fetch_one(exports.SNAPSHOT)
    assert taken is not None
    return taken.taken_at.isoformat()
