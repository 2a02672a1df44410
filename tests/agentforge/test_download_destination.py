"""Where lines are written, in a folder in which others may write too."""

import os
from pathlib import Path

import pytest

from agentforge.download.destination import new_file
from agentforge.download.errors import DownloadError


def written(path: Path) -> bytes:
    with new_file(path) as file:
        file.write(b"{}\n")
    return path.read_bytes()


@pytest.mark.parametrize("kind", ["link", "dangling link", "second name", "pipe", "folder"])
def test_what_others_put_in_the_place_of_its_part_is_left_alone(tmp_path: Path, kind: str) -> None:
    target, other = tmp_path / "a.jsonl", tmp_path / "precious"
    part = tmp_path / ".a.jsonl.part"
    if kind != "dangling link":
        other.write_text("precious")
    match kind:
        case "link" | "dangling link":
            part.symlink_to(other)
        case "second name":
            part.hardlink_to(other)
        case "pipe":
            os.mkfifo(part)
        case "folder":
            part.mkdir()
    with pytest.raises(DownloadError, match="no file of its own"):
        written(target)
    assert not target.exists()
    assert other.read_text() == "precious" if kind != "dangling link" else not other.exists()


def test_what_a_killed_command_left_is_taken_over(tmp_path: Path) -> None:
    (tmp_path / ".a.jsonl.part").write_text("half a li")
    assert written(tmp_path / "a.jsonl") == b"{}\n"
    assert [path.name for path in tmp_path.iterdir()] == ["a.jsonl"]
