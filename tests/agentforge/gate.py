"""An application behind Authenticate that tells who it was asked by."""

import asyncio
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import httpx
import uvicorn
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket

from agentforge.auth import Authenticate, routes
from agentforge.health import Measure
from agentforge.settings import Settings
from db.changes import Changes
from db.tenant import Pool
from resolvers.identities import Identities
from streaming.problems import exception_handlers

ADA = "ada@example.com"
DAY = timedelta(days=1)
HOST = "http://forge.test"


async def who(request: Request) -> Response:
    identity, tenant = request.state.identity, request.state.tenant
    if identity is None:
        return JSONResponse({"role": None})
    assert tenant.organization_id == identity.organization_id
    return JSONResponse({"role": identity.role, "email": identity.email, "organization": str(identity.organization_id)})


async def who_socket(websocket: WebSocket) -> None:
    await websocket.accept()
    identity = websocket.state.identity
    await websocket.send_json(identity and identity.role)
    await websocket.close()


def application(pool: Pool, settings: Settings | None = None) -> Starlette:
    return Starlette(
        routes=[
            *routes,
            WebSocketRoute("/{path:path}", who_socket),
            Route("/{path:path}", who, methods=["GET", "POST", "PUT", "OPTIONS"]),
        ],
        middleware=[
            Middleware(Measure),
            Middleware(Authenticate, identities=Identities(pool, Changes()), settings=settings or Settings()),
        ],
        exception_handlers=exception_handlers,
    )


@asynccontextmanager
async def client_of(app: Starlette, url: str = HOST) -> AsyncGenerator[httpx.AsyncClient]:
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=url) as client:
        yield client


@asynccontextmanager
async def served(app: Starlette) -> AsyncGenerator[str]:
    """A real server; its host and port."""
    listener = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app, log_config=None, access_log=False, lifespan="off"))
    serving = asyncio.create_task(server.serve([listener]))
    try:
        yield f"127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        await serving
        listener.close()


def assert_problem(response: httpx.Response, status: int) -> dict[str, Any]:
    assert response.status_code == status
    assert response.headers["content-type"] == "application/problem+json"
    body: dict[str, Any] = response.json()
    assert body["status"] == status
    return body


def assert_unauthorized(response: httpx.Response) -> None:
    assert_problem(response, 401)
    assert response.headers["www-authenticate"] == "Bearer"
