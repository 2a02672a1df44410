"""Ends the work on an answer that nobody waits for any more."""

import asyncio
from types import TracebackType
from typing import Final

from starlette.types import Receive

#: Seconds before it is looked whether the client is still there. Most answers are given by then and pay nothing.
LOOK_AFTER: Final = 0.1


class WhileConnected:
    """Cancels the block once the client of a request, whose body was read before, has left; nothing is raised then.

    For one block, in a task.
    """

    __slots__ = ("left", "receive", "timer", "watching", "working")

    def __init__(self, receive: Receive) -> None:
        self.receive = receive
        self.left = False
        self.watching: asyncio.Task[None] | None = None

    def __enter__(self) -> None:
        self.working = asyncio.current_task()
        self.timer = asyncio.get_running_loop().call_later(LOOK_AFTER, self._start)

    def __exit__(self, _: object, raised: BaseException | None, __: TracebackType | None) -> bool:
        self.timer.cancel()
        if self.watching is not None:
            self.watching.cancel()
        cancelled_here = self.left and self.working is not None and not self.working.uncancel()
        return cancelled_here and isinstance(raised, asyncio.CancelledError)

    def _start(self) -> None:
        self.watching = asyncio.get_running_loop().create_task(self._watch())

    async def _watch(self) -> None:
        while (await self.receive())["type"] != "http.disconnect":
            pass
        self.left = True
        assert self.working is not None
        self.working.cancel()
