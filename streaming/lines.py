"""A response of lines: started by its first chunk, and ended cleanly only when it is whole."""

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.types import Message, Receive, Scope, Send

from db.exports import Line
from db.query import Query
from db.tenant import Tenant
from streaming.encodings import ENCODERS, Encoder, choose_encoding

CHUNK_CHARACTERS = 64 * 1024

# Rows held at once, of up to some megabytes each. Measured: lines of 2 kB at 250 MB/s, of 1 MB at 720;
# with 100 rows 310 and 770, with 5 rows 125 and 360.
PREFETCH = 20

# A client that takes nothing for so long loses its stream, or it would hold a connection of the pool for good.
STALL_SECONDS = 60.0

# Each holds a connection for as long as its client takes; the rest of the pool stays the graph's.
MOST_STREAMS = 8
RETRY_SECONDS = 5
_places = list(range(MOST_STREAMS))

_SNAPSHOT = "ISOLATION LEVEL REPEATABLE READ READ ONLY"


@dataclass(slots=True)
class _Body:
    """Sends lines in chunks, and the start of the response right before the first of them."""

    send: Send
    headers: Headers
    encoder: Encoder
    lines: list[str] = field(default_factory=list)
    characters: int = 0
    started: bool = False

    async def add(self, line: str) -> None:
        # In JSON a line break can only be space between tokens. Done here: in SQL it halves the speed.
        self.lines.append(line.replace("\n", " ").replace("\r", " "))
        self.characters += len(line)
        if self.characters >= CHUNK_CHARACTERS:
            await self._write(await asyncio.to_thread(self._encoded), more=True)

    async def finish(self) -> None:
        await self._write(self._encoded() + self.encoder.finish(), more=False)

    def _encoded(self) -> bytes:
        chunk = "".join(f"{line}\n" for line in self.lines).encode()
        self.lines.clear()
        self.characters = 0
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
    """Every line of a statement from one snapshot, in bounded memory, at the client's pace.

    A failure before the first chunk can still become a problem response. A later one is raised through the
    server, which then closes the connection without the end of the body. A client that leaves ends the query.
    """

    tenant: Tenant
    query: Query[Line]
    arguments: tuple[object, ...]
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
        body = _Body(send, headers, ENCODERS[name]())
        if scope["method"] != "HEAD":
            await self._send_rows(body)
        await body.finish()

    async def _send_rows(self, body: _Body) -> None:
        async with self.tenant.transaction(_SNAPSHOT, unlimited=True) as transaction:
            async for row in transaction.stream(self.query, *self.arguments, prefetch=PREFETCH):
                await body.add(row.line)
