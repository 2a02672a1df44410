"""The web application: every route, and what stands before them."""

from functools import partial
from importlib.resources import files
from pathlib import Path

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import FileResponse, RedirectResponse, Response
from starlette.routing import Mount, Route, WebSocketRoute
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from agentforge import auth, health, metrics
from agentforge.auth import Authenticate, identify_authorization
from agentforge.settings import Settings
from db.changes import Changes
from db.tenant import Pool
from resolvers.identities import Identities
from schema.endpoint import GraphQLEndpoint
from schema.limits import MOST_BYTES
from streaming.bodies import LimitBody
from streaming.problems import exception_handlers
from streaming.routes import routes as streaming_routes

WEB = Path(str(files("web")))

#: What GraphiQL needs and nothing more: its fonts are data, and it writes style elements.
CONTENT_SECURITY_POLICY = (
    "default-src 'self'; font-src data:; img-src 'self' data:; style-src 'self' 'unsafe-inline'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


_SECURITY_HEADERS = (
    (b"content-security-policy", CONTENT_SECURITY_POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"same-origin"),
)


class SecurityHeaders:
    """Tells browsers to load nothing from elsewhere, to guess no types and to send no addresses."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def add_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                given = {name for name, _ in message["headers"]}
                message["headers"] = [
                    *message["headers"],
                    *(header for header in _SECURITY_HEADERS if header[0] not in given),
                ]
            await send(message)

        await self.app(scope, receive, add_headers)


async def front_door(request: Request) -> Response:
    return RedirectResponse("/graphql", 303)


async def icon(request: Request) -> Response:
    return FileResponse(WEB / "icon.svg", media_type="image/svg+xml")


def build(pool: Pool, exports: Pool, changes: Changes, settings: Settings) -> Starlette:
    """The application over an open pool, one for exports, and a listener for changes, all of them the caller's."""
    identities = Identities(pool, changes)
    identify, keys = partial(identify_authorization, identities), settings.encryption_keys()
    graphql = GraphQLEndpoint(WEB / "graphiql.html", pool, changes, identify, keys)
    app = Starlette(
        routes=[
            Route("/", front_door),
            Route("/favicon.ico", icon),
            Route("/graphql", graphql, methods=["GET", "POST"], middleware=[Middleware(LimitBody, limit=MOST_BYTES)]),
            WebSocketRoute("/graphql", graphql),
            *auth.routes,
            *streaming_routes,
            *health.routes,
            *metrics.routes,
            Mount("/static", StaticFiles(directory=WEB)),
        ],
        middleware=[
            Middleware(SecurityHeaders),
            Middleware(health.Measure),
            Middleware(Authenticate, identities=identities, settings=settings),
        ],
        exception_handlers=exception_handlers,
    )
    app.state.pool, app.state.exports, app.state.metrics_token = pool, exports, settings.metrics_token
    return app
