"""Folders of attempts are removed, however hard their agents made it."""

import os
import subprocess
from pathlib import Path

import pytest

from agentforge.worker.removal import remove_folder

DEPTH = 1200  # more than Python recurses, than a path is long, and than files may be open in many places


def deepen(folder: Path, name: str) -> None:
    place = os.open(folder, os.O_RDONLY)
    for _ in range(DEPTH):
        os.mkdir(name, dir_fd=place)
        inner = os.open(name, os.O_RDONLY, dir_fd=place)
        os.close(os.open("file", os.O_CREAT | os.O_WRONLY, dir_fd=inner))
        os.close(place)
        place = inner
    os.close(place)


@pytest.mark.parametrize("name", ["moved-0", "a" * 200])
def test_however_deep_it_is(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "attempt"
    folder.mkdir()
    deepen(folder, name)
    assert remove_folder(folder) is None
    assert not folder.exists()


def test_links_are_not_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept").touch()
    folder = tmp_path / "attempt"
    (folder / "inner").mkdir(parents=True)
    for link in (folder / "link", folder / "inner/link"):
        link.symlink_to(outside)
    os.mkfifo(folder / "inner/pipe")
    assert remove_folder(folder) is None
    assert not folder.exists()
    assert (outside / "kept").exists()


def test_whatever_its_modes_are(tmp_path: Path) -> None:
    folder = tmp_path / "attempt"
    (folder / "closed/inner").mkdir(parents=True)
    (folder / "closed/inner/file").touch()
    for closed in (folder / "closed/inner", folder / "closed", folder):
        closed.chmod(0)
    assert remove_folder(folder) is None
    assert not folder.exists()


def test_what_was_made_immutable(tmp_path: Path) -> None:
    folder = tmp_path / "attempt"
    (folder / "inner").mkdir(parents=True)
    (folder / "inner/file").touch()
    try:
        made = subprocess.run(
            ["chattr", "+i", folder / "inner/file", folder / "inner"], capture_output=True, check=False
        )
    except FileNotFoundError:
        pytest.skip("there is no program chattr")
    if made.returncode:
        pytest.skip(f"not to be had here: {made.stderr.decode()}")
    assert remove_folder(folder) is None
    assert not folder.exists()


def test_what_is_missing_is_told(tmp_path: Path) -> None:
    assert isinstance(remove_folder(tmp_path / "missing"), FileNotFoundError)
