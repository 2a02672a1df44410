"""Connections of the service: opened as a role that row-level security binds."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import asyncpg

from db.query import query


@dataclass(frozen=True, slots=True)
class RoleRow:
    name: str
    bypasses: bool
    owns: bool


ROLE = query("pool.role", RoleRow)


class UnsafeRoleError(RuntimeError):
    """The connection's role could read across organizations."""


async def require_bound_role(connection: "asyncpg.Connection[asyncpg.Record]") -> None:
    """Refuse a role that row-level security does not bind.

    Raises UnsafeRoleError for a superuser, a role with BYPASSRLS, or one that owns a table of the service.
    """
    record = await connection.fetchrow(ROLE.text)
    assert record is not None
    role = RoleRow(**record)
    if role.bypasses or role.owns:
        reason = "bypasses row-level security" if role.bypasses else "owns the tables"
        raise UnsafeRoleError(
            f"The database role {role.name!r} {reason}, so organizations would not be kept apart. "
            "Connect as agentforge_app: a plain login without SUPERUSER or BYPASSRLS that owns nothing."
        )


async def nothing_to_reset(connection: object) -> None:
    """For pools of connections that are used through `Tenant`: settings are local and transactions end before release.

    asyncpg's own reset asks the server once more for every checkout, a quarter of the time of a short query.
    """


@asynccontextmanager
async def open_pool(
    url: str, *, application_name: str, max_size: int = 10, statement_seconds: float | None = None
) -> "AsyncGenerator[asyncpg.Pool[asyncpg.Record]]":
    """A pool on `url`, checked with `require_bound_role` before it is handed out.

    PostgreSQL stops a statement after `statement_seconds`, except in transactions that ask for no limit.
    """
    # Statements here are short: compiling them costs more than it gains.
    settings = {"application_name": application_name, "jit": "off"}
    if statement_seconds is not None:
        settings["statement_timeout"] = f"{round(statement_seconds * 1000)}ms"
    pool = await asyncpg.create_pool(
        url,
        min_size=1,
        max_size=max_size,
        reset=nothing_to_reset,
        server_settings=settings,
    )
    async with pool:
        async with pool.acquire() as connection:
            await require_bound_role(connection)  # type: ignore[arg-type]
        yield pool
