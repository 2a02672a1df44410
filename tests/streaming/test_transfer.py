"""Transfers through a real server: broken midway, left by the client, stalled, failed before the start."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TypeAlias

import asyncpg
import httpx
import pytest
from structlog.testing import capture_logs

from db.tenant import Tenant
from streaming import body as body_module
from streaming.places import PLACES
from tests.streaming.rows import create_many
from tests.streaming.web import Client, Counted, application, serve

URL = "/api/v1/rollouts?kind=failed"

Administrator: TypeAlias = "asyncpg.Connection[asyncpg.Record]"

# A process in a transaction is one that an export holds: nothing else runs in this database.
_IN_TRANSACTION = """
select pid from pg_stat_activity
where datname = current_database() and pid <> pg_backend_pid() and (xact_start is not null or state <> 'idle')
"""


async def exporting(administrator: Administrator) -> list[int]:
    return [row["pid"] for row in await administrator.fetch(_IN_TRANSACTION)]


async def until_free(administrator: Administrator, seconds: float) -> None:
    """Raises TimeoutError when an export still has its transaction after so long."""
    async with asyncio.timeout(seconds):
        while await exporting(administrator):  # noqa: ASYNC110 - the database sends no event for it
            await asyncio.sleep(0.01)


def patient(address: tuple[str, int], accept_encoding: str) -> httpx.AsyncClient:
    """A client with a small receive buffer, so that the server has to wait for it."""
    transport = httpx.AsyncHTTPTransport(socket_options=[(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)])
    headers = {"Accept-Encoding": accept_encoding}
    return httpx.AsyncClient(transport=transport, base_url="http://{}:{}".format(*address), headers=headers)


@asynccontextmanager
async def export(app: Counted, accept_encoding: str = "identity") -> AsyncIterator[AsyncIterator[bytes]]:
    """The chunks of an export that has begun, decoded, from a real server."""
    async with serve(app) as address, patient(address, accept_encoding) as web, web.stream("GET", URL) as response:
        assert response.status_code == 200
        assert response.headers.get("content-encoding", "identity") == accept_encoding
        yield response.aiter_bytes()


async def read(chunks: AsyncIterator[bytes], got: bytearray) -> None:
    async for chunk in chunks:
        got += chunk


@pytest.mark.parametrize("accept_encoding", ["identity", "gzip", "zstd"])
async def test_a_failure_midway_never_looks_whole(
    acme: Tenant, administrator: Administrator, accept_encoding: str
) -> None:
    await create_many(acme, 400, 64_000)
    with capture_logs() as logs:
        async with export(Counted(application(acme)), accept_encoding) as chunks:
            got = bytearray(await anext(chunks))
            (pid,) = await exporting(administrator)
            await administrator.execute("select pg_terminate_backend($1, 5000)", pid)
            with pytest.raises(httpx.RemoteProtocolError, match="incomplete"):
                await read(chunks, got)
    assert len(got) < 400 * 64_000
    assert got.startswith(b'{"schemaVersion":1,')
    assert [entry["log_level"] for entry in logs] == ["error"]


async def test_a_client_that_leaves_frees_its_connection(acme: Tenant, administrator: Administrator) -> None:
    await create_many(acme, 400, 64_000)
    app = Counted(application(acme))
    with capture_logs() as logs:
        async with serve(app) as address:
            # As many as the pool has connections: one that is lost would be missed below.
            for _ in range(5):
                reader, writer = await asyncio.open_connection(*address, limit=1024)
                writer.write(f"GET {URL} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
                assert (await reader.readexactly(1024)).startswith(b"HTTP/1.1 200 OK")
                assert len(await exporting(administrator)) == 1
                writer.transport.abort()
                await until_free(administrator, 1)
                # Freed by the end of the query, not by reading on to its end.
                assert app.sent < 400 * 64_000 / 2
                app.sent = 0
            # The last of them may still be written into the audit.
            async with asyncio.timeout(30):
                while acme.pool.get_idle_size() != acme.pool.get_size():  # noqa: ASYNC110 - the pool sends no event
                    await asyncio.sleep(0.01)
            async with patient(address, "zstd") as web:
                assert (await web.get(f"{URL}&limit=1")).status_code == 200
    assert logs == []


async def test_a_client_that_takes_nothing_loses_its_stream(
    acme: Tenant, administrator: Administrator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(body_module, "STALL_SECONDS", 0.2)
    await create_many(acme, 400, 64_000)
    async with export(Counted(application(acme))) as chunks:
        await anext(chunks)
        await until_free(administrator, 30)
        with pytest.raises(httpx.RemoteProtocolError, match="incomplete"):
            await read(chunks, bytearray())


async def test_a_failure_before_the_first_line_is_a_problem(
    acme: Tenant, client: Client, administrator: Administrator
) -> None:
    await administrator.execute("revoke select on trajectory_artifacts from agentforge_app")
    with capture_logs() as logs:
        async with client(acme) as web:
            response = await web.get(URL)
    assert response.status_code == 500
    assert response.headers["content-type"] == "application/problem+json"
    assert "content-disposition" not in response.headers
    assert "denied" not in response.text
    (entry,) = logs
    assert entry["error_id"] == response.json()["errorId"]


async def test_the_server_holds_back_while_the_client_waits(acme: Tenant) -> None:
    await create_many(acme, 400, 64_000)
    app = Counted(application(acme))
    async with export(app) as chunks:
        got = bytearray(await anext(chunks))
        seen = -1
        while seen != app.sent:
            seen = app.sent
            await asyncio.sleep(0.2)
        assert app.sent < 400 * 64_000 / 2  # the sockets' buffers take some megabytes
        await read(chunks, got)
    assert len(got) == app.sent > 400 * 64_000


async def test_one_snapshot(acme: Tenant, administrator: Administrator) -> None:
    """What is written while the export is under way is not in it."""
    await create_many(acme, 400, 64_000)
    async with export(Counted(application(acme))) as chunks:
        got = bytearray(await anext(chunks))
        await administrator.execute("update rollouts set reward = 0.25")
        await read(chunks, got)
    assert got.count(b"\n") == got.count(b'"reward":0.5,') == 400


async def test_past_the_limit_of_streams_a_client_is_told_to_come_again(
    acme: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    await create_many(acme, 40, 500_000)
    monkeypatch.setattr(PLACES, "most", 1)
    app = Counted(application(acme))
    async with export(app) as chunks:
        await anext(chunks)
        async with serve(app) as address, patient(address, "identity") as web:
            refused = await web.get(URL)
            assert (refused.status_code, refused.headers["retry-after"]) == (429, "5")
            assert refused.headers["content-type"] == "application/problem+json"
    async with serve(app) as address, patient(address, "identity") as web:
        assert (await web.get(URL)).status_code == 200


async def test_an_organization_leaves_places_to_others(
    acme: Tenant, rival: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    await create_many(acme, 40, 500_000)
    monkeypatch.setattr(PLACES, "most_of_one", 1)
    async with export(Counted(application(acme))) as chunks:
        await anext(chunks)
        async with serve(application(acme)) as address, patient(address, "identity") as web:
            refused = await web.get(URL)
            assert (refused.status_code, refused.headers["retry-after"]) == (429, "5")
            assert "1 exports of your organization are under way" in refused.json()["detail"]
        async with serve(application(rival)) as address, patient(address, "identity") as web:
            assert (await web.get(URL)).status_code == 200
    assert not PLACES.taken
