"""The routes in an application of their own, and a real server for it."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import httpx
import uvicorn
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from db.accounts import Identity
from db.tenant import Tenant
from streaming.problems import exception_handlers
from streaming.routes import routes

#: A client of the routes, signed in to the organization with the role.
Client = Callable[..., httpx.AsyncClient]


class SignedIn:
    """Stands in for authentication, which has set these when a request comes here."""

    def __init__(self, app: ASGIApp, tenant: Tenant, identity: Identity) -> None:
        self.app = app
        self.tenant = tenant
        self.identity = identity

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            scope["state"] = {"tenant": self.tenant, "identity": self.identity}
        await self.app(scope, receive, send)


def application(tenant: Tenant, role: str = "member", identity: Identity | None = None) -> Starlette:
    """For a token with the role that is stored nowhere, or for `identity`."""
    identity = identity or Identity(tenant.organization_id, uuid4(), None, role)
    app = Starlette(
        routes=routes,
        exception_handlers=exception_handlers,
        middleware=[Middleware(SignedIn, tenant, identity)],
    )
    app.state.exports = tenant.pool
    return app


@dataclass(slots=True)
class Counted:
    """Counts the bytes of bodies that the application hands to the server."""

    app: ASGIApp
    sent: int = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def counted(message: Message) -> None:
            self.sent += len(message.get("body", b""))
            await send(message)

        await self.app(scope, receive, counted)


@asynccontextmanager
async def serve(app: ASGIApp) -> AsyncIterator[tuple[str, int]]:
    """The host and port of a real server that runs the application."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()  # so a client that comes before the server is ready waits for it
        server = uvicorn.Server(uvicorn.Config(app, log_config=None, lifespan="off"))
        task = asyncio.create_task(server.serve([listening]))
        try:
            yield listening.getsockname()
        finally:
            server.should_exit = True
            await task


def lines(content: bytes) -> list[Any]:
    """Every line parsed; each ends with a line break."""
    *whole, rest = content.split(b"\n")
    assert rest == b""
    return [json.loads(line) for line in whole]
