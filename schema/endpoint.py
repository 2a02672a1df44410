"""The graph over HTTP and WebSocket."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from json import JSONDecodeError
from pathlib import Path
from typing import Any, Final
from uuid import UUID
from weakref import WeakValueDictionary

import orjson
from cross_web import HTTPException as RefusedRequest
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.types import Message, Receive, Scope, Send
from starlette.websockets import WebSocket
from strawberry.asgi import GraphQL
from strawberry.exceptions import ConnectionRejectionError
from strawberry.http.base import BaseRequestProtocol
from strawberry.subscriptions import GRAPHQL_SSE_PROTOCOL, GRAPHQL_TRANSPORT_WS_PROTOCOL
from strawberry.types.unset import UnsetType

from db.accounts import Identity
from db.changes import Changes
from db.errors import ForbiddenError, StatementTimeoutError
from db.tenant import Pool, Tenant
from resolvers.context import NO_KEYS, Session
from resolvers.secret_keys import SecretKeys
from schema.encoding import encode_json
from schema.graph import graph
from schema.leaving import WhileConnected
from schema.limits import MOST_NESTING, MOST_OPERATIONS
from schema.member_role import MemberRole
from schema.persisted import PersistedQueries, PersistedQueryError
from schema.websocket import Operations, TextFrames

#: Answers of compiled operations made at a time for one organization, whose slow statements hold up no other. More only
#: push each other's rows out of the processor's caches: with twenty an answer of 9,000 fields took a third more time.
MOST_READING: Final = 6


def may_ask(identity: Identity | None) -> bool:
    """Whether the graph is for this role; a worker's token is for what workers need."""
    return identity is None or MemberRole(identity.role) is not MemberRole.WORKER


def _plain_json(headers: Headers) -> bool:
    """Whether one JSON document is given and one is wanted."""
    return headers.get("content-type", "").partition(";")[0].strip() == "application/json" and not any(
        stream in headers.get("accept", "") for stream in ("text/event-stream", "multipart/mixed")
    )


def _json(content: bytes, status: int = 200) -> Response:
    return Response(content, status, media_type="application/json")


def _refuse(constant: str) -> object:
    raise ValueError(constant)


@dataclass(slots=True)
class _Replayed:
    """Receives a body that was read before, then what comes after it."""

    body: bytes
    receive: Receive
    given: bool = False

    async def __call__(self) -> Message:
        if self.given:
            return await self.receive()
        self.given = True
        return {"type": "http.request", "body": self.body, "more_body": False}


