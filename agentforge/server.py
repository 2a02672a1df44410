"""The API process: connections, the listener for changes, and uvicorn."""

import asyncio
import socket
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager, contextmanager

import uvicorn
from starlette.types import ASGIApp

from agentforge.address import PortError
from agentforge.app import build
from agentforge.collection import spare_what_stays
from agentforge.settings import Settings
from db.changes import listen
from db.pool import open_pool
from schema.limits import MOST_BYTES
from streaming.lines import MOST_STREAMS

#: How long answers under way may take once the service is told to stop.
_GRACE_SECONDS = 5


_CONNECTIONS = 12


class _Server(uvicorn.Server):
    """Leaves signals to whoever assembles the process, who stops more than this server."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def bind(settings: Settings) -> socket.socket:
    """The socket to listen on; port 0 takes a free one. Raises PortError when the port is taken."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    # With its protocol named, asyncio sends each part of an answer at once; else clients wait 40 ms for the second one.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((settings.host, settings.port))
    except OSError as error:
        listener.close()
        raise PortError(f"Port {settings.port} of {settings.host} cannot be used: {error.strerror}.") from error
    return listener


@asynccontextmanager
async def serving(app: ASGIApp, listener: socket.socket) -> "AsyncGenerator[asyncio.Task[None]]":
    """The application, answering on `listener` while the block runs. Yields its task, which ends if it fails."""
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        lifespan="off",
        server_header=False,
        ws="websockets-sansio",
        ws_max_size=MOST_BYTES,
        timeout_graceful_shutdown=_GRACE_SECONDS,
    )
    server = _Server(config)
    task = asyncio.create_task(server.serve([listener]))
    try:
        while not server.started and not task.done():  # noqa: ASYNC110 - uvicorn has no event for it
            await asyncio.sleep(0.01)
        yield task
    finally:
        server.should_exit = True
        await task


@asynccontextmanager
async def running_api(
    settings: Settings, database_url: str, listener: socket.socket
) -> "AsyncGenerator[asyncio.Task[None]]":
    """The API on its own connections, as `serving` has it."""
    async with (
        open_pool(
            database_url,
            application_name="agentforge api",
            max_size=_CONNECTIONS,
            statement_seconds=settings.statement_seconds,
        ) as pool,
        # Of their own, so that exports cannot keep the graph waiting.
        open_pool(database_url, application_name="agentforge export", max_size=MOST_STREAMS) as exports,
        listen(database_url) as changes,
        serving(build(pool, exports, changes, settings), listener) as task,
    ):
        spare_what_stays()
        yield task
