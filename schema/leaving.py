"""Ends the work on an answer that nobody waits for any more."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Final

from starlette.types import Receive

#: Seconds before it is looked whether the client is still there. Most answers are given by then and pay nothing.
LOOK_AFTER: Final = 0.1


async def _until_left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


@asynccontextmanager
async def while_connected(receive: Receive) -> AsyncGenerator[None]:
    """Cancels the block once the client of a request, whose body was read before, has left; nothing is raised then."""
    loop, working = asyncio.get_running_loop(), asyncio.current_task()
    assert working is not None
    watching: asyncio.Task[None] | None = None
    left = False

    async def watch() -> None:
        nonlocal left
        await _until_left(receive)
        left = True
        working.cancel()

    def start() -> None:
        nonlocal watching
        watching = loop.create_task(watch())

    timer = loop.call_later(LOOK_AFTER, start)
    try:
        yield
    except asyncio.CancelledError:
        if not left or working.uncancel():
            raise
    finally:
        timer.cancel()
        if watching is not None:
            watching.cancel()
