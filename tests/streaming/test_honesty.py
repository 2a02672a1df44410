"""What becomes of exports of a service process when something dies midway: in curl, Python and a browser."""

import asyncio
import http.client
import shutil
import socket
import subprocess
import urllib.request
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from db.embedded import start_server
from streaming.places import PLACES
from tests.agentforge.exporting import Api, exporting_api

LINES, SIZE = 400, 64_000
PATH = "/api/v1/rollouts?kind=failed"
#: curl's exit codes for a body that did not end, and for a connection that was reset.
PARTIAL_FILE, RECEIVE_ERROR = 18, 56


@pytest.fixture(scope="module")
async def api() -> AsyncIterator[Api]:
    async with exporting_api(LINES, SIZE) as running:
        yield running


def authorization(api: Api) -> dict[str, str]:
    return {"Authorization": f"Bearer {api.token}"}


async def until_exporting(api: Api, count: int, seconds: float) -> None:
    async with asyncio.timeout(seconds):
        while await api.exporting() != count:  # noqa: ASYNC110 - the database sends no event for it
            await asyncio.sleep(0.02)


async def in_curl(api: Api, begun: asyncio.Barrier, broken: asyncio.Event) -> bool:
    command = ["curl", "-sS", "-H", f"Authorization: Bearer {api.token}", api.url + PATH]
    process = await asyncio.create_subprocess_exec(*command, stdout=PIPE, stderr=PIPE)
    assert process.stdout
    await process.stdout.readexactly(1)
    # The rest of its output is not read, and so holds it up.
    await begun.wait()
    await broken.wait()
    out, _ = await process.communicate()
    return len(out) < LINES * SIZE and process.returncode in (PARTIAL_FILE, RECEIVE_ERROR)


async def in_httpx(api: Api, begun: asyncio.Barrier, broken: asyncio.Event) -> bool:
    small = httpx.AsyncHTTPTransport(socket_options=[(socket.SOL_SOCKET, socket.SO_RCVBUF, 65_536)])
    async with (
        httpx.AsyncClient(transport=small, headers=authorization(api)) as web,
        web.stream("GET", api.url + PATH) as response,
    ):
        chunks = response.aiter_bytes()
        await anext(chunks)
        await begun.wait()
        await broken.wait()
        try:
            async for _ in chunks:
                pass
        except (httpx.RemoteProtocolError, httpx.ReadError):
            return True
    return False


async def in_urllib(api: Api, begun: asyncio.Barrier, broken: asyncio.Event) -> bool:
    request = urllib.request.Request(api.url + PATH, headers=authorization(api))
    with await asyncio.to_thread(urllib.request.urlopen, request) as response:
        await asyncio.to_thread(response.read, 1024)
        await begun.wait()
        await broken.wait()
        try:
            await asyncio.to_thread(response.read)
        except (http.client.IncompleteRead, ConnectionResetError):
            return True
    return False


async def restart_database(api: Api) -> None:
    server = start_server(api.data_dir / "postgres")
    stop = [str(server.bin_path / "pg_ctl"), "-D", str(server.pgdata), "-w", "stop", "-m", "fast"]

    def run() -> None:
        subprocess.run(stop, check=True, stdout=subprocess.DEVNULL, user=server.system_user)

    await asyncio.to_thread(run)
    await asyncio.to_thread(start_server, api.data_dir / "postgres")


async def interrupt(api: Api, what: str) -> None:
    if what == "backend":
        assert await api.end_backends() > 0
    elif what == "database":
        await restart_database(api)
    else:
        await api.kill()
        await api.start()


async def until_whole(api: Api) -> None:
    """Until an export comes as if nothing had been."""
    async with asyncio.timeout(30), httpx.AsyncClient(base_url=api.url, headers=authorization(api)) as web:
        while (answer := await web.get(PATH)).status_code != 200:  # noqa: ASYNC110 - nor does the service
            await asyncio.sleep(0.1)
    assert answer.content.count(b"\n") == LINES


@pytest.mark.parametrize("what", ["backend", "database", "service"])
async def test_programs_see_a_broken_transfer(api: Api, what: str) -> None:
    begun, broken = asyncio.Barrier(4), asyncio.Event()
    clients = [asyncio.create_task(client(api, begun, broken)) for client in (in_curl, in_httpx, in_urllib)]
    async with asyncio.timeout(30):
        await begun.wait()
    await interrupt(api, what)
    broken.set()
    assert await asyncio.wait_for(asyncio.gather(*clients), 60) == [True] * 3
    await until_whole(api)


BEGIN = """async ([path, authorization]) => {
  window.reader = (await fetch(path, {headers: {Authorization: authorization}})).body.getReader()
  return (await window.reader.read()).value.length
}"""
READ_ON = """async (size) => {
  try {
    for (;;) {
      const {done, value} = await window.reader.read()
      if (done) return ['whole', size]
      size += value.length
    }
  } catch (error) { return [`${error.name}: ${error.message}`, size] }
}"""


async def test_a_browser_sees_a_broken_transfer(api: Api) -> None:
    playwright = pytest.importorskip("playwright.async_api", reason="Playwright is not installed")
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("there is no chromium")
    async with playwright.async_playwright() as started:
        browser: Any = await started.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = await browser.new_page()
        await page.goto(f"{api.url}/healthz")
        begun = await page.evaluate(BEGIN, [PATH, f"Bearer {api.token}"])
        await until_exporting(api, 1, 10)
        await interrupt(api, "backend")
        ended, size = await page.evaluate(READ_ON, begun)
        assert ended == "TypeError: network error"
        assert 0 < size < LINES * SIZE
        await browser.close()


async def test_clients_that_leave_free_their_connection_within_a_second(api: Api) -> None:
    for _ in range(10):
        reader, writer = await asyncio.open_connection("127.0.0.1", api.port, limit=1024)
        writer.write(f"GET {PATH} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {api.token}\r\n\r\n".encode())
        assert (await reader.readexactly(1024)).startswith(b"HTTP/1.1 200 OK")
        assert await api.exporting() == 1
        writer.transport.abort()
        await until_exporting(api, 0, 1)
    await until_whole(api)


async def test_slow_exports_do_not_keep_the_graph_waiting(api: Api) -> None:
    slow = [asyncio.open_connection("127.0.0.1", api.port, limit=1024) for _ in range(PLACES.most_of_one)]
    connections = await asyncio.gather(*slow)
    for _, writer in connections:
        writer.write(f"GET {PATH} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {api.token}\r\n\r\n".encode())
    await until_exporting(api, PLACES.most_of_one, 30)
    async with httpx.AsyncClient(base_url=api.url, headers=authorization(api)) as web:
        further = await web.get(PATH)
        assert (further.status_code, further.headers["retry-after"]) == (429, "5")
        for _ in range(20):
            answer = await web.post("/graphql", json={"query": "{ environments { totalCount } }"})
            assert answer.json() == {"data": {"environments": {"totalCount": 1}}}
    assert await api.exporting() == PLACES.most_of_one, "they are still under way"
    for _, writer in connections:
        writer.transport.abort()
    await until_exporting(api, 0, 10)
