"""Every boundary case of docs/outcomes.md, row by row: status, reward, category and detail, by real processes."""

import asyncio
import re
from typing import Any

import pytest

from agentforge.worker import evaluation
from agentforge.worker.attempt import execute
from tests.markdown import named, table
from tests.service import PROJECT
from tests.worker.conftest import ECHO_WORLD, Bench

ROWS = {row[0]: row[1:] for row in table(PROJECT / "docs" / "outcomes.md", "case")}
ASKS = 'Client(mcp_config).call("echo", text="a")'
CRASHES = f"{ASKS}; sys.exit(1)"
LATE = "time.sleep(60)"
NEVER_ANSWERS = "import sys\nfor line in sys.stdin: pass"


def when_asked(deed: str) -> dict[str, Any]:
    return {"agent": ASKS, "world": f"import os, signal, sys, time\nsys.stdin.readline()\n{deed}"}


CASES: dict[str, dict[str, Any]] = {
    "the agent exits with 0, the evaluator gives 1": {},
    "the agent exits with 3": {"agent": "sys.exit(3)"},
    "the agent is killed by a signal": {"agent": "os.kill(os.getpid(), 9)"},
    "the agent ends itself with SIGTERM": {"agent": "os.kill(os.getpid(), 15); time.sleep(60)"},
    "the agent's program does not exist": {"agent_command": ("no-such-agent",)},
    "the agent takes longer than 1 s, the evaluator gives 0.25 and a reason": {
        "agent": LATE,
        "seconds": 1,
        "prints": '{"reward": 0.25, "failure_category": "order_missing", "failure_detail": "no order"}',
    },
    "the agent takes longer than 1 s, the evaluator gives 1": {"agent": LATE, "seconds": 1},
    "the agent takes longer than 1 s, the evaluator gives nothing": {"agent": LATE, "seconds": 1, "prints": "{}"},
    "the agent takes longer than 1 s, the evaluator exits with 1": {
        "agent": LATE,
        "seconds": 1,
        "evaluator": "raise SystemExit(1)",
    },
    'the agent takes longer than 1 s, prints `{"reward": NaN}`': {"agent": LATE, "seconds": 1},
    "the agent asks a fourth time where three are allowed": {
        "agent": f"client = Client(mcp_config)\nfor _ in range(4): client.{ASKS.partition('.')[2]}",
        "steps": 3,
    },
    "the agent writes without end": {"agent": 'while True: os.write(1, b"x" * 65536)'},
    "the environment's program does not exist": {"manifest": {"world": {"command": ["no-such-world"]}}},
    "the environment exits with 5 when asked": when_asked("sys.exit(5)"),
    "the environment exits with 0 when asked": when_asked("sys.exit()"),
    "the environment is killed when asked": when_asked("os.kill(os.getpid(), 9)"),
    "the environment closes its output when asked": when_asked("os.close(1); time.sleep(60)"),
    "the environment writes a line of 16 MiB and more": when_asked("os.write(1, b'x' * (2**24 + 1)); time.sleep(60)"),
    "the environment never answers, and the agent waits for it": {
        "agent": ASKS,
        "world": NEVER_ANSWERS,
        "seconds": 2,
    },
    "the environment never answers, and the agent gives up with code 1": {
        "agent": f"import threading; threading.Timer(1.2, os._exit, [1]).start(); {ASKS}",
        "world": NEVER_ANSWERS,
        "seconds": 2,
    },
    "the environment never answers, and the agent does without": {
        "agent": f"import threading; threading.Timer(1.2, os._exit, [0]).start(); {ASKS}",
        "world": NEVER_ANSWERS,
        "seconds": 2,
    },
    "the environment answers once and then no more": {
        "agent": f"client = Client(mcp_config)\nwhile True: client.{ASKS.partition('.')[2]}",
        "world": ECHO_WORLD.replace("for line in sys.stdin:", "for line in [sys.stdin.readline()]:")
        + "\nsys.stdin.read()",
        "seconds": 1,
    },
    "the environment prints no JSON-RPC, and the agent waits for it": {
        "agent": ASKS,
        "world": "import sys\nfor line in sys.stdin: print('Hello', flush=True)",
        "seconds": 2,
    },
    "the evaluator's program does not exist": {"manifest": {"evaluator": {"command": ["no-such-evaluator"]}}},
    "the evaluator exits with 4 after printing a reward": {
        "evaluator": "print('{\"reward\": 1}'); raise SystemExit(4)",
    },
    "the evaluator is killed": {"evaluator": "import os; os.kill(os.getpid(), 9)"},
    "the evaluator takes too long": {"evaluator": "import time; time.sleep(60)", "evaluator_seconds": 0.5},
    "the evaluator prints nothing": {"evaluator": ""},
    "the evaluator prints more than 1 MiB": {"prints": '{"reward": 1}' + " " * 2**20},
}


def options(case: str) -> dict[str, Any]:
    """The processes of a case; of those that only tell what the evaluator prints, from the case itself."""
    known = CASES.get(case, {})
    _, prints, shown = case.rpartition("prints `")
    return known | ({"prints": shown.removesuffix("`")} if prints else {})


@pytest.mark.parametrize("case", ROWS)
async def test_a_boundary_case_ends_as_documented(case: str, bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    given = options(case)
    if (printed := given.pop("prints", None)) is not None:
        given["evaluator"] = f"print({printed!r})"
    monkeypatch.setattr(evaluation, "EVALUATOR_SECONDS", given.pop("evaluator_seconds", 20))
    outcome = await execute(bench.attempt(**given), asyncio.Event())
    status, reward, category, detail = ROWS[case]
    assert [outcome.status] == named(status)
    assert outcome.reward == (None if reward == "null" else float(reward))
    assert outcome.failure_category == (None if category == "null" else named(category)[0])
    if detail == "null":
        assert outcome.failure_detail is None
    else:
        pattern = ".*".join(map(re.escape, named(detail)[0].split("…")))
        assert re.fullmatch(pattern, outcome.failure_detail or ""), outcome.failure_detail


def test_every_case_made_here_is_documented() -> None:
    assert CASES.keys() <= ROWS.keys()
    assert {case for case in ROWS if "prints `" not in case} <= CASES.keys()
