"""Errors as problem details (RFC 9457): expected ones as they are, all others masked."""

import json
import uuid
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

import orjson
import structlog
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from db.errors import (
    ConflictError,
    ExpectedError,
    ForbiddenError,
    InvalidInputError,
    NotFoundError,
    StatementTimeoutError,
)

log = structlog.get_logger(__name__)

_STATUSES: dict[type[ExpectedError], HTTPStatus] = {
    InvalidInputError: HTTPStatus.BAD_REQUEST,
    ForbiddenError: HTTPStatus.FORBIDDEN,
    NotFoundError: HTTPStatus.NOT_FOUND,
    ConflictError: HTTPStatus.CONFLICT,
    StatementTimeoutError: HTTPStatus.SERVICE_UNAVAILABLE,
}


def _json(body: object) -> bytes:
    try:
        return orjson.dumps(body)
    except TypeError:
        return json.dumps(body).encode()  # with a lone surrogate, repeated from what was asked


def problem(
    status: int, title: str, detail: str, *, headers: Mapping[str, str] | None = None, **members: object
) -> Response:
    """A problem without a type of its own; `members` extend it."""
    body = {"type": "about:blank", "title": title, "status": status, "detail": detail, **members}
    return Response(
        _json(body),
        status,
        {"Cache-Control": "no-store", **(headers or {})},
        media_type="application/problem+json",
    )


async def _expected(request: Request, error: Exception) -> Response:
    assert isinstance(error, ExpectedError)
    status = _STATUSES[type(error)]
    if isinstance(error, InvalidInputError):
        return problem(status, status.phrase, error.message, field=error.field)
    return problem(status, status.phrase, error.message)


async def _http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    title = HTTPStatus(error.status_code).phrase
    return problem(error.status_code, title, error.detail, headers=error.headers)


async def _client_left(request: Request, error: Exception) -> Response:
    # Nobody reads this; without it, uploads that were broken off would be logged as failures of the service.
    return problem(400, "Bad Request", "The request ended before its body was complete.")


async def _masked(request: Request, error: Exception) -> Response:
    error_id = str(uuid.uuid4())
    log.error("request failed", error_id=error_id, method=request.method, path=request.url.path, exc_info=error)
    return problem(
        500,
        "Internal Server Error",
        "The service failed; its log tells the cause under this errorId.",
        errorId=error_id,
    )


#: For Starlette(exception_handlers=...).
exception_handlers: dict[Any, Any] = {
    **dict.fromkeys(_STATUSES, _expected),
    HTTPException: _http,
    ClientDisconnect: _client_left,
    Exception: _masked,
}
