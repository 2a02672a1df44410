"""Events that follow from others, for as long as a block runs."""

import asyncio
from collections.abc import AsyncGenerator, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import anyio


@asynccontextmanager
async def set_when(event: asyncio.Event, *causes: Coroutine[Any, Any, object]) -> AsyncGenerator[None]:
    """Sets `event` when one of the causes comes to its end during the block; they are ended with it.

    Raises what a cause raised, when the block raises nothing.
    """
    tasks = [asyncio.create_task(_set_after(event, cause)) for cause in causes]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
    for task in tasks:
        if not task.cancelled():
            task.result()


async def _set_after(event: asyncio.Event, cause: Coroutine[Any, Any, object]) -> None:
    await cause
    event.set()


async def cancelled(scope: anyio.CancelScope) -> None:
    """Returns when the scope is cancelled."""
    with scope:
        await anyio.sleep_forever()
