"""Who a request acts for: denied by default, by token for programs, by session cookie for people."""

import re
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from urllib.parse import urlsplit
from uuid import UUID

from anyio import to_thread
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.middleware import Middleware
from starlette.requests import HTTPConnection, Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from agentforge.settings import Settings
from agentforge.sign_in_limit import SignInLimit
from agentforge.workspace import is_page, shell
from db.accounts import Identity
from db.tenant import Tenant
from resolvers import accounts
from resolvers.accounts import Session
from resolvers.identities import Identities
from streaming.bodies import LimitBody
from streaming.problems import problem

COOKIE = "agentforge_session"

_SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
_PUBLIC = frozenset(
    {(method, path) for method in ("GET", "HEAD") for path in ("/healthz", "/readyz", "/metrics", "/favicon.ico")}
    | {("GET", "/graphql"), ("POST", "/api/v1/session"), ("GET", "/sign-in")}
)
_AUTHORIZATION = re.compile(r"(?i:bearer) +(agentforge_[A-Za-z0-9_-]{43})")
_MAX_BODY = 16 * 1024
_COOKIE_VALUE = re.compile(r"([0-9a-f]{32})\.([A-Za-z0-9_-]{43})")


@dataclass(frozen=True, slots=True)
class _SessionCookie:
    """The id stands beside the secret because the service may not look a session up by its secret."""

    session_id: UUID
    secret: str

    @classmethod
    def of(cls, connection: HTTPConnection) -> "_SessionCookie | None":
        match = _COOKIE_VALUE.fullmatch(connection.cookies.get(COOKIE, ""))
        return cls(UUID(match[1]), match[2]) if match else None


async def identify_authorization(identities: Identities, header_value: str) -> Identity | None:
    """Whose token an Authorization header, or the same in a `connection_init`, holds; None for all else."""
    match = _AUTHORIZATION.fullmatch(header_value)
    return await identities.find(match[1]) if match else None


class Authenticate:
    """Sets `identity` and `tenant` of the request's state, or answers 401 or 403 itself.

    Both are None on public paths, and on a WebSocket to /graphql without credentials, whose `connection_init`
    may bring them. A wrong Authorization header is refused also when a good cookie stands beside it. With a
    cookie, unsafe methods and WebSockets have to come from a page of our own: see `_comes_from_own_page`.
    """

    def __init__(self, app: ASGIApp, identities: Identities, settings: Settings) -> None:
        self.app = app
        self.pool = identities.pool
        self.identities = identities
        self.settings = settings
        self.limit = SignInLimit()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        inner = dict(scope)
        connection = HTTPConnection(inner)
        admitted = await self._admit(connection)
        if isinstance(admitted, Response):
            await _refuse(admitted, inner, receive, send)
            return
        tenant = None if admitted is None else Tenant(self.pool, admitted.organization_id)
        inner["state"] = {
            **scope.get("state", {}),
            "identity": admitted,
            "tenant": tenant,
            "authenticate": self,
            "identify_again": partial(self.identify, connection),
        }
        await self.app(inner, receive, send)

    async def _admit(self, connection: HTTPConnection) -> Identity | Response | None:
        """Who it is, None for nobody where that is allowed, or the refusal."""
        scope = connection.scope
        if _is_public(scope):
            return None
        identity, by_header = await self.identify(connection), "authorization" in connection.headers
        if identity is None:
            needs_none = (scope["type"], scope["path"]) == ("websocket", "/graphql") and not by_header
            return None if needs_none else _unauthorized()
        if not by_header and not _comes_from_own_page(connection, self.settings.public_url):
            return problem(403, "Forbidden", "With the session cookie, requests must come from our pages.")
        return identity

    async def identify(self, connection: HTTPConnection) -> Identity | None:
        """Who holds the token or session that came with the connection, now."""
        if headers := connection.headers.getlist("authorization"):
            return await identify_authorization(self.identities, headers[0]) if len(headers) == 1 else None
        cookie = _SessionCookie.of(connection)
        return await self.identities.find(cookie.secret) if cookie else None


def _is_public(scope: Scope) -> bool:
    if scope["type"] != "http":
        return False
    method, path = scope["method"], scope["path"]
    if (method, path) in _PUBLIC:
        return True
    return method in ("GET", "HEAD") and (path.startswith("/static/") or is_page(path))


def _unauthorized(detail: str = "Sign in, or send `Authorization: Bearer <token>`.") -> Response:
    return problem(401, "Unauthorized", detail, headers={"WWW-Authenticate": "Bearer"})


async def _refuse(response: Response, scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] == "http" or "websocket.http.response" in scope.get("extensions", {}):
        await response(scope, receive, send)
    else:
        await send({"type": "websocket.close", "code": 1008})


