"""Nothing that an attempt started outlives it."""

import asyncio
import os
import signal
import sys
import textwrap
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from agentforge.worker import processes
from agentforge.worker.attempt import execute
from agentforge.worker.bounds import Bounds
from agentforge.worker.guards import Guards
from agentforge.worker.processes import Process
from tests.service import eventually
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


@pytest.fixture(params=["programs", "forked"])
def guards(request: pytest.FixtureRequest) -> Iterator[Guards | None]:
    """Both ways of starting guards; a server ends with the test."""
    if request.param == "programs":
        yield None
        return
    if sys.platform != "linux":
        pytest.skip("guards are forked on Linux only")
    with Guards() as guards:
        yield guards


@pytest.fixture
def bench(bench: Bench, guards: Guards | None) -> Bench:
    return replace(bench, guards=guards)


@pytest.fixture(autouse=True)
async def _no_children_left(bench: Bench) -> AsyncIterator[None]:
    before = {process.pid for process in psutil.Process().children(recursive=True)}
    yield
    if bench.guards:
        bench.guards.close()
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


async def test_a_program_with_a_name_too_long_to_be_told_in_one_line(bench: Bench) -> None:
    outcome = await asyncio.wait_for(execute(bench.attempt(agent_command=("\u00e4" * 70_000,)), asyncio.Event()), 30)
    assert (outcome.status, outcome.failure_category) == ("errored", "agent_crashed")
    assert "the agent cannot start" in (outcome.failure_detail or "")


async def test_attempts_at_once_end_only_their_own(tmp_path: Path, guards: Guards | None) -> None:
    benches = [Bench(tmp_path / name, tmp_path / name, guards) for name in ("short", "long")]
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


async def test_a_command_has_its_standard_streams_and_nothing_else(bench: Bench) -> None:
    agent = "names = os.listdir('/dev/fd')\nmark('open', sum(name not in '012' for name in names if stays_open(name)))"
    kept = "def stays_open(name):\n    try: return os.fstat(int(name)) is not None\n    except OSError: return False\n"
    assert (await execute(bench.attempt(kept + agent), asyncio.Event())).status == "completed"
    assert await bench.mark("open") == 0


async def test_nothing_outlives_a_worker_that_is_killed(bench: Bench) -> None:
    attempt = bench.attempt(daemon_source(bench) + "daemon('daemon')\ntime.sleep(60)")
    worker = f"""
    import asyncio
    from pathlib import Path
    from agentforge.worker.attempt import Attempt, execute
    from agentforge.worker.guards import Guards
    from resolvers.manifest import parse_manifest
    manifest = parse_manifest({attempt.manifest.model_dump()!r})
    attempt = Attempt(manifest=manifest, agent_command={attempt.agent_command!r}, seed=1, attempt=1,
                      bundle=Path({str(attempt.bundle)!r}), directory=Path({str(attempt.directory)!r}),
                      guards={"None" if attempt.guards is None else "Guards()"})
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


class TestServer:
    """Of guards that are forked."""

    @pytest.fixture
    def guards(self) -> Iterator[Guards]:
        if sys.platform != "linux":
            pytest.skip("guards are forked on Linux only")
        with Guards() as guards:
            yield guards

    async def test_it_ends_with_its_worker(self, guards: Guards, bench: Bench) -> None:
        assert (await execute(bench.attempt(), asyncio.Event())).status == "completed"
        server = server_of_this_process()
        guards.close()
        assert not server.is_running()

    async def test_without_it_attempts_go_on_and_others_begin(self, guards: Guards, tmp_path: Path) -> None:
        benches = [Bench(tmp_path / name, tmp_path / name, guards) for name in ("present", "next")]
        for bench in benches:
            bench.folder.mkdir()
        present, following = benches
        agent = "mark('agent', os.getpid())\nwhile not Path(sys.argv[1]).with_name('go').exists(): time.sleep(0.01)"
        attempt = present.attempt(daemon_source(present) + "daemon('daemon')\n" + agent)
        task = asyncio.create_task(execute(attempt, asyncio.Event()))
        daemon = await present.mark("daemon")
        await present.mark("agent")
        server = server_of_this_process()
        server.kill()
        await until(lambda: server.status() == psutil.STATUS_ZOMBIE)
        assert (await execute(following.attempt(), asyncio.Event())).status == "completed"
        (attempt.directory / "go").touch()
        assert (await task).status == "completed"
        assert not is_running(daemon)

    async def test_one_that_is_killed_before_it_forks_loses_no_attempt(self, bench: Bench) -> None:
        with KilledInTime() as guards:
            outcome = await execute(replace(bench, guards=guards).attempt(evaluator=PRINTS_MORE), asyncio.Event())
        assert (outcome.status, outcome.reward, guards.killed) == ("completed", 1, 3)
        assert "scored\n" in outcome.log

    async def test_one_that_was_stopped_is_woken(
        self, guards: Guards, bench: Bench, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(processes, "_WAKE_SECONDS", 0.05)
        guards.start()
        os.kill(server_of_this_process().pid, signal.SIGSTOP)
        assert (await execute(bench.attempt(), asyncio.Event())).status == "completed"

    async def test_an_environment_of_any_bytes_and_size_reaches_the_command(self, guards: Guards, bench: Bench) -> None:
        odd = {"ODD": "\udcff \u202e\n", "LARGE": "x" * 100_000}
        program = (
            "import os; print(ascii(os.environ['ODD']), len(os.environ['LARGE']), os.getcwd(), 'LANG' in os.environ)"
        )
        printed = bytearray()
        bounds = Bounds(memory_bytes=2**30, processes=10, disk_bytes=2**30, folders=(bench.folder,), guards=guards)
        process = await Process.start(
            [sys.executable, "-c", program],
            env=odd,
            cwd=bench.folder,
            bounds=bounds,
            exceeded=lambda *_: None,
            stdout=Taken(printed),
            stderr=Taken(bytearray()),
        )
        async with process:
            assert await process.ended() == 0
        assert printed.decode().split() == [*ascii(odd["ODD"]).split(), "100000", str(bench.folder), "False"]


PRINTS_MORE = "import sys; print('scored', file=sys.stderr); print('{\"reward\": 1}')"


class KilledInTime(Guards):
    """Its server is killed each time that it has been asked for a guard, and before it can fork one."""

    killed = 0

    def fork(self, descriptors: Sequence[int]) -> None:
        self.start()
        server = server_of_this_process()
        server.suspend()
        super().fork(descriptors)
        server.kill()
        self.killed += 1


def server_of_this_process() -> psutil.Process:
    def servers() -> list[psutil.Process]:
        return [child for child in psutil.Process().children() if "guard_server" in " ".join(child.cmdline())]

    # One that was started just now may have no command line yet.
    found: list[psutil.Process] = eventually(servers)
    (server,) = found
    return server


class Taken:
    """A sink that keeps what it is fed."""

    def __init__(self, data: bytearray) -> None:
        self.feed = data.extend

    def close(self) -> None:
        pass
