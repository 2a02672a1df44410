"""What processes in the sandbox cannot do, tried by real ones; and what becomes of a sandbox that is not to be had."""

import asyncio
import dataclasses
import json
import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from structlog.testing import capture_logs

from agentforge.settings import Settings
from agentforge.worker.attempt import Attempt, Outcome, execute
from agentforge.worker.sandbox import Sandbox, SandboxError, open_sandbox
from tests.worker.conftest import PROGRAMS, Bench, until
from tests.worker.test_limits import BOMB, HOG
from tests.worker.test_outcomes import facts
from tests.worker.test_processes import daemon_source

MEBIBYTE = 2**20
#: Tells what one process can reach, as one line of JSON.
LOOK = """
import json, os, socket
def attempt(deed):
    try: return deed()
    except OSError as error: return type(error).__name__ + " " + os.strerror(error.errno)
def connect():
    with socket.create_connection(("127.0.0.1", {port}), 5): return "connected"
def look():
    return {{
        "network": attempt(connect),
        "interfaces": [name for _, name in socket.if_nameindex()],
        "others": [attempt(lambda: open(path).read()) for path in {unreadable!r}],
        "processes": [
            attempt(lambda: open(f"/proc/{{name}}/environ", "rb").read().decode())
            for name in os.listdir("/proc") if name.isdigit()
        ],
    }}
"""


@pytest.fixture(scope="module")
def sandbox() -> Sandbox:
    try:
        found = open_sandbox(Settings(sandbox="bubblewrap"))
    except SandboxError as error:
        pytest.skip(str(error))
    assert found
    return found


