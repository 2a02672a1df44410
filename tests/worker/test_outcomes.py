"""What an attempt leaves beside its status, reward and failure, with real worlds, agents and evaluators."""

import asyncio
import time

import pytest

from agentforge.worker import files
from agentforge.worker.atif import AtifVerdict
from agentforge.worker.attempt import Outcome, execute
from agentforge.worker.files import KeptFile
from tests.worker.conftest import Bench

MARK_EVALUATOR = """
import os, pathlib
pathlib.Path({folder!r}, "evaluated").touch()
print('{{"reward": 1}}')
"""
PARTIAL = """
import json
print(json.dumps({"reward": 0.25, "stage_stock": 1, "stage_order": 0.5, "failure_category": "order_missing",
                  "failure_detail": "no order", "orders": [0], "note": None}))
"""


def facts(outcome: Outcome) -> tuple[str, float | None, str | None]:
    return outcome.status, outcome.reward, outcome.failure_category


async def run(bench: Bench, agent: str = "", **options: object) -> Outcome:
    return await execute(bench.attempt(agent, **options), asyncio.Event())  # type: ignore[arg-type]


async def test_a_completed_attempt_keeps_what_the_evaluator_said(bench: Bench) -> None:
    outcome = await run(bench, evaluator=PARTIAL)
    assert facts(outcome) == ("completed", 0.25, "order_missing")
    assert outcome.failure_detail == "no order"
    assert outcome.stages == (("stage_stock", 1.0), ("stage_order", 0.5))
    assert outcome.metrics == {"orders": [0], "note": None}


@pytest.mark.parametrize("name", ["stage_\\u0000", "stage_\\ud800"])
async def test_a_stage_has_a_name_that_can_be_stored(bench: Bench, name: str) -> None:
    printed = f'{{"reward": 1, "{name}": 1}}'
    outcome = await run(bench, evaluator=f"print({printed!r})")
    assert facts(outcome) == ("errored", None, "evaluator_failed")
    assert outcome.failure_detail == "the name of a stage holds NUL or a lone surrogate"


async def test_an_environment_that_cannot_start(bench: Bench) -> None:
    outcome = await run(
        bench,
        "mark('agent', 1)",
        manifest={"world": {"command": ["/nowhere/world"]}},
        evaluator=MARK_EVALUATOR.format(folder=str(bench.folder)),
    )
    assert facts(outcome) == ("errored", None, "environment_failed")
    assert "No such file" in str(outcome.failure_detail)
    assert list(bench.folder.iterdir()) == []


@pytest.mark.parametrize(
    ("agent", "detail"),
    [
        ("sys.exit(3)", "the agent exited with code 3"),
        ("os.kill(os.getpid(), 9)", "the agent was killed by SIGKILL"),
    ],
)
async def test_a_crash_is_not_scored(bench: Bench, agent: str, detail: str) -> None:
    outcome = await run(bench, agent, evaluator=MARK_EVALUATOR.format(folder=str(bench.folder)))
    assert facts(outcome) == ("errored", None, "agent_crashed")
    assert outcome.failure_detail == detail
    assert list(bench.folder.iterdir()) == []


async def test_an_argument_no_process_can_take(bench: Bench) -> None:
    outcome = await run(bench, agent_command=("{python}", "\0"))
    assert facts(outcome) == ("errored", None, "agent_crashed")


async def test_a_timeout_keeps_the_reward_and_its_own_category(bench: Bench) -> None:
    outcome = await run(
        bench, "Client(mcp_config).call('echo', text='a'); time.sleep(60)", evaluator=PARTIAL, seconds=1
    )
    assert facts(outcome) == ("timed_out", 0.25, "agent_timeout")
    assert outcome.failure_detail == "the agent ran longer than 1 s; evaluator: no order"
    assert outcome.stages == (("stage_stock", 1.0), ("stage_order", 0.5))
    assert [step.tool for step in outcome.steps] == ["echo"]


