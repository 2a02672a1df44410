"""The web application: every route, and what stands before them."""

from functools import partial

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.routing import Route, WebSocketRoute
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from agentforge import auth, health, metrics, workspace
from agentforge.auth import Authenticate, identify_authorization
from agentforge.settings import Settings
from agentforge.workspace import CONTENT_SECURITY_POLICY, GRAPHIQL_POLICY, WEB
from db.changes import Changes
from db.tenant import Pool
from resolvers.identities import Identities
from schema.endpoint import GraphQLEndpoint
from schema.limits import MOST_BYTES
from streaming.bodies import LimitBody
from streaming.problems import exception_handlers
from streaming.routes import routes as streaming_routes

_SECURITY_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
)


class SecurityHeaders:
    """Tells browsers to load nothing from elsewhere, to guess no types and to send no addresses."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def add_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                given = {name for name, _ in message["headers"]}
                policy = GRAPHIQL_POLICY if scope["path"] == "/graphql" else CONTENT_SECURITY_POLICY
                ours = ((b"content-security-policy", policy.encode()), *_SECURITY_HEADERS)
                message["headers"] = [*message["headers"], *(header for header in ours if header[0] not in given)]
            await send(message)

        await self.app(scope, receive, add_headers)


def build(pool: Pool, exports: Pool, changes: Changes, settings: Settings) -> Starlette:
    """The application over an open pool, one for exports, and a listener for changes, all of them the caller's."""
    identities = Identities(pool, changes)
    identify, keys = partial(identify_authorization, identities), settings.encryption_keys()
    graphql = GraphQLEndpoint(WEB / "graphiql.html", pool, changes, identify, keys)
    app = Starlette(
        routes=[
            Route("/graphql", graphql, methods=["GET", "POST"], middleware=[Middleware(LimitBody, limit=MOST_BYTES)]),
            WebSocketRoute("/graphql", graphql),
            *auth.routes,
            *streaming_routes,
            *health.routes,
            *metrics.routes,
            *workspace.routes,
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