def _comes_from_own_page(connection: HTTPConnection, public_url: str | None) -> bool:
    """Whether no other site can have made a browser send this.

    Browsers tell with Sec-Fetch-Site or Origin. Where neither stands, the client is no browser, and has to
    say so with what a form of another site cannot send: a JSON body or a header `X-AgentForge`.
    """
    headers = connection.headers
    origin = headers.get("origin")
    if connection.scope["type"] == "websocket":
        return origin is not None and _is_own(origin, headers.get("host", ""), public_url)
    if connection.scope["method"] in _SAFE_METHODS:
        return True
    if (site := headers.get("sec-fetch-site")) is not None:
        return site in ("same-origin", "none")
    if origin is not None:
        return _is_own(origin, headers.get("host", ""), public_url)
    return "x-agentforge" in headers or _is_json(connection)


def _is_own(origin: str, host: str, public_url: str | None) -> bool:
    try:
        named = urlsplit(origin).netloc.lower()
    except ValueError:
        return False
    own = {host.lower(), urlsplit(public_url).netloc.lower() if public_url else ""}
    return named != "" and named in own


def _is_json(connection: HTTPConnection) -> bool:
    media_type = connection.headers.get("content-type", "").partition(";")[0]
    return media_type.strip().lower() == "application/json"


class Credentials(BaseModel):
    """The body of a sign-in; without an organization it is the person's first."""

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    email: str
    password: str = Field(repr=False)
    organization: str | None = None


async def create_session(request: Request) -> Response:
    """Sign in with a password: 204 and the cookie, or 401 that does not tell what was wrong."""
    gate: Authenticate = request.state.authenticate
    if not _is_json(request):
        return problem(415, "Unsupported Media Type", "Send the credentials as application/json.")
    try:
        credentials = Credentials.model_validate_json(await request.body())
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        field = [str(part) for part in first["loc"]]
        return problem(400, "Bad Request", f"{'.'.join(field) or 'The body'}: {first['msg']}.", field=field)
    if (wait := gate.limit.start(credentials.email)) is not None:
        detail = f"Too many failed sign-ins for this address; try again in {wait} seconds."
        return problem(429, "Too Many Requests", detail, headers={"Retry-After": str(wait)})
    lifetime = timedelta(days=gate.settings.session_days)
    session = await accounts.sign_in(
        gate.pool, credentials.email, credentials.password, credentials.organization, lifetime
    )
    if session is None:
        return _unauthorized("The address, the password or the organization is not right.")
    gate.limit.succeeded(credentials.email)
    return _with_cookie(Response(status_code=204), session, request)


async def delete_session(request: Request) -> Response:
    """Sign out: the session of the cookie ends, and the cookie goes."""
    cookie = _SessionCookie.of(request)
    if cookie is None or "authorization" in request.headers:
        return problem(400, "Bad Request", "A token is not signed out; revoke it with `agentforge token revoke`.")
    await accounts.sign_out(request.state.tenant, request.state.identity, cookie.session_id)
    response = Response(status_code=204, headers={"Cache-Control": "no-store"})
    response.delete_cookie(COOKIE, secure=_is_secure(request), httponly=True)
    return response


async def redeem_link(request: Request) -> Response:
    """Sign in with a link, which works once: 303 to the workspace with the cookie, or 410; without one, the page."""
    if request.method != "GET":  # a look ahead must not use the link up
        return problem(405, "Method Not Allowed", "Open the link with GET.", headers={"Allow": "GET"})
    if "link" not in request.query_params:
        return await to_thread.run_sync(shell, request)
    gate: Authenticate = request.state.authenticate
    lifetime = timedelta(days=gate.settings.session_days)
    secret = request.query_params.get("link", "")
    session = await accounts.redeem_sign_in_link(gate.pool, secret, lifetime)
    headers = {"Referrer-Policy": "no-referrer"}
    if session is None and "text/html" in request.headers.get("accept", ""):
        response = await to_thread.run_sync(shell, request, 410)
        response.headers.update(headers)
        return response
    if session is None:
        detail = (
            "This sign-in link was used, has expired or is not complete. "
            "Make a new one with `agentforge sign-in-link EMAIL --organization SLUG`."
        )
        return problem(410, "Gone", detail, headers=headers)
    return _with_cookie(RedirectResponse("/", 303, headers), session, request)


def _with_cookie(response: Response, session: Session, request: Request) -> Response:
    value = f"{session.id.hex}.{session.secret}"
    days: int = request.state.authenticate.settings.session_days
    response.headers["Cache-Control"] = "no-store"
    response.set_cookie(COOKIE, value, max_age=days * 86_400, secure=_is_secure(request), httponly=True)
    return response


def _is_secure(request: Request) -> bool:
    public_url: str | None = request.state.authenticate.settings.public_url
    return request.url.scheme == "https" or (public_url or "").startswith("https:")


routes = [
    Route("/api/v1/session", create_session, methods=["POST"], middleware=[Middleware(LimitBody, limit=_MAX_BODY)]),
    Route("/api/v1/session", delete_session, methods=["DELETE"]),
    Route("/sign-in", redeem_link, methods=["GET"]),
]
