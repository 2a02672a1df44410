"""What workers leave on disk."""

import subprocess
import sys
from pathlib import Path

from agentforge.worker.folders import attempts_folder
from tests.worker.scenes import SECONDS, Scene, eventually, scene

__all__ = ["scene"]

HOLDER = """
import pathlib, sys, time
from agentforge.worker.folders import attempts_folder
with attempts_folder(pathlib.Path(sys.argv[1])) as folder:
    (folder / "attempt-1").mkdir()
    (folder / "attempt-1" / "key").write_text("secret")
    print(folder, flush=True)
    sys.stdin.read()
"""


def holder(directory: Path) -> tuple["subprocess.Popen[str]", Path]:
    """Another process with a folder of its own, and that folder."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(directory)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout
    return process, Path(process.stdout.readline().strip())


def test_only_folders_of_processes_that_have_gone_are_removed(tmp_path: Path) -> None:
    (tmp_path / "bundles").mkdir()
    killed, left = holder(tmp_path)
    living, held = holder(tmp_path)
    killed.kill()
    killed.communicate()
    assert (left / "attempt-1" / "key").exists()
    with attempts_folder(tmp_path) as own:
        assert set(tmp_path.iterdir()) == {tmp_path / "bundles", held, own}
        assert (held / "attempt-1" / "key").exists()
    living.communicate("")
    assert living.returncode == 0
    assert list(tmp_path.iterdir()) == [tmp_path / "bundles"]


async def test_a_worker_removes_what_a_killed_one_left(scene: Scene, tmp_path: Path) -> None:
    first = scene.worker()
    await scene.reached("agent")
    shared = tmp_path / "worker-0"
    (left,) = (shared / "worker").glob("attempts-*")
    assert list(left.iterdir())
    first.kill()
    first.wait()
    second = scene.worker(AGENTFORGE_DATA_DIR=str(shared))

    async def executing() -> bool:
        return len(await scene.executions()) == 2

    await eventually(executing)
    assert not left.exists()
    scene.pass_gates()
    await scene.ended()
    second.terminate()
    assert second.wait(SECONDS) == 0
    assert [path.name for path in (shared / "worker").iterdir()] == ["bundles"]
