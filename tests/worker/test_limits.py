"""Memory, processes and disk: what an agent, a world or an evaluator may use, against those that want more."""

import asyncio
import json
from collections.abc import AsyncIterator

import psutil
import pytest

from agentforge.worker.attempt import execute
from tests.worker.conftest import Bench
from tests.worker.test_outcomes import facts, run
from tests.worker.test_processes import is_running

MEBIBYTE = 2**20
#: More in one process than 100 MiB, slowly enough to be measured before the kernel's own bound.
HOG = """
import time
held = []
while True: held.append(b"x" * 2**20); time.sleep(0.0005)
"""
#: Deaf to SIGTERM, and bounded should the guard fail: 3,000 processes in all, 20 seconds each; marks tell of it.
BOMB = """
import mmap, os, signal, time
def survive(*_): open("survived", "w"); os._exit(0)
count = mmap.mmap(-1, 8)
signal.signal(signal.SIGTERM, signal.SIG_IGN)
signal.signal(signal.SIGALRM, survive)
signal.alarm(20)
while True:
    born = int.from_bytes(count[:8], "little") + 1
    count[:8] = born.to_bytes(8, "little")
    if born > 3000: open("all", "w"); time.sleep(20)
    if os.fork() == 0:
        signal.alarm(20)
        LEAVE
"""


@pytest.fixture(autouse=True)
async def _nothing_left(bench: Bench) -> AsyncIterator[None]:
    yield
    left = [
        process.info
        for process in psutil.process_iter(["pid", "cmdline"])
        if str(bench.tmp_path) in str(process.info["cmdline"])
    ]
    assert left == []


@pytest.mark.parametrize("processes", [1, 4], ids=["in one", "in four together"])
async def test_too_much_memory_ends_the_agent(bench: Bench, processes: int) -> None:
    agent = f"""
    for _ in range({processes - 1}):
        if os.fork() == 0: break
    held = []
    for _ in range(200 // {processes}): held.append(b"x" * 2**20); time.sleep(0.0005)
    time.sleep(60)
    """
    outcome = await run(bench, agent, memory_bytes=100 * MEBIBYTE)
    assert facts(outcome) == ("errored", None, "memory_limit")
    assert outcome.failure_detail == "the agent held more than 104857600 bytes of memory"


async def test_memory_that_is_shared_counts_once(bench: Bench) -> None:
    agent = """
    held = b"x" * (60 * 2**20)
    for _ in range(4):
        if (child := os.fork()) == 0: time.sleep(0.6); os._exit(0)
    time.sleep(0.6)
    """
    assert facts(await run(bench, agent, memory_bytes=200 * MEBIBYTE)) == ("completed", 1.0, None)


async def test_more_at_once_than_can_be_measured_is_the_agents_own_crash(bench: Bench) -> None:
    agent = "held = b'x' * (3 * 2**30)"
    outcome = await run(bench, agent, memory_bytes=64 * MEBIBYTE)
    assert facts(outcome) == ("errored", None, "agent_crashed")
    assert "MemoryError" in outcome.log


async def test_too_many_processes_end_the_agent(bench: Bench) -> None:
    agent = """
    children = [subprocess.Popen(["sleep", "60"]) for _ in range(9)]
    time.sleep(60)
    """
    outcome = await run(bench, agent, processes=8)
    assert facts(outcome) == ("errored", None, "process_limit")
    assert outcome.failure_detail == "the agent ran more than 8 processes or their threads at once"


async def test_threads_count_too(bench: Bench) -> None:
    agent = """
    import threading
    for _ in range(40): threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
    time.sleep(60)
    """
    assert facts(await run(bench, agent, processes=2)) == ("errored", None, "process_limit")


