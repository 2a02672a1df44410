"""One organization's view of the database."""

import asyncio
from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any, TypeVar
from uuid import UUID

import asyncpg
from asyncpg.pool import PoolConnectionProxy

from db.copying import BinaryRows, BrokenCopyError, LineSink, inlined
from db.errors import StatementTimeoutError
from db.query import Projection, Query, decided

Row = TypeVar("Row")
Pool = asyncpg.Pool  # asyncpg's own name, so that other layers need not import asyncpg


@dataclass(frozen=True, slots=True)
class Transaction:
    """An open transaction under one organization's row-level security."""

    connection: "PoolConnectionProxy[asyncpg.Record]"

    async def fetch(self, query: Query[Row], *args: object) -> list[Row]:
        text, given = decided(query.text, args)
        records = await self.connection.fetch(text, *given)
        return [query.row(**record) for record in records]

    async def select(self, projection: Projection, *args: object) -> Sequence[Any]:
        """Rows that are sequences of values, in the order of the projection's columns; keys are the last argument."""
        if projection.uuid_keys:
            keys: Iterable[object] = args[-1]  # type: ignore[assignment]
            args = (*args[:-1], "{" + ",".join(map(str, keys)) + "}")
        text, given = decided(projection.text, args)
        return await self.connection.fetch(text, *given)

    async def fetch_one(self, query: Query[Row], *args: object) -> Row | None:
        """The only row, or None; more than one is an error of the statement."""
        rows = await self.fetch(query, *args)
        if len(rows) > 1:
            raise RuntimeError(f"{query.name} gave {len(rows)} rows where one was expected")
        return rows[0] if rows else None

    async def copy(self, query: Query[Row], *args: object, sink: LineSink) -> None:
        """Hands the values of a statement of one text column to `sink`, a line each, as the server makes them.

        Nothing more is read while `sink` has not returned. Raises BrokenCopyError. Whatever is raised, also by
        `sink`, the connection is gone then: asyncpg cannot end a copy that was left midway.
        """
        rows = BinaryRows()

        async def take(piece: bytes) -> None:
            lines, count = rows.feed(piece)
            if count:
                await sink(lines, count)

        statement = inlined(*decided(query.text, args))
        try:
            # The timeout of the pool would be one for the copy as a whole.
            await self.connection.copy_from_query(statement, output=take, format="binary", timeout=None)
            if not rows.is_complete:
                raise BrokenCopyError("the end is missing")
        except BaseException:
            with suppress(asyncpg.InterfaceError):
                self.connection.terminate()
            raise


async def fetch_before_organization(
    pool: "asyncpg.Pool[asyncpg.Record]", query: Query[Row], *args: object
) -> list[Row]:
    """For the few functions that tell which organization a secret, an address or a name belongs to.

    No organization is set, so tables under row-level security yield nothing.
    """
    async with pool.acquire() as connection:
        return [query.row(**record) for record in await connection.fetch(query.text, *args)]


async def _abandon(
    pool: "asyncpg.Pool[asyncpg.Record]", connection: "PoolConnectionProxy[asyncpg.Record]", *, stopped: bool
) -> str:
    """Gives the connection back without a transaction; tells how long a statement may take, where one was stopped."""
    limit = ""
    try:
        # Also where no transaction seems open: a cancelled BEGIN may have reached the server all the same.
        await connection.execute("ROLLBACK")
        if stopped:
            limit = await connection.fetchval("SHOW statement_timeout")
    except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError):
        with suppress(asyncpg.InterfaceError):  # released when the server went away
            connection.terminate()
    await pool.release(connection)
    return limit


@dataclass(frozen=True, slots=True)
class Tenant:
    """Runs every statement in a transaction under the row-level security of one organization."""

    pool: "asyncpg.Pool[asyncpg.Record]"
    organization_id: UUID

    @asynccontextmanager
    async def transaction(self, mode: str = "", *, unlimited: bool = False) -> AsyncGenerator[Transaction]:
        """A transaction of the given `BEGIN` mode, committed at the end, rolled back on any exception.

        Raises StatementTimeoutError for a statement that takes longer than the pool allows, unless `unlimited`.
        """
        connection = await self.pool.acquire()
        try:
            # One message, not three; local, so that a pooled connection never keeps another tenant's id.
            # The UUID is a parsed one, so its text holds hex digits and dashes only.
            await connection.execute(
                f"BEGIN {mode}; SET LOCAL agentforge.organization_id = '{UUID(int=self.organization_id.int)}'"
                + ("; SET LOCAL statement_timeout = 0" if unlimited else "")
            )
            yield Transaction(connection)
            if await connection.execute("COMMIT") != "COMMIT":
                # The server's answer to a COMMIT after a failed statement, whose error was swallowed.
                raise asyncpg.InFailedSQLTransactionError("a statement of the transaction failed; nothing was stored")
        except BaseException as error:
            stopped = isinstance(error, asyncpg.QueryCanceledError)
            # One task, which a second cancellation leaves to finish: released before it was rolled back, the
            # connection would be lost to the pool.
            limit = await asyncio.shield(_abandon(self.pool, connection, stopped=stopped))
            if stopped:
                raise StatementTimeoutError(limit) from error
            raise
        await self.pool.release(connection)

    async def fetch(self, query: Query[Row], *args: object) -> list[Row]:
        async with self.transaction("READ ONLY") as transaction:
            return await transaction.fetch(query, *args)

    async def fetch_one(self, query: Query[Row], *args: object) -> Row | None:
        """The only row, or None."""
        async with self.transaction("READ ONLY") as transaction:
            return await transaction.fetch_one(query, *args)


@dataclass(frozen=True, slots=True)
class Joined(Tenant):
    """Takes part in a transaction that is open, and leaves its end to whoever opened it."""

    opened: Transaction

    @asynccontextmanager
    async def transaction(self, mode: str = "", *, unlimited: bool = False) -> AsyncGenerator[Transaction]:
        yield self.opened