@pytest.fixture
def port() -> Iterator[int]:
    """A service on this machine."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def inside(attempt: Attempt, sandbox: Sandbox, **changes: Any) -> Attempt:
    """The same attempt in the sandbox, where its agent may read the programs of the tests."""
    programs = (Path(attempt.directory.parent, "agent.py"), PROGRAMS)
    return dataclasses.replace(attempt, sandbox=dataclasses.replace(sandbox, readable=programs, **changes))


async def run(attempt: Attempt) -> Outcome:
    return await execute(attempt, asyncio.Event())


def left(outcome: Outcome) -> Any:
    """What the agent wrote down."""
    assert outcome.agent_trajectory, outcome.log
    return json.loads(outcome.agent_trajectory)


async def test_agent_world_and_evaluator_reach_neither_network_nor_others(
    bench: Bench, sandbox: Sandbox, port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENTFORGE_DATABASE_URL", "of-the-worker-alone")
    other = bench.tmp_path / "attempt-other/workspace/answer.txt"
    other.parent.mkdir(parents=True)
    other.write_text("the answer of another attempt")
    unreadable = [str(other), f"/proc/{os.getpid()}/environ", str(Path(__file__)), str(Path.home() / ".profile")]
    look = LOOK.format(port=port, unreadable=unreadable)
    attempt = bench.attempt(
        look + 'Client(mcp_config).call("echo", text="a")\nPath("trajectory.json").write_text(json.dumps(look()))',
        world=f'{look}\nPath = __import__("pathlib").Path\nPath("world.json").write_text(json.dumps(look()))\n'
        + (PROGRAMS / "echo_world.py").read_text(),
        evaluator=look + 'print(json.dumps({"reward": 1, "world": json.load(open("world.json")), "own": look()}))',
    )
    outcome = await run(inside(attempt, sandbox))
    assert facts(outcome) == ("completed", 1.0, None), outcome.log
    assert [(step.tool, step.observation) for step in outcome.steps] == [("echo", "a")]
    seen = [left(outcome), outcome.metrics["world"], outcome.metrics["own"]]
    for found in seen:
        assert found["network"] == "ConnectionRefusedError Connection refused"  # nobody is there
        assert found["interfaces"] == ["lo"]
        assert found["others"] == ["FileNotFoundError No such file or directory"] * 4
        # Its own, the guard's, and those of the agent's bridge.
        assert 2 <= len(found["processes"]) <= 4
        assert "of-the-worker-alone" not in str(found["processes"])


async def test_only_whom_the_settings_name_has_the_network(bench: Bench, sandbox: Sandbox, port: int) -> None:
    look = LOOK.format(port=port, unreadable=[])
    attempt = bench.attempt(
        look + 'Path("trajectory.json").write_text(json.dumps(look()["network"]))',
        evaluator=look + 'print(json.dumps({"reward": 1, "network": look()["network"]}))',
    )
    outcome = await run(inside(attempt, sandbox, networked=frozenset({"agent"})))
    assert left(outcome) == "connected"
    assert outcome.metrics["network"] == "ConnectionRefusedError Connection refused"


async def test_nothing_can_be_written_but_what_is_the_agents_own(bench: Bench, sandbox: Sandbox) -> None:
    agent = """
    found = {}
    places = ("/new", "/usr/new", "/etc/new", "/dev/new", sys.prefix + "/new", __file__, mcp_config)
    for path in places:
        try: open(path, "a").write("x"); found[path] = "written"
        except OSError as error: found[path] = os.strerror(error.errno)
    for folder in (".", os.environ["TMPDIR"], "..", "/tmp", "/dev/shm", Path.home()):
        Path(folder, "new-of-the-agent").write_text("x")
    Path("trajectory.json").write_text(json.dumps([list(found.values()), os.listdir(Path.home()), os.geteuid()]))
    """
    attempt = bench.attempt(agent)
    outcome = await run(inside(attempt, sandbox))
    refused, home, user = left(outcome)
    assert refused == ["Read-only file system"] * 7
    assert "new-of-the-agent" in home
    assert ".profile" not in home
    assert user == os.geteuid()
    # What lies in memory is gone with it.
    kept = [
        folder for folder in (attempt.directory, Path("/tmp"), Path.home()) if (folder / "new-of-the-agent").exists()
    ]
    assert kept == []


async def test_no_privilege_is_left_inside(bench: Bench, sandbox: Sandbox) -> None:
    agent = """
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    names = ("CapEff", "CapPrm", "CapBnd", "NoNewPrivs")
    namespace = subprocess.run(["unshare", "--user", "true"], capture_output=True).returncode
    try: os.kill(1, 9); os.kill(1, 19)
    except OSError: pass
    Path("trajectory.json").write_text(json.dumps([[int(status[name], 16) for name in names], namespace]))
    """
    outcome = await run(inside(bench.attempt(agent), sandbox))
    assert facts(outcome) == ("completed", 1.0, None), "its guard cannot be killed or stopped"
    capabilities, namespace = left(outcome)
    assert capabilities == [0, 0, 0, 1]
    assert namespace != 0


@pytest.mark.parametrize(
    ("agent", "category", "detail"),
    [
        (HOG, "memory_limit", "the agent held more than 104857600 bytes of memory"),
        (
            BOMB.replace("LEAVE", "pass"),
            "process_limit",
            "the agent ran more than 32 processes or their threads at once",
        ),
        (
            BOMB.replace("LEAVE", "os.setsid()"),
            "process_limit",
            "the agent ran more than 32 processes or their threads at once",
        ),
        (
            "for n in range(40): open(str(n), 'wb').write(b'x' * 2**20)\ntime.sleep(60)",
            "disk_limit",
            "the agent kept more than 26214400 bytes in its folders",
        ),
    ],
    ids=["memory", "bomb", "bomb of sessions", "disk"],
)
async def test_limits_hold_inside(bench: Bench, sandbox: Sandbox, agent: str, category: str, detail: str) -> None:
    attempt = bench.attempt(agent, memory_bytes=100 * MEBIBYTE, processes=32, disk_bytes=25 * MEBIBYTE)
    outcome = await run(inside(attempt, sandbox))
    assert facts(outcome) == ("errored", None, category)
    assert outcome.failure_detail == detail
    assert not (bench.tmp_path / "attempt/workspace/survived").exists()
    assert not _processes_of(bench)


async def test_daemons_end_with_their_sandbox(bench: Bench, sandbox: Sandbox) -> None:
    bench = Bench(bench.tmp_path / "attempt/workspace", bench.tmp_path)  # where a process inside may leave marks
    attempt = bench.attempt(daemon_source(bench) + "daemon('daemon')\nprint('x' * 2**24)")
    outcome = await run(inside(attempt, sandbox))
    assert facts(outcome) == ("completed", 1.0, None), outcome.log
    assert await bench.mark("daemon") > 1
    assert not _processes_of(bench)


async def test_a_secret_reaches_the_agent_alone_and_stands_in_no_command_line(bench: Bench, sandbox: Sandbox) -> None:
    secret = "s3cret-of-the-agent"
    agent = """
    Path("ready").write_text(os.environ["API_KEY"])
    print("the key is", os.environ["API_KEY"], flush=True)
    while not Path("go").exists(): time.sleep(0.01)
    """
    tell = "import os, sys\nprint(sorted(os.environ), file=sys.stderr, flush=True)\n"
    attempt = bench.attempt(
        agent, world=tell + "for line in sys.stdin: pass", evaluator=tell + "print('{\"reward\": 1}')"
    )
    task = asyncio.create_task(run(dataclasses.replace(inside(attempt, sandbox), secrets={"API_KEY": secret})))
    workspace = attempt.directory / "workspace"
    await until(lambda: (workspace / "ready").exists() and (workspace / "ready").read_text() == secret)
    family = psutil.Process().children(recursive=True)
    command_lines = [line for process in family if (line := _command_line(process))]
    assert sum("bwrap" in line[0] for line in command_lines) >= 2
    assert not [line for line in command_lines if secret in str(line)]
    (workspace / "go").touch()
    outcome = await task
    assert facts(outcome) == ("completed", 1.0, None)
    assert "[agent] the key is [redacted]\n" in outcome.log
    assert "API_KEY" not in outcome.log


def _processes_of(bench: Bench) -> list[list[str]]:
    lines = map(_command_line, psutil.process_iter())
    return [line for line in lines if any(str(bench.tmp_path) in word for word in line)]


def _command_line(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []


def _install(folder: Path, source: str) -> None:
    program = folder / "bwrap"
    program.write_text(f"#!/bin/sh\n{source}\n")
    program.chmod(0o755)


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        (None, "bubblewrap is not installed; on Debian and Ubuntu: apt-get install bubblewrap"),
        (
            "echo 'bwrap: Unknown option --disable-userns' >&2; exit 1",
            "bubblewrap does not work here: bwrap: Unknown option",
        ),
        ("exit 3", "bubblewrap does not work here: code 3"),
    ],
    ids=["missing", "too old", "failing"],
)
def test_a_sandbox_that_cannot_be_had_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str | None, reason: str
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    if source:
        _install(tmp_path, source)
    with pytest.raises(SandboxError, match=f"^{reason}"):
        open_sandbox(Settings(sandbox="bubblewrap"))
    with capture_logs() as logs:
        assert open_sandbox(Settings(sandbox="auto")) is None
    assert [(line["log_level"], line["event"]) for line in logs] == [("warning", "no_sandbox")]
    assert str(logs[0]["reason"]).startswith(reason)


def test_a_path_to_be_shown_must_exist(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    _install(tmp_path, "exit 0")
    assert open_sandbox(Settings(sandbox="bubblewrap", sandbox_paths=(tmp_path,))) == Sandbox(
        str(tmp_path / "bwrap"), readable=(tmp_path,)
    )
    for wrong in (Path("relative"), tmp_path / "missing"):
        with pytest.raises(SandboxError, match=f"{wrong} is not the absolute path of something that exists"):
            open_sandbox(Settings(sandbox="bubblewrap", sandbox_paths=(wrong,)))


def test_without_a_sandbox_none_is_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with capture_logs() as logs:
        assert open_sandbox(Settings()) is None
    assert logs == []


async def test_variables_of_an_environment_reach_its_own_programs_only(bench: Bench, sandbox: Sandbox) -> None:
    """The dynamic linker heeds some of them in whatever program it starts; these have it write a file for each."""
    traced = bench.tmp_path / "attempt" / "world" / "traced"
    world = {"command": ["{python}", "-m", "bench_world"], "env": {"LD_DEBUG": "files", "LD_DEBUG_OUTPUT": str(traced)}}
    outcome = await run(inside(bench.attempt(manifest={"world": world}), sandbox))
    assert facts(outcome)[0] == "completed", outcome.log
    # By its number inside, where the guard is 1; neither shell nor bubblewrap, which are outside, left one.
    assert [path.name for path in traced.parent.iterdir()] == ["traced.2"]
