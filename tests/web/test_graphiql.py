"""The GraphiQL page: local files alone, as VENDORED.md lists them, under a strict Content-Security-Policy."""

import hashlib
import re
from html.parser import HTMLParser
from pathlib import Path

from graphql import build_schema, parse, validate

ROOT = Path(__file__).parents[2]
WEB = ROOT / "web"
OURS = [WEB / name for name in ("graphiql.html", "graphiql.js", "graphiql.css", "examples.graphql", "icon.svg")]


class Page(HTMLParser):
    """The page's elements with their attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.feed((WEB / "graphiql.html").read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))


def test_vendored_files_are_those_listed() -> None:
    table = (WEB / "vendor" / "VENDORED.md").read_text(encoding="utf-8")
    listed = dict(re.findall(r"^\| (\S+\.(?:js|css)) \|.*\| ([0-9a-f]{64}) \|$", table, re.MULTILINE))
    present = [path for path in (WEB / "vendor").iterdir() if path.suffix in {".js", ".css"}]
    assert listed == {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in present}
    licences = set(re.findall(r"LICENSE\.[a-z-]*[a-z]", table))
    assert licences == {path.name for path in (WEB / "vendor").glob("LICENSE.*")}


def test_the_page_and_its_files_stay_small() -> None:
    assert sum(path.stat().st_size for path in WEB.rglob("*") if path.is_file()) < 2_500_000


def test_every_reference_is_a_local_file() -> None:
    references = [
        value
        for _, attributes in Page().elements
        for name, value in attributes.items()
        if name in {"src", "href"} and value is not None
    ]
    references += re.findall(r'"(/static/[^"]*)"', (WEB / "graphiql.js").read_text(encoding="utf-8"))
    assert "/static/graphiql.js" in references
    assert "/static/examples.graphql" in references
    for reference in references:
        assert reference.startswith("/static/")
        assert (WEB / reference.removeprefix("/static/")).is_file(), reference


def test_no_file_of_ours_names_another_host() -> None:
    for path in OURS:
        hosts = re.findall(r"(?:https?:|wss?:)?//[\w.-]+\.[a-z]+", path.read_text(encoding="utf-8"))
        assert set(hosts) <= {"http://www.w3.org"}, path


def test_vendored_styles_load_nothing() -> None:
    styles = (WEB / "vendor" / "graphiql.min.css").read_text(encoding="utf-8")
    sources = re.findall(r"""url\(["']?(.{5})""", styles)
    assert sources
    assert set(sources) == {"data:"}
    assert "@import" not in styles


def test_nothing_in_the_page_is_inline() -> None:
    for tag, attributes in Page().elements:
        assert tag != "style"
        assert tag != "script" or "src" in attributes
        assert not [name for name in attributes if name == "style" or name.startswith("on")]


def test_the_examples_are_valid_queries() -> None:
    schema = build_schema((ROOT / "schema" / "schema.graphql").read_text(encoding="utf-8"))
    assert validate(schema, parse((WEB / "examples.graphql").read_text(encoding="utf-8"))) == []