@pytest.mark.parametrize("leave", ["pass", "os.setsid()"], ids=["one group", "sessions of their own"])
async def test_a_fork_bomb_is_ended(bench: Bench, leave: str) -> None:
    outcome = await run(bench, BOMB.replace("LEAVE", leave), processes=32)
    assert facts(outcome) == ("errored", None, "process_limit")
    assert not (bench.tmp_path / "attempt/workspace/survived").exists()


async def test_a_tree_that_forks_while_it_is_ended(bench: Bench) -> None:
    """Each process hands over to a child, in a session of its own, and ends: there is no one to be found for long."""
    agent = """
    import signal
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if os.fork(): sys.exit()
    ends = time.monotonic() + 20
    while time.monotonic() < ends:
        if os.fork(): os._exit(0)
        os.setsid()
    """
    assert facts(await run(bench, agent)) == ("completed", 1.0, None)


async def test_a_guard_that_was_stopped_still_ends_its_tree(bench: Bench) -> None:
    agent = """
    import signal
    if os.fork(): os.kill(os.getppid(), signal.SIGSTOP); time.sleep(60)
    os.setsid()
    mark("child", os.getpid())
    os.execve(sys.executable, [sys.executable, "-c", "import time; time.sleep(60)"], {})
    """
    outcome = await run(bench, agent, seconds=0.7)
    assert facts(outcome) == ("timed_out", 1.0, "agent_timeout")
    assert not is_running(await bench.mark("child"))


@pytest.mark.parametrize(
    "agent",
    [
        "for n in range(40): Path(str(n)).write_bytes(b'x' * 2**20)",
        "Path(os.environ['TMPDIR'], 'a').write_bytes(b'x' * 2**24); Path('b').write_bytes(b'x' * 2**24)",
        "for n in range(9000): Path(str(n)).touch()",
        "f = [open('a', 'wb') for _ in range(3) if not Path('a').unlink(missing_ok=True)]\n"
        "for one in f: one.write(b'x' * 2**24); one.flush()\n"
        "Path('a').unlink()",
        "Path('a').mkdir(); Path('a/b').write_bytes(b'x' * 2**24); Path('a/c').write_bytes(b'x' * 2**24)\n"
        "Path('a').chmod(0)",
        "Path('a').write_bytes(b'x' * 2**24); Path('b').write_bytes(b'x' * 2**24); os.chmod('.', 0o400)",
        "os.mkdir('a'); os.chdir('a')\n"
        "for _ in range(300): os.mkdir('a' * 200); os.chdir('a' * 200)\n"
        "for n in range(2): Path(str(n)).write_bytes(b'x' * 2**24)",
    ],
    ids=["many", "both folders", "empty ones", "nameless", "closed", "unsearchable", "deep"],
)
async def test_too_much_on_disk_ends_the_agent(bench: Bench, agent: str) -> None:
    outcome = await run(bench, agent + "\ntime.sleep(60)", disk_bytes=25 * MEBIBYTE)
    assert facts(outcome) == ("errored", None, "disk_limit")
    assert outcome.failure_detail == "the agent kept more than 26214400 bytes in its folders"


async def test_what_only_looks_large_is_within_the_limit_of_disk(bench: Bench) -> None:
    agent = """
    Path("large").write_bytes(b"x" * 2**22)
    for n in range(10): os.link("large", f"name-{n}")
    Path("link").symlink_to("/usr")
    os.truncate(os.open("sparse", os.O_CREAT | os.O_WRONLY), 2**30)
    """
    assert facts(await run(bench, agent, disk_bytes=8 * MEBIBYTE)) == ("completed", 1.0, None)


async def test_who_fills_the_disk_and_ends_at_once_is_over_the_limit_too(bench: Bench) -> None:
    outcome = await run(bench, "Path('a').write_bytes(b'x' * 9 * 2**20)", disk_bytes=8 * MEBIBYTE)
    assert facts(outcome) == ("errored", None, "disk_limit")
    assert outcome.failure_detail == "the agent kept more than 8388608 bytes in its folders"


