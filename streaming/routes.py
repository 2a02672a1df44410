"""The addresses of lines and files."""

import asyncio
import json
import re
import unicodedata
from urllib.parse import quote
from uuid import UUID

import orjson
from starlette.endpoints import HTTPEndpoint
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from db import artifact_files, artifacts, bundles, exports
from db.errors import ForbiddenError, InvalidInputError, NotFoundError
from db.tenant import Tenant
from resolvers.bundles import MAX_PACKED_BYTES, BundleError, check_bundle
from resolvers.ids import parse_id
from streaming.bodies import LimitBody
from streaming.filters import parse_filters
from streaming.lines import LineResponse

READERS = ("owner", "member", "viewer")
WRITERS = ("owner", "member")

_PRIVATE = {"Cache-Control": "no-store, private", "X-Content-Type-Options": "nosniff"}


def require_role(request: Request, *roles: str) -> None:
    """Raises ForbiddenError unless whoever asks has one of the roles."""
    role = request.state.identity.role
    if role not in roles:
        raise ForbiddenError(f"The role {role} may not do this; it takes one of: {', '.join(roles)}.")


def _tenant(request: Request) -> Tenant:
    tenant: Tenant = request.state.tenant
    return tenant


def _id(request: Request, noun: str, name: str = "id") -> UUID:
    # What is no id is answered like an unknown one, and neither is repeated: the answers are the same bytes.
    parsed = parse_id(request.path_params[name])
    if parsed is None:
        raise _not_found(noun)
    return parsed


def _not_found(noun: str) -> NotFoundError:
    return NotFoundError(f"There is no such {noun}.")


def _attachment(name: str) -> dict[str, str]:
    quoted = quote(name)
    named = f'filename="{name}"' if quoted == name else f"filename*=UTF-8''{quoted}"
    return {**_PRIVATE, "Content-Disposition": f"attachment; {named}"}


def attachment_of(path: str) -> dict[str, str]:
    """Headers that suggest the last name of a path, without what would make it look like another or lead elsewhere."""
    name = path.rpartition("/")[2]
    odd = {one for one in name if unicodedata.category(one)[0] in "CZ" or one in '\\:"'} - {" "}
    return _attachment(name.translate({ord(one): "_" for one in odd}))


async def export_rollouts(request: Request) -> LineResponse:
    """`/api/v1/rollouts?kind=&format=&limit=&environmentVersionId=&evaluationRunId=&since=&until=&after=&…`"""
    require_role(request, *READERS)
    filters = parse_filters(request.query_params)
    headers = {"Content-Type": "application/x-ndjson", **_attachment(filters.kind.filename_of(filters.format))}
    tenant = Tenant(request.app.state.exports, _tenant(request).organization_id)
    return LineResponse(tenant, request.state.identity, filters, headers)


async def rollout(request: Request) -> Response:
    """One rollout, with its trial's stages."""
    require_role(request, *READERS)
    found = await _tenant(request).fetch_one(exports.ROLLOUT, _id(request, "rollout"))
    if found is None:
        raise _not_found("rollout")
    return Response(found.line, headers=_PRIVATE, media_type="application/json")


async def artifact(request: Request) -> Response:
    """The trajectory artifact file: its log and, as JSON text within the JSON, its steps."""
    require_role(request, *READERS)
    file = await _tenant(request).fetch_one(artifacts.FILE, _id(request, "artifact"))
    if file is None:
        raise _not_found("artifact")
    # Only the text is escaped; what it says is not parsed.
    trajectory = orjson.dumps(f'{{"steps":{file.steps}}}')
    content = b'{"schemaVersion":1,"log":%b,"trajectory":%b}' % (file.log.encode(), trajectory)
    return Response(content, headers=_attachment(file.name), media_type="application/json")


async def agent_trajectory(request: Request) -> Response:
    """The trajectory that the agent itself left, byte for byte."""
    require_role(request, *READERS)
    found = await _tenant(request).fetch_one(artifacts.AGENT_TRAJECTORY, _id(request, "agent trajectory"))
    if found is None:
        raise _not_found("agent trajectory")
    return Response(found.content, headers=_attachment("agent-trajectory.json"), media_type="application/json")


async def artifact_file(request: Request) -> Response:
    """A file that was kept of the agent's workspace."""
    require_role(request, *READERS)
    ids = _id(request, "file"), _id(request, "file", "file")
    found = await _tenant(request).fetch_one(artifact_files.CONTENT, *ids)
    if found is None:
        raise _not_found("file")
    etag = f'"{found.sha256}"'
    headers = {**attachment_of(json.loads(found.path)), "ETag": etag}
    known = [one.strip().removeprefix("W/") for one in request.headers.get("If-None-Match", "").split(",")]
    if etag in known or "*" in known:
        return Response(status_code=304, headers=headers)
    return Response(found.content, headers=headers, media_type="application/octet-stream")


class Bundle(HTTPEndpoint):
    """`/api/v1/bundles/{sha256}`"""

    async def get(self, request: Request) -> Response:
        sha256 = request.path_params["sha256"]
        if not re.fullmatch("[0-9a-f]{64}", sha256):  # text that the database would refuse to compare
            raise _not_found("bundle")
        found = await _tenant(request).fetch_one(bundles.CONTENT, sha256)
        if found is None:
            raise _not_found("bundle")
        return Response(found.content, headers=_attachment(f"{sha256}.tar.zst"), media_type="application/zstd")

    async def put(self, request: Request) -> Response:
        require_role(request, *WRITERS)
        sha256 = request.path_params["sha256"]
        content = await request.body()
        try:
            await asyncio.to_thread(check_bundle, content, sha256)
        except BundleError as error:
            raise InvalidInputError(str(error), ["body"]) from error
        async with _tenant(request).transaction() as transaction:
            created = await transaction.fetch_one(bundles.PUT, sha256, content)
        return JSONResponse({"sha256": sha256, "bytes": len(content)}, 201 if created else 200, headers=_PRIVATE)


routes: list[Route] = [
    Route("/api/v1/rollouts", export_rollouts),
    Route("/api/v1/rollouts/{id}", rollout),
    Route("/api/v1/artifacts/{id}", artifact),
    Route("/api/v1/artifacts/{id}/agent-trajectory", agent_trajectory),
    Route("/api/v1/artifacts/{id}/files/{file}", artifact_file),
    Route("/api/v1/bundles/{sha256}", Bundle, middleware=[Middleware(LimitBody, limit=MAX_PACKED_BYTES)]),
]
