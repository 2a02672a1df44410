"""The body of an export: lines sent in chunks, at the pace of whoever takes them."""

import asyncio
import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field

from starlette.datastructures import Headers
from starlette.types import Message, Send

from streaming.audited import Audited, LeftError
from streaming.encodings import Encoder

CHUNK_BYTES = 64 * 1024

# A client that takes nothing for so long loses its stream, or it would hold a connection of the pool for good.
STALL_SECONDS = 60.0


@dataclass(slots=True)
class Body:
    """Sends lines in chunks, and the start of the response right before the first of them.

    `audited` is told of what is sent. `digest` takes all bytes as they are before they are encoded.
    """

    send: Send
    headers: Headers
    encoder: Encoder
    audited: Audited
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
            size = self.size
            await self._write(await self._encoded(), size, more=True)

    async def finish(self, last_line: Callable[[], bytes] = bytes) -> None:
        """Ends the response; `last_line` is asked for once all others have been taken into the digest."""
        size = self.size
        rest = await self._encoded()
        await self._write(rest + self.encoder.add(last_line()) + self.encoder.finish(), size, more=False)

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

    async def _write(self, chunk: bytes, size: int, *, more: bool) -> None:
        if not self.started:
            await self.audited.admit()
            self.started = True
            await self._send({"type": "http.response.start", "status": 200, "headers": self.headers.raw})
        # Counted first: what waits here for a client is with the server, and some of it with the client.
        self.audited.lines, self.audited.bytes = self.count, self.audited.bytes + size
        await self._send({"type": "http.response.body", "body": chunk, "more_body": more})

    async def _send(self, message: Message) -> None:
        try:
            async with asyncio.timeout(STALL_SECONDS):
                await self.send(message)
        except TimeoutError as error:
            raise LeftError(f"the client took nothing for {STALL_SECONDS:g} s") from error
