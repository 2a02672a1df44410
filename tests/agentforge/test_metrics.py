"""/metrics has a token of its own, and tells of the installation only."""

from contextlib import AbstractAsyncContextManager

import asyncpg
import httpx
import pytest

from agentforge.app import build
from agentforge.settings import Settings
from db import jobs, workers
from db.changes import Changes
from db.jobs import RunJob
from db.tenant import Pool, Tenant, fetch_before_organization
from tests.agentforge.gate import assert_problem, assert_unauthorized, client_of

TOKEN = "prometheus-reads-this"
SERIES = '["agentforge_trials", "agentforge_trials_total", {"failure_category": "", "status": "completed"}]'


def client(pool: Pool, token: str | None = TOKEN) -> AbstractAsyncContextManager[httpx.AsyncClient]:
    settings = Settings.model_validate({"metrics_token": token})
    return client_of(build(pool, pool, Changes(), settings))


async def read(pool: Pool) -> list[str]:
    async with client(pool) as asking:
        answer = await asking.get("/metrics", headers={"Authorization": f"Bearer {TOKEN}"})
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/plain; version=")
    assert answer.headers["cache-control"] == "no-store"
    return answer.text.splitlines()


async def test_without_a_token_there_are_no_metrics(pool: Pool, bearer: str) -> None:
    async with client(pool, None) as asking:
        for headers in ({}, {"Authorization": bearer}, {"Authorization": "Bearer "}, {"Authorization": "Bearer None"}):
            assert_problem(await asking.get("/metrics", headers=headers), 404)


@pytest.mark.parametrize(
    "given",
    ["", TOKEN, f"Basic {TOKEN}", "Bearer", "Bearer ", f"Bearer {TOKEN}x", f"Bearer {TOKEN[:-1]}", "Bearer \xe9"],
)
async def test_another_token_is_refused(pool: Pool, given: str) -> None:
    async with client(pool) as asking:
        assert_unauthorized(await asking.get("/metrics", headers={b"Authorization": given.encode("latin-1")}))


async def test_a_token_of_the_service_or_two_headers_are_none(pool: Pool, bearer: str) -> None:
    async with client(pool) as asking:
        assert_unauthorized(await asking.get("/metrics"))
        assert_unauthorized(await asking.get("/metrics", headers={"Authorization": bearer}))
        twice = [("Authorization", f"Bearer {TOKEN}")] * 2
        assert_unauthorized(await asking.get("/metrics", headers=twice))


async def test_what_workers_counted_and_what_waits_is_told(pool: Pool, acme: Tenant) -> None:
    lines = await read(pool)
    assert 'agentforge_queue_runs{state="queued"} 0.0' in lines
    assert "agentforge_workers 0.0" in lines
    async with acme.transaction() as transaction:
        await jobs.enqueue(transaction, RunJob(acme.organization_id, acme.organization_id), 8)
    for name in ("here/1/a", "there/1/b"):
        await fetch_before_organization(pool, workers.REPORT, name, "host", 4, 3, 1, [SERIES], [5.0])
    lines = await read(pool)
    for line in (
        "agentforge_database_up 1.0",
        'agentforge_queue_runs{state="queued"} 1.0',
        'agentforge_queue_runs{state="taken"} 0.0',
        "agentforge_queue_attempts 8.0",
        "agentforge_workers 2.0",
        "agentforge_worker_places 8.0",
        "agentforge_worker_places_taken 6.0",
        'agentforge_trials_total{failure_category="",status="completed"} 10.0',
        "# TYPE agentforge_trials_total counter",
        "# TYPE agentforge_execution_seconds histogram",
    ):
        assert line in lines
    (oldest,) = [line for line in lines if line.startswith("agentforge_queue_oldest_seconds ")]
    assert float(oldest.split()[1]) > 0
    assert str(acme.organization_id) not in "\n".join(lines)


async def test_a_database_that_is_away_leaves_the_rest() -> None:
    nowhere = asyncpg.create_pool("postgresql://nobody@127.0.0.1:1/nowhere", min_size=0)
    async with nowhere:
        lines = await read(nowhere)
    assert "agentforge_database_up 0.0" in lines
    assert any(line.startswith("agentforge_http_requests_total") or "python_info" in line for line in lines)
    assert not any(line.startswith("agentforge_queue") for line in lines)


def test_the_token_is_not_told() -> None:
    settings = Settings.model_validate({"metrics_token": TOKEN})
    assert TOKEN not in repr(settings) + str(settings) + repr(settings.model_dump())
