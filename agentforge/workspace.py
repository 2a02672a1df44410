"""What browsers get: the workspace's one document for each of its pages, and the files of web/."""

import gzip
import hashlib
from functools import cache, lru_cache
from importlib.resources import files
from pathlib import Path

from anyio import to_thread
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Mount, Route, compile_path
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

WEB = Path(str(files("web")))

#: Every page that has an address; web/routes.js has the same, and says which module shows each.
PAGES = (
    "/",
    "/environments",
    "/environments/{slug}",
    "/versions/{id}",
    "/versions/{id}/exports",
    "/exports",
    "/trials",
    "/trials/{id}",
    "/compare",
    "/capability-gaps",
    "/partial-rewards",
    "/settings",
)
_PAGES = tuple(compile_path(page)[0] for page in PAGES)

#: Modules and styles of our own and nothing else: no inline script or style, no eval, no HTML made of strings.
CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
#: What GraphiQL needs and nothing more: its fonts are data, and it writes style elements.
GRAPHIQL_POLICY = (
    "default-src 'self'; font-src data:; img-src 'self' data:; style-src 'self' 'unsafe-inline'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)

_COMPRESSED = frozenset({".js", ".css", ".svg", ".html", ".graphql"})
_FOR_EVER = "public, max-age=31536000, immutable"
_RELEASE_CHARACTERS = 16


def is_page(path: str) -> bool:
    return any(page.match(path) for page in _PAGES)


def release() -> str:
    """A name for the files as they are now: browsers keep what they load under it, and load all anew under another."""
    found = sorted(path for path in WEB.rglob("*") if path.is_file() and path.suffix != ".pyc")
    return _digest(tuple((path, path.stat().st_mtime_ns) for path in found))


@lru_cache(maxsize=1)
def _digest(found: tuple[tuple[Path, int], ...]) -> str:
    digest = hashlib.sha256()
    for path, _ in found:
        digest.update(f"{path.relative_to(WEB).as_posix()}\n{path.stat().st_size}\n".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:_RELEASE_CHARACTERS]


def shell(request: Request, status: int = 200) -> Response:
    """The document of every page; its script reads the address and asks the graph."""
    named = release()
    tag = f'W/"{named}"'
    headers = {"Cache-Control": "no-cache", "ETag": tag}
    if status == 200 and request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=headers)
    text = (WEB / "shell.html").read_text("utf-8").replace("/static/", f"/static/{named}/")
    return Response(text, status, headers, media_type="text/html")


async def icon(request: Request) -> Response:
    return FileResponse(WEB / "icon.svg", media_type="image/svg+xml")


class Files(StaticFiles):
    """The files of web/, compressed; under the name of their release browsers may keep them for ever."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        first, _, rest = path.partition("/")
        named = len(first) == _RELEASE_CHARACTERS and set(first) <= set("0123456789abcdef")
        response = await super().get_response(rest if named else path, scope)
        current = named and first == await to_thread.run_sync(release)
        response.headers["Cache-Control"] = _FOR_EVER if current else "no-cache"
        if isinstance(response, FileResponse) and Path(response.path).suffix in _COMPRESSED:
            return await _compressed(response, Request(scope))
        return response


async def _compressed(response: FileResponse, request: Request) -> Response:
    response.headers["Vary"] = "Accept-Encoding"
    if "gzip" not in request.headers.get("accept-encoding", "") or "range" in request.headers:
        return response
    body = await to_thread.run_sync(_gzipped, Path(response.path), response.headers["etag"])
    kept = ("cache-control", "vary", "last-modified", "content-type")
    headers = {name: response.headers[name] for name in kept}
    return Response(body, headers=headers | {"Content-Encoding": "gzip", "ETag": f"W/{response.headers['etag']}"})


@cache
def _gzipped(path: Path, tag: str) -> bytes:
    return gzip.compress(path.read_bytes(), mtime=0)


routes = [
    *(Route(page, shell) for page in PAGES),
    Route("/favicon.ico", icon),
    Mount("/static", Files(directory=WEB)),
]