class GraphQLEndpoint(GraphQL[Session, None]):
    """POST answers operations, as events where these are accepted; GET gives the GraphiQL page and nothing else;
    a WebSocket speaks graphql-transport-ws.

    Who asks stands in the request's state, put there before; a WebSocket's client may instead say it in the payload
    of connection_init, {"Authorization": "Bearer ..."}, which `identify` turns into an identity or None.
    """

    websocket_adapter_class = TextFrames
    graphql_transport_ws_handler_class = Operations

    def __init__(
        self,
        page: Path,
        pool: Pool,
        changes: Changes,
        identify: Callable[[str], Awaitable[Identity | None]],
        keys: SecretKeys = NO_KEYS,
    ) -> None:
        protocols = [GRAPHQL_TRANSPORT_WS_PROTOCOL, GRAPHQL_SSE_PROTOCOL]
        super().__init__(
            graph,
            allow_queries_via_get=False,
            subscription_protocols=protocols,
            max_subscriptions_per_connection=MOST_OPERATIONS,
            # Cookies from other origins were refused before, also behind a proxy that names another host.
            allowed_origins=["*"],
        )
        self.page = page
        self.pool = pool
        self.changes = changes
        self.identify = identify
        self.keys = keys
        self.persisted = PersistedQueries()
        self.reading = WeakValueDictionary[UUID, asyncio.Semaphore]()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers what was compiled at once; whatever else comes goes the view's own way."""
        if scope["type"] != "http" or scope["method"] != "POST":
            await super().__call__(scope, receive, send)
            return
        request = Request(scope, receive)
        body = await request.body()
        with WhileConnected(receive):
            answer = None
            if _plain_json(request.headers) and may_ask(request.state.identity):
                answer, body = await self._at_once(request, body)
            if answer is not None:
                await answer(scope, receive, send)
            else:
                await super().__call__(scope, _Replayed(body, receive), send)

    async def _at_once(self, request: Request, body: bytes) -> tuple[Response | None, bytes]:
        """The answer, or None and the body that the view is to answer."""
        try:
            given = orjson.loads(body)
        except ValueError:
            return None, body
        if not isinstance(given, dict):
            return None, body
        try:
            asked = self.persisted.complete(given)
        except PersistedQueryError as error:
            return _json(orjson.dumps(error.answer()), error.status), body
        if asked is not given:
            body = orjson.dumps(asked)
        answer = await self._compiled(request, asked)
        return (None if answer is None else _json(answer)), body

    async def _compiled(self, request: Request, asked: dict[str, Any]) -> bytes | None:
        query, variables, name = asked.get("query"), asked.get("variables"), asked.get("operationName")
        identity = request.state.identity
        if identity is None or asked.get("extensions"):
            return None
        if not (isinstance(query, str) and isinstance(variables, dict | None) and isinstance(name, str | None)):
            return None
        context = Session(self.changes, request.state.tenant, identity).context()
        reading = self.reading.setdefault(identity.organization_id, asyncio.Semaphore(MOST_READING))
        async with reading:
            try:
                data = await graph.compiled(query, variables or {}, name, context)
                return None if data is None else orjson.dumps({"data": data})
            except TypeError:
                return None  # a lone surrogate
            except StatementTimeoutError as error:
                told = {"message": error.message, "extensions": {"code": error.code}}
                return orjson.dumps({"data": None, "errors": [told]})

    async def run(self, request: Request | WebSocket, *arguments: Any, **options: Any) -> Any:
        """What is refused before it is GraphQL is answered as a problem, like everywhere outside the graph."""
        try:
            return await super().run(request, *arguments, **options)
        except RefusedRequest as refused:
            raise HTTPException(refused.status_code, refused.reason) from refused

    def is_request_allowed(self, request: BaseRequestProtocol) -> bool:
        # GET needs no sign-in, and the view would take subscriptions by it.
        return request.method == "POST" or self.should_render_graphql_ide(request)

    async def get_context(self, request: Request | WebSocket, response: Response | WebSocket) -> Session:
        identity = request.state.identity
        if isinstance(request, Request) and not may_ask(identity):
            raise ForbiddenError("A worker's token may only download bundles.")
        key = request.headers.get("Idempotency-Key") if isinstance(request, Request) else None
        return Session(
            self.changes,
            request.state.tenant,
            identity,
            idempotency_key=key,
            identify_again=identity and request.state.identify_again,
            keys=self.keys,
        )

    async def on_ws_connect(self, context: Session) -> UnsetType:
        if context.identity is None:
            header = context.connection_params.get("Authorization")
            identity = await self.identify(header) if isinstance(header, str) else None
            if identity is None or not isinstance(header, str):
                raise ConnectionRejectionError
            context.identity, context.tenant = identity, Tenant(self.pool, identity.organization_id)
            context.identify_again = partial(self.identify, header)
        if not may_ask(context.identity):
            raise ConnectionRejectionError
        return UnsetType()

    async def render_graphql_ide(self, request: Request) -> Response:
        return FileResponse(self.page, media_type="text/html")

    def decode_json(self, data: str | bytes) -> object:
        """Raises JSONDecodeError for all that is no request; JSON's reader raises others too, and takes NaN."""
        try:
            decoded = json.loads(data, parse_constant=_refuse)
        except RecursionError:
            raise JSONDecodeError(f"values may be nested at most {MOST_NESTING} levels deep", "", 0) from None
        except ValueError:
            decoded = None
        if not isinstance(decoded, dict | list):
            raise JSONDecodeError("it is no JSON object", "", 0)
        return decoded

    def parse_json(self, data: str | bytes) -> Any:
        """What a request over HTTP brings. Raises RefusedRequest."""
        try:
            decoded = self.decode_json(data)
        except JSONDecodeError as error:
            raise RefusedRequest(400, f"The body cannot be read as a GraphQL request: {error.msg}.") from None
        if isinstance(decoded, list):
            raise RefusedRequest(400, "Batching is not supported: send each operation in a request of its own.")
        return decoded

    def encode_json(self, data: object) -> str | bytes:
        return encode_json(data)
