"""What browsers get: the workspace, the GraphiQL page and their files, from this service alone."""

import re
from html.parser import HTMLParser

import httpx
import pytest

from tests.service import PROJECT, Service

#: Where a directive may load from.
SOURCES = {
    "default-src": {"'none'"},
    "script-src": {"'self'"},
    "style-src": {"'self'"},
    "img-src": {"'self'", "data:"},
    "connect-src": {"'self'"},
    "base-uri": {"'none'"},
    "form-action": {"'none'"},
    "frame-ancestors": {"'none'"},
    "require-trusted-types-for": {"'script'"},
    "trusted-types": {"'none'"},
}
#: On /graphql, where GraphiQL writes styles and has fonts within its own; the rest falls back to 'self'.
GRAPHIQL_SOURCES = {
    "default-src": {"'self'"},
    "font-src": {"data:"},
    "img-src": {"'self'", "data:"},
    "style-src": {"'self'", "'unsafe-inline'"},
    "base-uri": {"'none'"},
    "form-action": {"'none'"},
    "frame-ancestors": {"'none'"},
}
HOST = re.compile(r"(?:https?:|wss?:)?//([\w.-]+\.[a-z]{2,}|[0-9.]+(?::[0-9]+)?)")
WEB = PROJECT / "web"


class References(HTMLParser):
    """The addresses that a page loads."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found += [value for name, value in attrs if name in ("src", "href") and value]


def assert_local(response: httpx.Response) -> None:
    """No header names another host, and the policy lets nothing be loaded from one."""
    own = {response.request.url.netloc.decode()}
    assert set(HOST.findall("\n".join(response.headers.values()))) <= own
    policy = response.headers["Content-Security-Policy"]
    directives = {name: set(values) for name, *values in (part.split() for part in policy.split(";"))}
    assert directives == (GRAPHIQL_SOURCES if response.request.url.path == "/graphql" else SOURCES)
    assert response.headers["Cross-Origin-Opener-Policy"] == "same-origin"
    assert response.headers["Cross-Origin-Resource-Policy"] == "same-origin"
    assert response.headers["X-Content-Type-Options"] == "nosniff"
    assert response.headers["Referrer-Policy"] in ("same-origin", "no-referrer")


def test_the_page_and_all_that_it_loads_come_from_here(service: Service) -> None:
    with httpx.Client(base_url=service.url) as client:
        page = client.get("/graphql", headers={"Accept": "text/html"})
        assert page.headers["Content-Type"] == "text/html; charset=utf-8"
        assert_local(page)
        assert HOST.findall(page.text) == []
        references = References(page.text).found
        assert {"/static/graphiql.js", "/static/vendor/graphiql.min.js"} <= set(references)
        for reference in references:
            response = client.get(reference)
            assert response.status_code == 200, reference
            assert_local(response)


def test_each_file_is_served_as_it_is(service: Service) -> None:
    types = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
    with httpx.Client(base_url=service.url) as client:
        for path in (path for path in WEB.rglob("*") if path.suffix in types):
            response = client.get(f"/static/{path.relative_to(WEB).as_posix()}")
            assert response.content == path.read_bytes()
            assert response.headers["Content-Type"].partition(";")[0] == types[path.suffix]
            assert_local(response)


def test_every_answer_carries_the_policy(service: Service) -> None:
    with httpx.Client(base_url=service.url) as client:
        for path in ("/", "/healthz", "/metrics", "/sign-in", "/static/none.js", "/api/v1/rollouts", "/unknown"):
            assert_local(client.get(path))
        client.headers["Authorization"] = f"Bearer {service.token}"
        for path in ("/api/v1/rollouts", "/api/v1/rollouts/none", "/unknown"):
            assert_local(client.get(path))
        assert_local(client.post("/graphql", json={"query": "{ viewer { id } }"}))


@pytest.mark.parametrize("path", ["/static/../pyproject.toml", "/static/%2e%2e/pyproject.toml", "/static//etc/passwd"])
def test_no_other_file_is_served(service: Service, path: str) -> None:
    response = httpx.get(httpx.URL(service.url).copy_with(raw_path=path.encode()))
    assert response.status_code in (401, 404)
    assert b"agentforge" not in response.content


@pytest.mark.parametrize(
    ("content", "content_type", "status"),
    [
        (b"{", "application/json", 400),
        (b"query=x", "text/plain", 400),
        (b'{"variables": {}}', "application/json", 400),
        (b" " * 3_000_000, "application/json", 413),
        (iter([b" " * 1_000_000] * 3), "application/json", 413),
    ],
)
def test_what_is_no_operation_is_answered_as_a_problem(
    service: Service, content: bytes, content_type: str, status: int
) -> None:
    answer = service.client.request("POST", "/graphql", content=content, headers={"Content-Type": content_type})
    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["status"] == status
    assert answer.json()["detail"]
