"""/metrics, for Prometheus: what this process, the workers and the queue count; of no organization."""

import asyncio
import secrets
from collections.abc import Iterable

import asyncpg
import structlog
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from prometheus_client.metrics_core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from pydantic import SecretStr
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from agentforge.worker.metrics import families
from db import workers
from db.tenant import Pool, fetch_before_organization
from streaming.problems import problem

log = structlog.get_logger()

_DATABASE_SECONDS = 3
_REFUSED = (TimeoutError, OSError, asyncpg.PostgresError, asyncpg.InterfaceError)


class _Told(Collector):
    def __init__(self, metrics: Iterable[Metric]) -> None:
        self._metrics = list(metrics)

    def collect(self) -> Iterable[Metric]:
        return self._metrics


async def metrics(request: Request) -> Response:
    """404 where no token is set, 401 for another one; what the database counts is missing while it does not answer."""
    token: SecretStr | None = request.app.state.metrics_token
    if token is None:
        raise HTTPException(404)
    if not _is_bearer(request, token.get_secret_value()):
        detail = "Send `Authorization: Bearer` with the value of AGENTFORGE_METRICS_TOKEN."
        return problem(401, "Unauthorized", detail, headers={"WWW-Authenticate": "Bearer"})
    told = CollectorRegistry()
    told.register(_Told(await _installation(request.app.state.pool)))
    return Response(
        generate_latest() + generate_latest(told),
        media_type=CONTENT_TYPE_LATEST,
        headers={"Cache-Control": "no-store"},
    )


def _is_bearer(request: Request, token: str) -> bool:
    given = request.headers.getlist("authorization")
    scheme, _, value = given[0].partition(" ") if len(given) == 1 else ("", "", "")
    # Over bytes: text that is not ASCII cannot be compared in constant time.
    return secrets.compare_digest(value.strip().encode(), token.encode()) and scheme.lower() == "bearer"


async def _installation(pool: Pool) -> list[Metric]:
    try:
        async with asyncio.timeout(_DATABASE_SECONDS):
            (waiting,) = await fetch_before_organization(pool, workers.WAITING)
            (present,) = await fetch_before_organization(pool, workers.PRESENT)
            totals = await fetch_before_organization(pool, workers.TOTALS)
    except _REFUSED as error:
        log.warning("metrics_without_database", error=repr(error))
        return [_gauge("agentforge_database_up", "Whether the database answers.", 0)]
    runs = GaugeMetricFamily("agentforge_queue_runs", "Runs in the queue, waiting or taken.", labels=["state"])
    runs.add_metric(["queued"], waiting.queued_runs)
    runs.add_metric(["taken"], waiting.taken_runs)
    oldest = "Age of the oldest run that waits; 0 when none does."
    return [
        _gauge("agentforge_database_up", "Whether the database answers.", 1),
        runs,
        _gauge("agentforge_queue_attempts", "Attempts of the runs that wait.", waiting.queued_attempts),
        _gauge("agentforge_queue_oldest_seconds", oldest, waiting.oldest_seconds),
        _gauge("agentforge_workers", "Workers that reported within half a minute.", present.workers),
        _gauge("agentforge_worker_places", "Attempts that they have room for.", present.places),
        _gauge("agentforge_worker_places_taken", "Attempts that they have under way.", present.places_taken),
        *families({total.series: total.value for total in totals}),
    ]


def _gauge(name: str, documentation: str, value: float) -> Metric:
    return GaugeMetricFamily(name, documentation, value)


routes = [Route("/metrics", metrics)]
