"""The real application behind a real server, asked in every way that it can be asked."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import httpx
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed
from websockets.typing import Subprotocol

from agentforge.app import build
from agentforge.server import bind, serving
from agentforge.settings import Settings
from db.changes import Changes
from db.tenant import Tenant
from resolvers import accounts

SECONDS = 30
EVENTS = {"Accept": "text/event-stream"}


@dataclass(frozen=True)
class Service:
    """A server, and the token of one organization's member."""

    address: str
    token: str

    @property
    def url(self) -> str:
        return f"http://{self.address}/graphql"

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"}

    async def post(self, *, headers: dict[str, str] | None = None, **options: Any) -> httpx.Response:
        headers = self.headers | {"Content-Type": "application/json"} | (headers or {})
        if "json" in options:
            # Escaped, unlike httpx does it: half a character is no UTF-8.
            options["content"] = json.dumps(options.pop("json"))
        async with httpx.AsyncClient(timeout=SECONDS) as client:
            return await client.post(self.url, headers=headers, **options)

    @asynccontextmanager
    async def socket(self, **options: Any) -> AsyncIterator[ClientConnection]:
        address = f"ws://{self.address}/graphql"
        options |= {"subprotocols": [Subprotocol("graphql-transport-ws")], "max_size": None}
        async with connect(address, additional_headers=self.headers, **options) as socket:
            await socket.send('{"type": "connection_init"}')
            assert json.loads(await socket.recv())["type"] == "connection_ack"
            yield socket

    def as_another(self, token: str) -> "Service":
        return Service(self.address, token)


async def token_of(tenant: Tenant, role: str = "member") -> str:
    _, secret = await accounts.create_token(tenant, "test", role, timedelta(days=1))
    return secret


@asynccontextmanager
async def served(tenant: Tenant, changes: Changes | None = None) -> AsyncIterator[Service]:
    settings = Settings(port=0)
    listener = bind(settings)
    app = build(tenant.pool, tenant.pool, changes or Changes(), settings)
    async with serving(app, listener):
        yield Service(f"127.0.0.1:{listener.getsockname()[1]}", await token_of(tenant))


async def by_post(service: Service, query: str, variables: dict[str, Any]) -> Any:
    response = await service.post(json={"query": query, "variables": variables})
    assert response.status_code == 200, response.text
    return response.json()


async def by_events(service: Service, query: str, variables: dict[str, Any]) -> Any:
    """The first event's answer; an operation that is no subscription has one."""
    response = await service.post(json={"query": query, "variables": variables}, headers=EVENTS)
    assert response.status_code == 200, response.text
    event, data, *_ = response.text.split("\r\n")
    assert event == "event: next"
    return json.loads(data.removeprefix("data: "))


async def by_socket(service: Service, query: str, variables: dict[str, Any]) -> Any:
    """The answer; a text that is no document closes the connection and says why."""
    async with service.socket() as socket:
        payload = {"query": query, "variables": variables}
        await socket.send(json.dumps({"type": "subscribe", "id": "1", "payload": payload}))
        try:
            message = json.loads(await asyncio.wait_for(socket.recv(), SECONDS))
        except ConnectionClosed:
            assert socket.close_code == 4400
            return {"errors": [{"message": socket.close_reason}]}
        assert message["id"] == "1"
        return {"errors": message["payload"]} if message["type"] == "error" else message["payload"]


Ask = Callable[[Service, str, dict[str, Any]], Awaitable[Any]]
WAYS: dict[str, Ask] = {"post": by_post, "events": by_events, "socket": by_socket}
