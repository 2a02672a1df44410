"""A TCP proxy between a client and the service: it holds answers back, and changes bytes of them."""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field


@dataclass
class Between:
    """Of the first connection's answer, `hold_after` bytes pass; the rest waits until `go` is set.

    `ask` and `answer` change what passes, piece by piece, and keep its length.
    """

    target: tuple[str, int]
    hold_after: int | None = None
    ask: Callable[[bytes], bytes] = bytes
    answer: Callable[[bytes], bytes] = bytes
    held: asyncio.Event = field(default_factory=asyncio.Event)
    go: asyncio.Event = field(default_factory=asyncio.Event)
    port: int = 0
    under_way: int = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.under_way += 1
        try:
            await self._connect(reader, writer)
        finally:
            self.under_way -= 1

    async def _connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        upstream = socket.socket()
        # Small, so that the service has to wait while answers are held back.
        upstream.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65_536)
        upstream.setblocking(False)
        try:
            await asyncio.get_running_loop().sock_connect(upstream, self.target)
        except OSError:
            upstream.close()
            await _closed(writer)
            return
        from_service, to_service = await asyncio.open_connection(sock=upstream, limit=65_536)
        hold_after, self.hold_after = self.hold_after, None
        both = {
            asyncio.create_task(self._pass(reader, to_service, self.ask, None)),
            asyncio.create_task(self._pass(from_service, writer, self.answer, hold_after)),
        }
        _, rest = await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        for one in rest:
            one.cancel()
        await asyncio.gather(*both, return_exceptions=True)
        await _closed(writer, to_service)

    async def _pass(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        change: Callable[[bytes], bytes],
        hold_after: int | None,
    ) -> None:
        passed = 0
        while piece := await reader.read(65_536):
            writer.write(change(piece))
            await writer.drain()
            passed += len(piece)
            if hold_after is not None and passed >= hold_after and not self.held.is_set():
                self.held.set()
                await self.go.wait()


async def _closed(*writers: asyncio.StreamWriter) -> None:
    for writer in writers:
        writer.transport.abort()
        with suppress(OSError):
            await writer.wait_closed()


@asynccontextmanager
async def between(proxy: Between) -> AsyncIterator[Between]:
    server = await asyncio.start_server(proxy.connected, "127.0.0.1", 0)
    proxy.port = server.sockets[0].getsockname()[1]
    async with server:
        yield proxy
        proxy.go.set()
        async with asyncio.timeout(10):
            while proxy.under_way:  # noqa: ASYNC110 - ends with its clients
                await asyncio.sleep(0.01)