async def test_over_the_limit_of_steps_the_agent_is_ended(bench: Bench) -> None:
    agent = """
    client = Client(mcp_config)
    while True: client.call("echo", text="again")
    """
    outcome = await run(bench, agent, steps=3)
    assert facts(outcome) == ("errored", None, "step_limit")
    assert [step.step for step in outcome.steps] == [1, 2, 3]


async def test_a_flood_of_output_ends_the_agent_and_stays_small(bench: Bench) -> None:
    agent = """
    while True: os.write(1, b"flood\\n" * 10000)
    """
    outcome = await run(bench, agent, log_bytes=1000)
    assert facts(outcome) == ("errored", None, "output_limit")
    assert len(outcome.log.encode()) <= 1000
    assert "bytes cut" in outcome.log


@pytest.mark.parametrize(
    ("call", "detail"),
    [
        ("client.call('exit', code=5)", "the environment exited with code 5"),
        ("client.call('flood', size=2**24 + 9)", "the environment wrote a line of more than 16777216 bytes"),
    ],
)
async def test_a_failing_world_is_the_cause_even_if_the_agent_crashes_of_it(
    bench: Bench, call: str, detail: str
) -> None:
    agent = f"client = Client(mcp_config); {call}"  # the end of the conversation is an exception there
    outcome = await run(bench, agent)
    assert facts(outcome) == ("errored", None, "environment_failed")
    assert outcome.failure_detail == detail
    assert [(step.tool, step.observation) for step in outcome.steps] == [(call[13:-1].split("'")[0], "")]


WAITING = """
Client(mcp_config).call("echo", text="one")
mark("ready", 1)
time.sleep(60)
"""


async def test_stop_cancels_and_keeps_the_steps(bench: Bench) -> None:
    stop = asyncio.Event()
    task = asyncio.create_task(execute(bench.attempt(WAITING), stop))
    await bench.mark("ready")
    begun = time.monotonic()
    stop.set()
    outcome = await task
    assert facts(outcome) == ("cancelled", None, None)
    assert [step.observation for step in outcome.steps] == ["one"]
    assert time.monotonic() - begun < 5


async def test_the_trajectory_of_the_agent_is_kept_byte_for_byte(bench: Bench) -> None:
    outcome = await run(bench, "Path('trajectory.json').write_bytes(b'\\xff\\0{ }\\r\\n')")
    assert outcome.agent_trajectory == b"\xff\0{ }\r\n"
    assert outcome.atif == AtifVerdict(errors=("not UTF-8: invalid start byte at byte 0",))


@pytest.mark.parametrize(
    ("agent", "reason"),
    [
        ("Path('trajectory.json').symlink_to('/etc/passwd')", "not a regular file"),
        ("Path('trajectory.json').mkdir()", "not a regular file"),
        ("os.mkfifo('trajectory.json')", "not a regular file"),
        (
            "os.truncate(os.open('trajectory.json', os.O_CREAT | os.O_WRONLY), 2**24 + 1)",
            "not kept, with its 16777217 bytes: more than 16777216 bytes",
        ),
    ],
)
async def test_only_a_regular_file_of_bounded_size_is_a_trajectory(bench: Bench, agent: str, reason: str) -> None:
    outcome = await run(bench, agent)
    assert outcome.status == "completed"
    assert outcome.agent_trajectory is None
    assert outcome.atif is not None
    assert reason in outcome.atif.errors[0]


async def test_files_are_kept_however_the_attempt_ends(bench: Bench) -> None:
    agent = "Path('out').mkdir(); Path('out', 'a').write_text('kept'); Path('b').touch(); sys.exit(1)"
    outcome = await run(bench, agent, manifest={"artifacts": ["out/*"]})
    assert facts(outcome) == ("errored", None, "agent_crashed")
    assert outcome.files == (KeptFile(path="out/a", byte_size=4, content=b"kept"),)


async def test_the_log_tells_of_files_that_are_not_even_listed(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MOST_LISTED", 1)
    outcome = await run(bench, "[Path(name).write_text(name) for name in 'abc']", manifest={"artifacts": ["*"]})
    assert [file.path for file in outcome.files] == ["a"]
    assert outcome.log == "[worker] 2 more artifacts of 2 bytes were neither kept nor listed\n"
