"""Whether the service lives, whether it can answer, and how long its answers take."""

import asyncio
import time

import asyncpg
import structlog
from prometheus_client import Counter, Histogram
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from streaming.problems import problem

log = structlog.get_logger()

REQUESTS = Counter("agentforge_http_requests_total", "HTTP requests answered.", ["method", "path", "status"])
SECONDS = Histogram("agentforge_http_request_seconds", "Seconds from request to end of answer.", ["method", "path"])

_READY_SECONDS = 3
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


class Measure:
    """Logs, counts and times HTTP requests; counted by the path of their route, so that ids do not multiply the series.

    The log has the path without its query, which holds a sign-in link's secret.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        began, status = time.perf_counter(), "aborted"

        async def note_status(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = str(message["status"])
            await send(message)

        try:
            await self.app(scope, receive, note_status)
        finally:
            seconds = time.perf_counter() - began
            log.info("request", method=scope["method"], path=scope["path"], status=status, seconds=round(seconds, 6))
            method = scope["method"] if scope["method"] in _METHODS else "other"
            path = _route_path(scope)
            REQUESTS.labels(method, path, status).inc()
            SECONDS.labels(method, path).observe(seconds)


def _route_path(scope: Scope) -> str:
    for route in scope["app"].routes if "app" in scope else ():
        matched, _ = route.matches(scope)
        if matched.value:
            return str(route.path)
    return "other"


async def healthz(request: Request) -> Response:
    """The process runs and its event loop turns."""
    return PlainTextResponse("ok\n")


async def readyz(request: Request) -> Response:
    """The database answers."""
    try:
        async with asyncio.timeout(_READY_SECONDS):
            await request.app.state.pool.fetchval("select 1")
    except (TimeoutError, OSError, asyncpg.PostgresError, asyncpg.InterfaceError):
        return problem(503, "Service Unavailable", "The database does not answer.")
    return PlainTextResponse("ok\n")


routes = [Route("/healthz", healthz), Route("/readyz", readyz)]
