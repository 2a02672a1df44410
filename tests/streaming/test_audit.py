"""What an export leaves in the audit, however it ends."""

import asyncio
import json
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

import asyncpg
import httpx
import pytest
from structlog.testing import capture_logs

from agentforge import server
from db import export_audits
from db.accounts import Identity
from db.embedded import DatabaseUrls
from db.export_audits import ExportAudit
from db.pool import open_pool
from db.tenant import Tenant
from resolvers import members
from resolvers.accounts import create_token
from streaming import body as body_module
from streaming.audited import written_to_the_end
from streaming.places import PLACES
from tests.factory import Attempt, create_run, create_version, step
from tests.service import PROJECT, environment
from tests.streaming.rows import create_many
from tests.streaming.test_transfer import Administrator, export, exporting, read, until_free
from tests.streaming.web import Client, Counted, application

URL = "/api/v1/rollouts"


async def audits(tenant: Tenant) -> list[ExportAudit]:
    """The newest first."""
    return await tenant.fetch(export_audits.PAGE, None, 100)


async def the_ended(tenant: Tenant) -> ExportAudit:
    """The only one, once it has ended."""
    async with asyncio.timeout(30):
        while not (found := await audits(tenant)) or found[0].ended_at is None:  # noqa: ASYNC110 - no event for it
            await asyncio.sleep(0.01)
    (one,) = found
    return one


def told(audit: ExportAudit) -> dict[str, str]:
    return {one["name"]: one["value"] for one in json.loads(audit.filters)}


async def test_who_took_what(acme: Tenant, client: Client) -> None:
    version = await create_version(acme)
    await create_run(acme, version, [Attempt(reward, steps=[step(1)]) for reward in (1.0, 0.5, 0.0)])
    token, _ = await create_token(acme, "nightly training é", "viewer", timedelta(days=1))
    identity = Identity(acme.organization_id, token.id, None, "viewer")
    asked = {"kind": "failed", "since": "2026-01-31T10:00:00+01:00", "environmentVersionId": str(version.id)}
    async with client(acme, identity=identity) as web:
        plain = (await web.get(URL, params=asked)).content
        packed = await web.get(URL, params=asked | {"manifest": "true"}, headers={"Accept-Encoding": "gzip"})
    assert packed.content.startswith(plain)
    newest, oldest = await audits(acme)
    for audit in (newest, oldest):
        assert (audit.actor_id, audit.actor, audit.actor_role) == (token.id, token.name, "viewer")
        assert (audit.is_token, audit.kind, audit.format) == (True, "failed", "atif-shaped")
        assert (audit.outcome, audit.lines, audit.bytes) == ("completed", 2, len(plain))
        assert audit.ended_at is not None
        assert audit.started_at < audit.ended_at
    expected = {"since": "2026-01-31T09:00:00+00:00", "environmentVersionId": str(version.id)}
    assert (told(oldest), told(newest)) == (expected, expected | {"manifest": "true"})


async def test_a_person_is_told_also_after_they_were_removed(acme: Tenant, client: Client) -> None:
    await members.add_member(acme, "olga@example.org", "owner")
    member = await members.add_member(acme, "ada@example.org", "viewer")
    identity = Identity(acme.organization_id, member.id, "ada@example.org", "viewer")
    async with client(acme, identity=identity) as web:
        assert (await web.get(URL, params={"kind": "preference"})).content == b""
    await members.remove_member(acme, str(member.id))
    (audit,) = await audits(acme)
    assert (audit.actor, audit.actor_id, audit.is_token) == ("ada@example.org", member.id, False)
    assert (audit.kind, audit.format, audit.outcome) == ("preference", "preference-pair", "completed")
    assert (audit.lines, audit.bytes, told(audit)) == (0, 0, {})


