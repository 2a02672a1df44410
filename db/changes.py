"""What changed, as it happens: LISTEN on one connection for the whole process, handed on to each subscriber."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from uuid import UUID

import asyncpg

CHANNEL = "agentforge_changes"
IDENTITIES_CHANNEL = "agentforge_identities"
_RECONNECT_SECONDS = 1.0
_HEARTBEAT_SECONDS = 10.0
_BACKLOG = 1000


@dataclass(frozen=True, slots=True)
class Change:
    """A run or trial whose status changed; both None where changes may have been missed, so read anew."""

    table: str | None
    id: UUID | None
    status: str | None


MISSED = Change(None, None, None)


class SlowSubscriberError(RuntimeError):
    """A subscriber fell more than 1,000 changes behind and was dropped."""


@dataclass(eq=False, slots=True)
class Subscription:
    organization_id: UUID
    queue: "asyncio.Queue[Change]" = field(default_factory=lambda: asyncio.Queue(_BACKLOG))
    dropped: bool = False

    def offer(self, change: Change) -> None:
        try:
            self.queue.put_nowait(change)
        except asyncio.QueueFull:
            self.dropped = True

    async def changes(self) -> AsyncIterator[Change]:
        while True:
            change = await self.queue.get()
            if self.dropped:
                raise SlowSubscriberError("Too many changes were waiting to be read; subscribe again.")
            yield change


@dataclass(slots=True)
class Changes:
    """Hands each organization's changes to that organization's subscribers and to nobody else.

    `identities` counts how often what is known of tokens, sessions and members may have become wrong; while not
    `listening`, more may have.
    """

    subscriptions: set[Subscription] = field(default_factory=set)
    identities: int = 0
    listening: bool = False

    def receive(self, _connection: object, _pid: int, _channel: str, payload: object) -> None:
        organization_id, table, identifier, status = str(payload).split(" ")
        change = Change(table, UUID(identifier), status)
        for subscription in self.subscriptions:
            if subscription.organization_id == UUID(organization_id):
                subscription.offer(change)

    def receive_identities(self, *_: object) -> None:
        self.identities += 1

    def missed(self) -> None:
        self.identities += 1
        for subscription in self.subscriptions:
            subscription.offer(MISSED)

    @asynccontextmanager
    async def subscribe(self, organization_id: UUID) -> AsyncGenerator[AsyncIterator[Change]]:
        """Changes from now on: read the state inside the block and nothing falls between."""
        subscription = Subscription(organization_id)
        self.subscriptions.add(subscription)
        try:
            yield subscription.changes()
        finally:
            self.subscriptions.discard(subscription)


async def _until_lost(connection: "asyncpg.Connection[asyncpg.Record]", lost: asyncio.Event) -> None:
    """Returns or raises when the connection has gone, also where nobody says so, as behind a router that forgot it."""
    while not lost.is_set():
        try:
            await asyncio.wait_for(lost.wait(), _HEARTBEAT_SECONDS)
        except TimeoutError:
            await connection.execute("select 1", timeout=_HEARTBEAT_SECONDS)


async def _listen(url: str, changes: Changes, listening: asyncio.Event) -> None:
    while True:
        with suppress(OSError, asyncpg.PostgresError, asyncpg.InterfaceError):
            connection = await asyncpg.connect(url)
            try:
                lost = asyncio.Event()
                connection.add_termination_listener(lambda _connection, lost=lost: lost.set())
                await connection.add_listener(CHANNEL, changes.receive)
                await connection.add_listener(IDENTITIES_CHANNEL, changes.receive_identities)
                changes.missed()
                changes.listening = True
                listening.set()
                await _until_lost(connection, lost)
            finally:
                changes.listening = False
                connection.terminate()
        await asyncio.sleep(_RECONNECT_SECONDS)


@asynccontextmanager
async def listen(url: str) -> AsyncGenerator[Changes]:
    """Listen for as long as the block runs, reconnecting when the server goes away; ready when entered."""
    changes, listening = Changes(), asyncio.Event()
    task = asyncio.create_task(_listen(url, changes, listening))
    try:
        await asyncio.wait_for(listening.wait(), 30)
        yield changes
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
