"""The API's socket."""

import asyncio
import socket

from agentforge.server import bind
from agentforge.settings import Settings


async def test_answers_are_sent_at_once() -> None:
    """Not held back until the client has acknowledged what was sent before, which takes it 40 ms."""
    delays = asyncio.Queue[int]()

    async def accepted(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = writer.get_extra_info("socket")
        delays.put_nowait(connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
        writer.close()

    with bind(Settings(port=0)) as listener:
        async with await asyncio.start_server(accepted, sock=listener):
            _, writer = await asyncio.open_connection(*listener.getsockname())
            assert await delays.get() != 0
            writer.close()
            await writer.wait_closed()