async def test_what_is_no_export_leaves_nothing(acme: Tenant, client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    async with client(acme) as web, client(acme, "worker") as worker:
        assert (await web.head(URL)).status_code == 200
        assert (await web.get(URL, params={"kind": "best"})).status_code == 400
        assert (await worker.get(URL)).status_code == 403
        monkeypatch.setattr(PLACES, "most", 0)
        assert (await web.get(URL)).status_code == 429
    assert await audits(acme) == []


async def test_no_line_leaves_before_the_row_is_there(
    acme: Tenant, client: Client, administrator: Administrator
) -> None:
    await create_many(acme, 10, 100)
    async with client(acme) as web:
        async with administrator.transaction():
            await administrator.execute("lock table export_audits in exclusive mode")
            asking = asyncio.create_task(web.get(URL))
            async with asyncio.timeout(30):
                while not await administrator.fetch(  # noqa: ASYNC110 - the database sends no event for it
                    "select from pg_locks where not granted and relation = 'export_audits'::regclass"
                ):
                    await asyncio.sleep(0.01)
            assert not asking.done()
        assert (await asking).status_code == 200
        await administrator.execute("revoke insert on export_audits from agentforge_app")
        with capture_logs() as logs:
            refused = await web.get(URL)
    assert (refused.status_code, len(logs)) == (500, 1)
    assert refused.headers["content-type"] == "application/problem+json"
    assert len(await audits(acme)) == 1


async def test_a_client_that_leaves(acme: Tenant, administrator: Administrator) -> None:
    await create_many(acme, 400, 64_000)
    app = Counted(application(acme))
    async with export(app) as chunks:
        got = len(await anext(chunks))
        (open_,) = await audits(acme)
        assert (open_.outcome, open_.ended_at, open_.lines) == ("started", None, 0)
    audit = await the_ended(acme)
    assert (audit.id, audit.outcome) == (open_.id, "left")
    assert got <= audit.bytes == app.sent < 400 * 64_000
    assert 0 < audit.lines < 400


async def test_a_client_that_takes_nothing(acme: Tenant, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(body_module, "STALL_SECONDS", 0.2)
    await create_many(acme, 400, 64_000)
    async with export(Counted(application(acme))) as chunks:
        await anext(chunks)
        assert (await the_ended(acme)).outcome == "left"


async def test_a_backend_that_is_killed(acme: Tenant, administrator: Administrator) -> None:
    await create_many(acme, 400, 64_000)
    with capture_logs() as logs:
        async with export(Counted(application(acme))) as chunks:
            got = bytearray(await anext(chunks))
            (pid,) = await exporting(administrator)
            await administrator.execute("select pg_terminate_backend($1, 5000)", pid)
            with pytest.raises(httpx.RemoteProtocolError, match="incomplete"):
                await read(chunks, got)
    audit = await the_ended(acme)
    assert (audit.outcome, audit.bytes >= len(got)) == ("failed", True)
    assert [entry["log_level"] for entry in logs] == ["error"]


async def test_a_failure_before_the_first_line(acme: Tenant, client: Client, administrator: Administrator) -> None:
    await administrator.execute("revoke select on trajectory_artifacts from agentforge_app")
    with capture_logs():
        async with client(acme) as web:
            assert (await web.get(URL)).status_code == 500
    (audit,) = await audits(acme)
    assert (audit.outcome, audit.lines, audit.bytes) == ("failed", 0, 0)


@asynccontextmanager
async def another_process(url: str, tenant: Tenant) -> AsyncIterator[tuple[asyncio.subprocess.Process, str]]:
    """The routes, served by a process of its own, and their address."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.streaming.served", url, str(tenant.organization_id)),
        cwd=PROJECT,
        env=environment(),
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout
    try:
        yield process, (await process.stdout.readline()).decode().strip()
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def test_a_process_that_is_killed(acme: Tenant, database: DatabaseUrls, administrator: Administrator) -> None:
    await create_many(acme, 400, 64_000)
    async with another_process(database.app, acme) as (process, address), httpx.AsyncClient(base_url=address) as web:
        async with web.stream("GET", URL, params={"kind": "failed"}) as response:
            await anext(response.aiter_raw())
            os.kill(process.pid, signal.SIGKILL)
            await process.wait()
        await until_free(administrator, 30)
    (audit,) = await audits(acme)
    assert (audit.outcome, audit.ended_at, audit.kind) == ("started", None, "failed")


async def test_a_service_that_stops(acme: Tenant, database: DatabaseUrls, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "_GRACE_SECONDS", 0.05)
    await create_many(acme, 400, 64_000)
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        async with (
            open_pool(database.app, application_name="agentforge export") as pool,
            written_to_the_end(),
            server.serving(application(Tenant(pool, acme.organization_id)), listener),
        ):
            reader, writer = await asyncio.open_connection(*listener.getsockname(), limit=1024)
            writer.write(f"GET {URL}?kind=failed HTTP/1.1\r\nHost: x\r\n\r\n".encode())
            assert await reader.readexactly(1024)
    writer.transport.abort()
    (audit,) = await audits(acme)
    assert audit.outcome == "failed"
    assert 0 < audit.lines < 400


async def test_what_has_ended_is_not_written_again(acme: Tenant, client: Client, administrator: Administrator) -> None:
    async with client(acme) as web:
        await web.get(URL)
    (audit,) = await audits(acme)
    async with acme.transaction() as transaction:
        assert await transaction.fetch(export_audits.FINISH, audit.id, "failed", 7, 7) == []
    for setting in ("origin", "replica"):
        await administrator.execute(f"set session_replication_role = {setting}")
        with pytest.raises(asyncpg.RestrictViolationError, match="keeps what came to its end"):
            await administrator.execute("update export_audits set line_count = 7")
    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        async with acme.transaction() as transaction:
            await transaction.connection.execute("delete from export_audits")
    assert await audits(acme) == [audit]
