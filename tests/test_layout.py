"""The root packages are those the build names; a foreign package in one's place is refused at the start."""

import base64
import hashlib
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

from agentforge.guard import ROOT_PACKAGES

ROOT = Path(__file__).parents[1]
GUARD = "from agentforge.guard import refuse_shadowed_packages; refuse_shadowed_packages()"


def start(folder: Path, *path: Path) -> tuple[int, str]:
    """Run the guard in a process of its own in this folder: its exit status and what it said."""
    # -S: it sees the packages placed on its path here, and none of this environment's.
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, path))}
    ended = subprocess.run(
        [sys.executable, "-S", "-c", GUARD], cwd=folder, env=environment, capture_output=True, text=True, timeout=60
    )
    return ended.returncode, ended.stderr


def install(site: Path, name: str, version: str, files: dict[str, str]) -> None:
    """Place a distribution in a folder of packages as an installer does, with its record of hashes."""
    record = []
    for path, text in files.items():
        (site / path).parent.mkdir(parents=True, exist_ok=True)
        (site / path).write_text(text)
        digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
        record.append(f"{path},sha256={digest},{len(text.encode())}\n")
    information = site / f"{name}-{version}.dist-info"
    information.mkdir(parents=True)
    (information / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    (information / "RECORD").write_text("".join(record))


def install_agentforge(site: Path) -> None:
    files = {f"{package}/__init__.py": f'"""Ours: {package}."""\n' for package in ROOT_PACKAGES}
    files["agentforge/guard.py"] = (ROOT / "agentforge" / "guard.py").read_text()
    install(site, "agentforge", "0.1.0", files)


def test_the_guard_knows_what_the_build_ships() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert list(ROOT_PACKAGES) == project["tool"]["uv"]["build-backend"]["module-name"]


def test_our_own_packages_start(tmp_path: Path) -> None:
    assert start(tmp_path, ROOT) == (0, "")
    install_agentforge(tmp_path / "site")
    assert start(tmp_path, tmp_path / "site") == (0, "")


def test_an_installed_namesake_is_named_with_the_remedy(tmp_path: Path) -> None:
    site = tmp_path / "site"
    install(site, "schema", "0.7.7", {"schema.py": "raise AssertionError('must not run')\n"})
    status, said = start(tmp_path, site, ROOT)
    assert status == 1
    assert f"its package 'schema' should be {ROOT / 'schema' / '__init__.py'} but is {site / 'schema.py'}" in said
    assert "The distribution schema provides 'schema' too: uninstall it" in said
    assert "virtual environment" in said
    assert "Traceback" not in said


def test_a_file_of_the_same_name_in_the_current_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / "db.py").write_text("")
    status, said = start(tmp_path, ROOT)
    assert status == 1
    assert f"but is {tmp_path / 'db.py'}" in said
    assert "Start in another folder" in said


def test_a_plain_folder_of_the_same_name_does_no_harm(tmp_path: Path) -> None:
    (tmp_path / "web").mkdir()
    assert start(tmp_path, ROOT) == (0, "")


def test_a_package_overwritten_by_another_distribution_is_named(tmp_path: Path) -> None:
    site = tmp_path / "site"
    install_agentforge(site)
    install(site, "database-helpers", "2.0", {"db/__init__.py": "raise AssertionError('must not run')\n"})
    status, said = start(tmp_path, site)
    assert status == 1
    assert "its package 'db' should be" in said
    assert "was overwritten" in said
    assert "The distribution database-helpers provides 'db' too" in said


def test_a_missing_package_is_named(tmp_path: Path) -> None:
    site = tmp_path / "site"
    install_agentforge(site)
    shutil.rmtree(site / "resolvers")
    status, said = start(tmp_path, site)
    assert status == 1
    assert f"should be {site / 'resolvers' / '__init__.py'} but cannot be found" in said
