"""What changed, as it happens: LISTEN on one connection for the whole process, handed on to each subscriber."""

import asyncio
from collections import defaultdict
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
#: Of one organization in this process: each change that they hear of is looked up for each of them.
MOST_SUBSCRIBERS = 2000


@dataclass(frozen=True, slots=True)
class Change:
    """A run or trial whose status changed; all None where changes may have been missed, so read anew."""

    table: str | None
    id: UUID | None
    status: str | None
    evaluation_run_id: UUID | None
    environment_version_id: UUID | None


MISSED = Change(None, None, None, None, None)


class SlowSubscriberError(RuntimeError):
    """A subscriber fell more than 1,000 changes behind and was dropped."""


class TooManySubscribersError(RuntimeError):
    """An organization has as many subscribers as it may have."""


@dataclass(eq=False, slots=True)
class Subscription:
    """The changes of an organization, each; or those of one run, of which it is enough to know that there were some."""

    organization_id: UUID
    evaluation_run_id: UUID | None
    queue: "asyncio.Queue[Change]" = field(init=False)
    dropped: bool = False

    def __post_init__(self) -> None:
        self.queue = asyncio.Queue(_BACKLOG if self.evaluation_run_id is None else 1)

    def offer(self, change: Change) -> None:
        try:
            self.queue.put_nowait(change)
        except asyncio.QueueFull:
            self.dropped = self.evaluation_run_id is None

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

    subscriptions: defaultdict[tuple[UUID, UUID | None], set[Subscription]] = field(
        default_factory=lambda: defaultdict(set)
    )
    identities: int = 0
    listening: bool = False

    def receive(self, _connection: object, _pid: int, _channel: str, payload: object) -> None:
        organization, table, identifier, status, run, version = str(payload).split(" ")
        change = Change(table, UUID(identifier), status, UUID(run), UUID(version))
        for key in ((UUID(organization), None), (UUID(organization), change.evaluation_run_id)):
            for subscription in self.subscriptions.get(key, ()):
                subscription.offer(change)

    def receive_identities(self, *_: object) -> None:
        self.identities += 1

    def missed(self) -> None:
        self.identities += 1
        for subscriptions in self.subscriptions.values():
            for subscription in subscriptions:
                subscription.offer(MISSED)

    @asynccontextmanager
    async def subscribe(
        self, organization_id: UUID, evaluation_run_id: UUID | None = None
    ) -> AsyncGenerator[AsyncIterator[Change]]:
        """Changes from now on: read the state inside the block and nothing falls between.

        Of one run: the next change that comes after the state was read, however many there were. Raises
        TooManySubscribersError.
        """
        if sum(len(one) for key, one in self.subscriptions.items() if key[0] == organization_id) >= MOST_SUBSCRIBERS:
            raise TooManySubscribersError(
                f"The organization has {MOST_SUBSCRIBERS:,} subscriptions under way, which is as many as there may be."
            )
        key, subscription = (organization_id, evaluation_run_id), Subscription(organization_id, evaluation_run_id)
        self.subscriptions[key].add(subscription)
        try:
            yield subscription.changes()
        finally:
            self.subscriptions[key].discard(subscription)
            if not self.subscriptions[key]:
                del self.subscriptions[key]


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
