"""Errors: expected ones as they are, all others masked and in the log."""

import httpx
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.routing import Route
from structlog.testing import capture_logs

from db.errors import ConflictError, ForbiddenError, InvalidInputError, NotFoundError
from streaming.problems import exception_handlers, problem

SECRET = 'duplicate key value violates unique constraint "rollouts_pkey"'

ERRORS: dict[str, Exception] = {
    "invalid": InvalidInputError("It must be one.", ["input", "count"]),
    "forbidden": ForbiddenError("You may not."),
    "missing": NotFoundError("There is none."),
    "conflict": ConflictError("It is there."),
    "gone": HTTPException(410, "It was there.", {"X-Was": "there"}),
    "broken": RuntimeError(SECRET),
}


async def fail(request: Request) -> None:
    raise ERRORS[request.path_params["name"]]


async def get(path: str) -> httpx.Response:
    app = Starlette(routes=[Route("/{name}", fail)], exception_handlers=exception_handlers)
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://agentforge") as web:
        return await web.request("GET" if path != "/post" else "POST", path)


async def test_expected_errors() -> None:
    bodies = {}
    for name in ("invalid", "forbidden", "missing", "conflict", "gone"):
        response = await get(f"/{name}")
        assert response.headers["content-type"] == "application/problem+json"
        assert response.headers["cache-control"] == "no-store"
        bodies[name] = response.json()
        assert bodies[name].pop("type") == "about:blank"
        assert bodies[name]["status"] == response.status_code
    assert bodies == {
        "invalid": {
            "title": "Bad Request",
            "status": 400,
            "detail": "It must be one.",
            "field": ["input", "count"],
        },
        "forbidden": {"title": "Forbidden", "status": 403, "detail": "You may not."},
        "missing": {"title": "Not Found", "status": 404, "detail": "There is none."},
        "conflict": {"title": "Conflict", "status": 409, "detail": "It is there."},
        "gone": {"title": "Gone", "status": 410, "detail": "It was there."},
    }


async def test_errors_of_routing() -> None:
    missing, not_allowed = await get("/no/such/address"), await get("/post")
    assert (missing.status_code, missing.json()["title"]) == (404, "Not Found")
    assert (not_allowed.status_code, not_allowed.json()["title"]) == (405, "Method Not Allowed")
    assert set(not_allowed.headers["allow"].split(", ")) == {"GET", "HEAD"}
    assert (await get("/gone")).headers["x-was"] == "there"


async def test_unexpected_errors_are_masked() -> None:
    with capture_logs() as logs:
        response = await get("/broken")
    assert response.status_code == 500
    assert "constraint" not in response.text
    (entry,) = logs
    assert entry["log_level"] == "error"
    assert entry["exc_info"] is ERRORS["broken"]
    assert entry["error_id"] == response.json()["errorId"]


def test_members_extend_a_problem() -> None:
    response = problem(429, "Too Many Requests", "Wait.", headers={"Retry-After": "3"}, limit=5)
    assert response.body == (
        b'{"type":"about:blank","title":"Too Many Requests","status":429,"detail":"Wait.","limit":5}'
    )
    assert response.headers["retry-after"] == "3"
