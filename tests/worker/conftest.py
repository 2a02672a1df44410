"""A bench on which tests put together attempts from small real programs."""

import asyncio
import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from agentforge.worker.attempt import Attempt
from agentforge.worker.guards import Guards
from resolvers.manifest import parse_manifest

PROGRAMS = Path(__file__).parent / "programs"
ECHO_WORLD = (PROGRAMS / "echo_world.py").read_text()
AGENT_PRELUDE = f"""
import json, os, subprocess, sys, time
from pathlib import Path
sys.path.insert(0, {str(PROGRAMS)!r})
from agent_kit import Client
mcp_config = sys.argv[1]
def mark(name, number): (Path({{folder!r}}) / name).write_text(str(number))
"""
SCORE_ONE = "print('{\"reward\": 1}')"


async def until(condition: Callable[[], bool]) -> None:
    """Waits for something that other processes bring about."""
    async with asyncio.timeout(10):
        while not condition():  # noqa: ASYNC110 - other processes cannot set an event
            await asyncio.sleep(0.01)


@dataclass
class Bench:
    """`folder` is where the programs leave marks for the test to read."""

    folder: Path
    tmp_path: Path
    guards: Guards | None = None

    async def mark(self, name: str) -> int:
        """Waits until a program has left this mark, and returns the number in it."""
        await until(lambda: (self.folder / name).exists() and (self.folder / name).read_text() != "")
        return int((self.folder / name).read_text())

    def attempt(
        self,
        agent: str = "",
        *,
        world: str = ECHO_WORLD,
        evaluator: str = SCORE_ONE,
        manifest: Mapping[str, object] | None = None,
        agent_command: tuple[str, ...] = ("{python}", "{bundle}/../agent.py", "{mcp_config}"),
        **limits: float,
    ) -> Attempt:
        bundle = self.tmp_path / "bundle"
        bundle.mkdir()
        (bundle / "bench_world.py").write_text(textwrap.dedent(world))
        (bundle / "bench_evaluator.py").write_text(textwrap.dedent(evaluator))
        prelude = AGENT_PRELUDE.format(folder=str(self.folder))
        (self.tmp_path / "agent.py").write_text(prelude + textwrap.dedent(agent))
        directory = self.tmp_path / "attempt"
        directory.mkdir()
        value = {
            "task": "do it",
            "world": {"command": ["{python}", "-m", "bench_world"]},
            "evaluator": {"command": ["{python}", "-m", "bench_evaluator"]},
            "limits": {"seconds": 20, **limits},
        }
        return Attempt(
            manifest=parse_manifest(value | dict(manifest or {})),
            agent_command=agent_command,
            seed=7,
            attempt=2,
            bundle=bundle,
            directory=directory,
            guards=self.guards,
        )


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    """Guards are started as a worker does."""
    folder = tmp_path / "marks"
    folder.mkdir()
    with Guards() as guards:
        yield Bench(folder, tmp_path, guards if sys.platform == "linux" else None)


@pytest.fixture
def python() -> str:
    return sys.executable
