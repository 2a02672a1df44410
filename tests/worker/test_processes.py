"""Nothing that an attempt started outlives it."""

import asyncio
import sys
import textwrap
from collections.abc import AsyncIterator
from pathlib import Path

import psutil
import pytest

from agentforge.worker.attempt import execute
from tests.worker.conftest import Bench, until

# A daemon: its own session, its parent gone, deaf to SIGTERM, with an emptied environment.
DAEMON = """
def daemon(name):
    program = f\"\"\"
import os, signal, sys, time
if os.fork(): os._exit(0)
os.setsid()
if os.fork(): os._exit(0)
signal.signal(signal.SIGTERM, signal.SIG_IGN)
open({str(Path(marks) / "starting")!r}, "w").write(str(os.getpid()))
os.rename({str(Path(marks) / "starting")!r}, {str(Path(marks) / name)!r})
time.sleep(600)
\"\"\"
    subprocess.run([sys.executable, "-I", "-S", "-c", program], env=ENV)
    while not (Path(marks) / name).exists(): time.sleep(0.01)
"""


def daemon_source(bench: Bench, *, env: str = "{}") -> str:
    return (
        "import subprocess, sys, time\nfrom pathlib import Path\n"
        f"marks = {str(bench.folder)!r}\n{DAEMON.replace('ENV', env)}\n"
    )


def is_running(process: int) -> bool:
    try:
        return psutil.Process(process).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


@pytest.fixture(autouse=True)
async def _no_children_left() -> AsyncIterator[None]:
    before = {process.pid for process in psutil.Process().children(recursive=True)}
    yield
    assert {process.pid for process in psutil.Process().children(recursive=True)} <= before


async def test_daemons_of_agent_world_and_evaluator_end(bench: Bench) -> None:
    def source(name: str) -> str:
        return daemon_source(bench) + f"daemon({name!r})\n"

    attempt = bench.attempt(
        source("agent"),
        world=source("world") + "for line in sys.stdin: pass",
        evaluator=source("evaluator") + "print('{\"reward\": 1}')",
    )
    outcome = await execute(attempt, asyncio.Event())
    assert outcome.status == "completed"
    marks = {mark.name: int(mark.read_text()) for mark in bench.folder.iterdir()}
    assert marks.keys() == {"agent", "world", "evaluator"}
    assert not [name for name, process in marks.items() if is_running(process)]


async def test_attempts_at_once_end_only_their_own(tmp_path: Path) -> None:
    benches = [Bench(tmp_path / name, tmp_path / name) for name in ("short", "long")]
    for bench in benches:
        bench.folder.mkdir()
    short, long = benches
    stop = asyncio.Event()
    waiting = daemon_source(long) + "daemon('daemon')\ntime.sleep(60)"
    other = asyncio.create_task(execute(long.attempt(waiting), stop))
    stays = await long.mark("daemon")
    outcome = await execute(short.attempt(daemon_source(short) + "daemon('daemon')"), asyncio.Event())
    assert outcome.status == "completed"
    assert not is_running(await short.mark("daemon"))
    assert is_running(stays)
    stop.set()
    assert (await other).status == "cancelled"
    assert not is_running(stays)


async def test_cancelling_the_task_ends_everything(bench: Bench) -> None:
    agent = daemon_source(bench) + "daemon('daemon')\nmark('agent', os.getpid())\ntime.sleep(60)"
    task = asyncio.create_task(execute(bench.attempt(agent), asyncio.Event()))
    processes = [await bench.mark(name) for name in ("daemon", "agent")]
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not any(map(is_running, processes))


@pytest.mark.parametrize("delay", [0, 0.01, 0.03, 0.06, 0.1])
async def test_cancelling_at_any_moment_leaves_nothing(bench: Bench, delay: float) -> None:
    task = asyncio.create_task(execute(bench.attempt("time.sleep(60)"), asyncio.Event()))
    await asyncio.sleep(delay)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_an_agent_that_kills_its_guard_does_not_escape(bench: Bench) -> None:
    agent = daemon_source(bench, env="None") + (
        "daemon('daemon')\nmark('agent', os.getpid())\nos.kill(os.getppid(), 9)\ntime.sleep(60)"
    )
    outcome = await execute(bench.attempt(agent), asyncio.Event())
    assert (outcome.status, outcome.failure_category) == ("errored", "agent_crashed")
    assert not is_running(await bench.mark("daemon"))
    assert not is_running(await bench.mark("agent"))


async def test_nothing_outlives_a_worker_that_is_killed(bench: Bench) -> None:
    attempt = bench.attempt(daemon_source(bench) + "daemon('daemon')\ntime.sleep(60)")
    worker = f"""
    import asyncio
    from pathlib import Path
    from agentforge.worker.attempt import Attempt, execute
    from resolvers.manifest import parse_manifest
    manifest = parse_manifest({attempt.manifest.model_dump()!r})
    attempt = Attempt(manifest=manifest, agent_command={attempt.agent_command!r}, seed=1, attempt=1,
                      bundle=Path({str(attempt.bundle)!r}), directory=Path({str(attempt.directory)!r}))
    asyncio.run(execute(attempt, asyncio.Event()))
    """
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", textwrap.dedent(worker))
    try:
        daemon = await bench.mark("daemon")
        family = psutil.Process(process.pid).children(recursive=True)
        assert len(family) >= 4  # two guards, world, agent
    finally:
        process.kill()
        await process.wait()
    await until(lambda: not is_running(daemon) and not any(member.is_running() for member in family))
