"""What the README reads exports with, line by line, each in a process of its own."""

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.markdown import README, fences
from tests.service import Service, environment

(LINES,) = fences(README, "python")
#: The rollouts and seeds of what a line yields.
COLUMNS = {
    "pandas": "read.rolloutId.tolist(), read.seed.tolist()",
    "polars": "read['rolloutId'].to_list(), read['seed'].to_list()",
    "duckdb": "*zip(*read.select('rolloutId::text, seed').fetchall())",
    "datasets": "list(read['rolloutId']), list(read['seed'])",
}


@pytest.fixture(scope="module")
def folder(service: Service, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the file is that the lines read."""
    folder = tmp_path_factory.mktemp("readers")
    assert service.token is not None
    subprocess.run(
        [sys.executable, "-m", "agentforge", "export", "--kind", "failed", "--out", str(folder / "failed.jsonl.zst")],
        env=environment(AGENTFORGE_URL=service.url, AGENTFORGE_TOKEN=service.token, NO_PROXY="127.0.0.1"),
        check=True,
        capture_output=True,
        timeout=60,
    )
    return folder


@pytest.mark.parametrize("line", LINES.splitlines(), ids=lambda line: line.partition(".")[0])
def test_the_line_reads_every_rollout(line: str, service: Service, folder: Path) -> None:
    library = line.partition(".")[0]
    if find_spec(library) is None:
        pytest.skip(f"{library} is not installed: see `readers` in pyproject.toml")
    program = f"import json, {library}\nread = {line}\nprint(json.dumps([{COLUMNS[library]}]))"
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=folder,
        env=os.environ | {"HF_HOME": str(folder / "cache"), "HF_HUB_OFFLINE": "1"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    ids, seeds = json.loads(done.stdout.splitlines()[-1])
    served = [json.loads(one) for one in service.client.get("/api/v1/rollouts?kind=failed").text.splitlines()]
    expected = {one["rolloutId"]: one["seed"] for one in served}
    assert ids
    # Others in this run add to the service meanwhile.
    assert dict(zip(ids, seeds, strict=True)) == {key: seed for key, seed in expected.items() if key <= max(ids)}


def test_all_four_are_shown() -> None:
    assert [line.partition(".")[0] for line in LINES.splitlines()] == list(COLUMNS)
