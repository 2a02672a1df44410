"""What is released is what is tested: the wheel, installed into a bare environment in another folder."""

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.service import PROJECT, Client, environment, short_directory

ROOT_PACKAGES = {"agentforge", "schema", "resolvers", "streaming", "db", "web", "examples"}


@pytest.fixture(scope="module")
def uv() -> list[str]:
    """How to start uv: the one that started these tests, or the one of this environment's Python."""
    return [os.environ["UV"]] if "UV" in os.environ else ["uv"]


@pytest.fixture(scope="module")
def wheel(uv: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    subprocess.run([*uv, "build", "--quiet", "--wheel", "--out-dir", str(folder)], cwd=PROJECT, check=True)
    (built,) = folder.glob("*.whl")
    return built


def test_it_holds_everything_that_is_needed_and_no_more(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    tracked = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", *sorted(ROOT_PACKAGES)],
        cwd=PROJECT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout.splitlines()
    packed = {name for name in names if ".dist-info/" not in name and not name.endswith("/")}
    assert packed == {name for name in tracked if (PROJECT / name).is_file()}


def test_it_runs_from_a_bare_environment_in_another_folder(uv: list[str], wheel: Path) -> None:
    with short_directory() as directory:
        python = directory / "venv" / "bin" / "python"
        subprocess.run([*uv, "venv", "--quiet", "--python", sys.executable, str(directory / "venv")], check=True)
        subprocess.run([*uv, "pip", "install", "--quiet", "--python", str(python), str(wheel)], check=True)
        process = subprocess.Popen(
            [str(python.with_name("agentforge")), "up", "--json", "--port", "0"],
            cwd=directory,
            env=environment(),
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        with process.stdout:
            try:
                ready = json.loads(process.stdout.readline())
                assert ready["dataDir"] == str((directory / ".agentforge").resolve())
                client = Client(ready["url"], ready["token"])
                runs = client.graph("{ evaluationRuns { edges { node { status trials { status } } } } }")
                (run,) = [edge["node"] for edge in runs["evaluationRuns"]["edges"]]
                assert (run["status"], len(run["trials"])) == ("COMPLETED", 8)
                assert client.get("/graphql", headers={"Accept": "text/html"}).status_code == 200
                assert client.get("/static/vendor/graphiql.min.js").status_code == 200
            finally:
                process.terminate()
                assert process.wait(60) == 0
