"""The workspace's files: documents that the graph takes, addresses that are served, one strict policy."""

import gzip
import json
import re
import runpy
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest
from graphql import OperationDefinitionNode, build_schema, parse, validate
from starlette.applications import Starlette

from agentforge.workspace import PAGES, WEB, release, routes
from schema.cost import cost_of
from schema.limits import MOST_NODES, refusals_of_document
from tests.service import PROJECT

TYPES = runpy.run_path(str(PROJECT / ".ci" / "web_types.py"))
DOCUMENTS: dict[str, str] = TYPES["documents"]()
MODULES = [path for path in WEB.rglob("*.js") if "vendor" not in path.parts and path.name != "graphiql.js"]
MOST_COMPRESSED = 200_000

#: What a page may ask for at most, where the document leaves it open.
LARGEST = {"first": 500, "runs": 500}


@pytest.fixture
async def client() -> httpx.AsyncClient:
    return httpx.AsyncClient(transport=httpx.ASGITransport(Starlette(routes=routes)), base_url="http://forge.test")


@pytest.mark.parametrize("name", DOCUMENTS)
def test_the_graph_takes_each_document(name: str) -> None:
    schema = build_schema((PROJECT / "schema" / "schema.graphql").read_text("utf-8"))
    document = parse(DOCUMENTS[name])
    assert validate(schema, document) == []
    assert refusals_of_document(document) == []
    (operation,) = [one for one in document.definitions if isinstance(one, OperationDefinitionNode)]
    assert cost_of(schema, document, operation).nodes(LARGEST) <= MOST_NODES


def test_the_types_are_those_of_the_documents() -> None:
    typed: Callable[[], str] = TYPES["typed"]
    assert (WEB / "graph.d.ts").read_text("utf-8") == typed(), "`uv run just generate` writes them"


def test_types_come_from_the_versions_that_are_vendored() -> None:
    checked = json.loads((PROJECT / ".ci" / "web" / "package.json").read_text("utf-8"))["dependencies"]
    table = (WEB / "vendor" / "VENDORED.md").read_text("utf-8")
    vendored = dict(re.findall(r"^\| \S+ \| (\S+) \S+ \| \w+ \| ([\d.]+) \|", table, re.MULTILINE))
    assert vendored
    assert {name: version for name, version in vendored.items() if checked.get(name, version) != version} == {}


def test_every_address_is_served_and_has_a_module() -> None:
    table = (WEB / "routes.js").read_text("utf-8")
    patterns = re.findall(r'^  "(/[^"]*)":', table, re.MULTILINE)
    assert {re.sub(r":(\w+)", r"{\1}", pattern) for pattern in patterns} == {*PAGES, "/sign-in"}
    modules = re.findall(r'import\("\./(pages/[\w-]+\.js)"\)', table)
    assert {WEB / module for module in modules} == set((WEB / "pages").glob("*.js"))


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.relative_to(WEB).as_posix())
def test_each_module_imports_files_that_are_there_and_makes_no_html(path: Path) -> None:
    text = re.sub(r"/\*.*?\*/", "", path.read_text("utf-8"), flags=re.DOTALL)  # types are imported in comments
    for name in re.findall(r'(?:^|[}\s])(?:from|import\()\s*"([\w./-]+)"', text):
        assert name.startswith("."), name
        assert (path.parent / name).is_file(), name
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|dangerouslySetInnerHTML|\beval\b|new Function", text)
    assert not re.findall(r"(?:https?:|wss?:)//[\w.-]+\.[a-z]+", text)


def loaded_at_first(path: Path, found: set[Path]) -> set[Path]:
    """The module and what it imports before it runs."""
    if path not in found:
        found.add(path)
        for name in re.findall(r'(?:^|[;\n])\s*(?:import|export)[^;"]*?from\s*"([^"]+)"', path.read_text("utf-8")):
            loaded_at_first((path.parent / name).resolve(), found)
    return found


@pytest.mark.parametrize("page", sorted((WEB / "pages").glob("*.js")), ids=lambda page: page.stem)
def test_the_first_view_is_small(page: Path) -> None:
    shell = (WEB / "shell.html").read_text("utf-8")
    named = [WEB / name for name in re.findall(r'"/static/([^"]+)"', shell)]
    files = loaded_at_first(page.resolve(), loaded_at_first((WEB / "main.js").resolve(), {WEB / "shell.html"}))
    files |= {path for path in named if path.suffix != ".js"}
    assert set(named) <= files, "what is loaded ahead is used"
    assert WEB / "vendor" / "preact.js" in files
    assert sum(len(gzip.compress(path.read_bytes())) for path in files) < MOST_COMPRESSED


def test_nothing_in_the_document_is_inline() -> None:
    shell = (WEB / "shell.html").read_text("utf-8")
    assert not re.search(r"<style|\sstyle=|\son\w+=|<script(?![^>]* src=)", shell)
    for name in re.findall(r'(?:src|href)="([^"]+)"', shell):
        assert (WEB / name.removeprefix("/static/")).is_file(), name


async def test_the_document_is_asked_for_anew_and_its_files_are_kept(client: httpx.AsyncClient) -> None:
    async with client:
        page = await client.get("/environments")
        assert page.headers["content-type"] == "text/html; charset=utf-8"
        assert page.headers["cache-control"] == "no-cache"
        again = await client.get("/environments", headers={"If-None-Match": page.headers["etag"]})
        assert (again.status_code, again.content) == (304, b"")
        (script,) = re.findall(r'<script type="module" src="([^"]+)"', page.text)
        assert script == f"/static/{release()}/main.js"
        kept = await client.get(script)
        assert kept.headers["cache-control"] == "public, max-age=31536000, immutable"
        assert (kept.headers["content-encoding"], kept.headers["vary"]) == ("gzip", "Accept-Encoding")
        assert kept.content == (WEB / "main.js").read_bytes()
        for path in ("/static/main.js", "/static/0123456789abcdef/main.js"):
            other = await client.get(path, headers={"Accept-Encoding": "identity"})
            assert (other.headers["cache-control"], other.content) == ("no-cache", kept.content)
            same = await client.get(path, headers={"If-None-Match": other.headers["etag"]})
            assert same.status_code == 304


@pytest.mark.parametrize("path", ["/static/0123456789abcdef/none.js", "/static/0123456789abcdef/../../pyproject.toml"])
async def test_what_is_not_there_is_not_kept(client: httpx.AsyncClient, path: str) -> None:
    async with client:
        answer = await client.get(path)
        assert (answer.status_code, "cache-control" in answer.headers) == (404, False)
