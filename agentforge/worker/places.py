"""Places for attempts: so many at a time in one process, over all the runs that it has taken."""

import asyncio
from collections.abc import AsyncGenerator, Collection
from contextlib import asynccontextmanager, suppress

_LOOK_SECONDS = 0.5


class Places:
    """Hands places out in the order in which they are asked for.

    A run is taken only while there are places that no attempt of an earlier one waits for: what is not taken can go
    to another worker, or to an organization whose turn comes first.
    """

    def __init__(self, count: int) -> None:
        self._count = count
        self._free = asyncio.Semaphore(count)
        self._waiting: dict[int, int] = {}
        self._changed = asyncio.Event()

    @property
    def taken(self) -> int:
        """Attempts that have a place or wait for one."""
        return sum(self._waiting.values())

    def expect(self, job: int, attempts: int) -> None:
        """Tells how many attempts a job that was taken has."""
        self._waiting[job] = attempts
        self._changed.set()

    def forget(self, job: int) -> None:
        """The job has ended."""
        self._waiting.pop(job, None)
        self._changed.set()

    @asynccontextmanager
    async def one(self, job: int) -> AsyncGenerator[None]:
        """A place for one attempt of a job, for as long as the block runs."""
        async with self._free:
            try:
                yield
            finally:
                self._waiting[job] -= 1
                self._changed.set()

    async def room(self, jobs: Collection[int], over: asyncio.Event) -> None:
        """Returns when there is a place for a further run, or `over` is set.

        `jobs` are those that were taken, as they change; one whose attempts are not known yet may need all places.
        """
        while not over.is_set():
            unknown = sum(job not in self._waiting for job in jobs)
            if self.taken + unknown * self._count < self._count:
                return
            self._changed.clear()
            # Looked at now and then besides: a job that was cancelled before it began tells nobody.
            with suppress(TimeoutError):
                await asyncio.wait_for(self._changed.wait(), _LOOK_SECONDS)
