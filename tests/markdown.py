"""Reads what the documentation shows: fenced blocks, tables and names."""

import re
from itertools import takewhile
from pathlib import Path

from tests.service import PROJECT

README = PROJECT / "README.md"
FENCE = re.compile(r"^```(?P<kind>[^\n]*)\n(?P<text>.*?)^```$", re.DOTALL | re.MULTILINE)


def read(path: Path) -> str:
    return path.read_text("utf-8")


def fences(path: Path, kind: str) -> list[str]:
    """The texts of a document's fenced blocks of one kind."""
    return [match["text"] for match in FENCE.finditer(read(path)) if match["kind"] == kind]


def table(path: Path, first_heading: str) -> list[list[str]]:
    """The rows of the table whose first column has this heading."""
    _, _, rest = read(path).partition(f"| {first_heading} |")
    lines = takewhile(lambda line: line.startswith("|"), rest.splitlines()[2:])
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    assert rows, f"{path.name} has no table of {first_heading}"
    return rows


def named(text: str) -> list[str]:
    """What stands in backticks."""
    return re.findall(r"`([^`]+)`", text)