async def test_an_agent_may_remove_and_close_its_folders(bench: Bench) -> None:
    agent = """
    import shutil
    shutil.rmtree(os.environ["TMPDIR"])
    os.chmod(".", 0)
    """
    assert facts(await run(bench, agent, disk_bytes=8 * MEBIBYTE)) == ("completed", 1.0, None)


async def test_a_single_file_far_beyond_the_limit_is_the_agents_own_crash(bench: Bench) -> None:
    """Its size counts, not what it takes: a file that is nearly empty may be as large as it likes up to there."""
    agent = """
    import signal
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)  # which Python ignores, and what it starts would too
    os.execvp("truncate", ["truncate", "-s", str(2**30 + 2**23 + 1), "large"])
    """
    outcome = await run(bench, agent, disk_bytes=8 * MEBIBYTE)
    assert facts(outcome) == ("errored", None, "agent_crashed")
    assert outcome.failure_detail == "the agent was killed by SIGXFSZ"


@pytest.mark.parametrize(
    ("world", "detail"),
    [
        (HOG, "the environment held more than 104857600 bytes of memory"),
        (BOMB.replace("LEAVE", "pass"), "the environment ran more than 32 processes or their threads at once"),
        (
            "import time\nfor n in range(40): open(str(n), 'wb').write(b'x' * 2**20)\ntime.sleep(60)",
            "the environment kept more than 26214400 bytes in its folders",
        ),
    ],
)
async def test_a_world_over_its_limits_has_failed(bench: Bench, world: str, detail: str) -> None:
    limits = {"memory_bytes": 100 * MEBIBYTE, "processes": 32, "disk_bytes": 25 * MEBIBYTE}
    outcome = await run(bench, "Client(mcp_config).call('echo', text='a')", world=world, **limits)
    assert facts(outcome) == ("errored", None, "environment_failed")
    assert outcome.failure_detail == detail


async def test_an_evaluator_over_its_limits_has_failed(bench: Bench) -> None:
    outcome = await run(bench, evaluator="print('{\"reward\": 1}', flush=True)\n" + HOG, memory_bytes=100 * MEBIBYTE)
    assert facts(outcome) == ("errored", None, "evaluator_failed")
    assert outcome.failure_detail == "the evaluator held more than 104857600 bytes of memory"


async def test_the_kernels_own_limits_are_set_and_the_guards_privileges_are_not_handed_on(bench: Bench) -> None:
    agent = """
    import resource
    names = ("RLIMIT_CORE", "RLIMIT_FSIZE", "RLIMIT_DATA")
    found = {name: resource.getrlimit(getattr(resource, name)) for name in names}
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    Path("trajectory.json").write_text(json.dumps([found, files, os.sched_getscheduler(0), os.nice(0)]))
    """
    outcome = await run(bench, agent, memory_bytes=2**31, disk_bytes=2**25)
    found, files, policy, nice = json.loads(outcome.agent_trajectory or b"")
    assert found == {"RLIMIT_CORE": [0, 0], "RLIMIT_FSIZE": [2**25 + 2**30] * 2, "RLIMIT_DATA": [2**32] * 2}
    assert files <= 65_536
    assert (policy, nice) == (0, 0)


async def test_limits_hold_while_a_tree_has_its_grace(bench: Bench) -> None:
    """A tree that is asked to end has two seconds, in which it may not use more than before."""
    agent = f"""
    import signal
    def bomb(*_): exec({BOMB.replace("LEAVE", "pass")!r})
    signal.signal(signal.SIGTERM, bomb)
    mark("ready", 1)
    time.sleep(60)
    """
    stop = asyncio.Event()
    task = asyncio.create_task(execute(bench.attempt(agent, processes=32), stop))
    await bench.mark("ready")
    stop.set()
    assert facts(await task) == ("cancelled", None, None)
    assert not (bench.tmp_path / "attempt/workspace/all").exists()
