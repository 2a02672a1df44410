"""Answers other than an export: how long they are waited for, and what is said of them."""

import asyncio
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send

from agentforge.download.transfer import retry_after
from tests.agentforge.exporting import Ended, export
from tests.agentforge.test_download_part import manifest
from tests.streaming.web import serve


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("5", 5), ("0", 0), ("", None), ("soon", None), ("-1", None), ("Wed, 21 Oct 2015 07:28:00 GMT", 0)],
)
def test_retry_after(text: str, seconds: float | None) -> None:
    assert retry_after(text) == seconds


def test_retry_after_a_moment_to_come() -> None:
    moment = datetime.now(UTC) + timedelta(seconds=90)
    assert 80 < (retry_after(format_datetime(moment, usegmt=True)) or 0) <= 90


async def answered(answer: Response) -> tuple[Ended, int]:
    """What `agentforge export` makes of a service that answers everything so, and how often it asks."""
    asked = 0

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        nonlocal asked
        asked += Request(scope).method == "GET"
        await answer(scope, receive, send)

    async with serve(app) as (host, port):
        arguments = ("--out", "-", "--tries", "3")
        return await asyncio.to_thread(export, *arguments, url=f"http://{host}:{port}", token="a-token"), asked


async def test_a_service_that_stays_away_is_given_up() -> None:
    ended, asked = await answered(JSONResponse({"detail": "Busy."}, 503, {"Retry-After": "0"}))
    assert (ended.code, ended.out, asked) == (1, b"", 3)
    again = "The service answered 503: Busy. Trying again from the start in 0.0 s.\n"
    assert ended.err == 2 * again + "Error: The service answered 503: Busy. Given up after 3 tries without a line.\n"


async def test_who_asks_for_too_much_patience_is_not_waited_for() -> None:
    ended, asked = await answered(JSONResponse({"detail": "Busy."}, 429, {"Retry-After": "3600"}))
    assert (ended.code, asked) == (1, 1)
    assert ended.err == "Error: The service answered 429: Busy. It asks to come again in 3,600 seconds.\n"


NOT_FITTING = (
    "What came does not fit its manifest: 0 lines with SHA-256 "
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855, where 0 with  [2J were sent. "
    "Something on the way changes them."
)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (Response("<html>", 404), "The service answered 404: Not Found"),
        (JSONResponse({"detail": "a\x1b[2Jb"}, 409), "The service answered 409: a [2Jb"),
        (JSONResponse({"detail": "No.", "field": ["a", 1]}, 409), "The service answered 409: No. (field: a.1)"),
        (JSONResponse({"detail": "No.", "errorId": "\x1b[2J"}, 404), "The service answered 404: No. (errorId:  [2J)"),
        (JSONResponse({"detail": "too long " * 10_000}, 404), "The service answered 404: Not Found"),
        (Response(manifest(b"", sha256="\x1b[2J")), NOT_FITTING),
        (Response("", 301, {"Location": "https://x/"}), "The service answered 301 and points to https://x/."),
    ],
)
async def test_other_answers_are_final(answer: Response, said: str) -> None:
    ended, asked = await answered(answer)
    assert (ended.code, ended.out, ended.err, asked) == (1, b"", f"Error: {said}\n", 1)


async def test_what_is_no_export_is_never_taken_for_one() -> None:
    ended, asked = await answered(Response("<html>\nWelcome\n</html>\n"))
    assert (ended.code, ended.out, asked) == (1, b"", 3)
    assert ended.err.endswith("Error: A line came that is no JSON object. Given up after 3 tries without a line.\n")


async def test_what_a_manifest_says_moves_no_cursor() -> None:
    content = manifest(b"", snapshotAt="\x1b[2Jnow", skipped={"\x1b[3J": 1})
    ended, _ = await answered(Response(content))
    assert ended.code == 0
    assert ended.err.endswith(", as of  [2Jnow\nLeft out by the service: 1 of  [3J\n")
