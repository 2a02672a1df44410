"""What each process of an attempt may see."""

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from agentforge.worker.attempt import Outcome, execute
from agentforge.worker.room import substitute
from tests.worker.conftest import Bench

SECRET = 'key-"ü"-12345\nsecond line'
EVALUATOR = "import json, os; print(json.dumps({'reward': 1, 'environment': dict(os.environ)}))"


def test_only_known_placeholders_are_filled_in_and_only_once() -> None:
    values = {"task": "say {seed}", "seed": "7"}
    command = ["{task}", "--seed={seed}", '{"a": {}}', "{unknown}", "{{seed}}", "{Seed}", "{"]
    assert substitute(command, values) == [
        "say {seed}", "--seed=7", '{"a": {}}', "{unknown}", "{7}", "{Seed}", "{",
    ]  # fmt: skip


async def environments(bench: Bench) -> tuple[dict[str, dict[str, str]], Outcome]:
    agent = """
    Client(mcp_config).call("environment")
    Path("trajectory.json").write_text(json.dumps(dict(os.environ)))
    """
    manifest = {
        "world": {"command": ["{python}", "-m", "bench_world"], "env": {"SHOP": "a"}},
        "evaluator": {"command": ["{python}", "-m", "bench_evaluator"], "env": {"SHOP": "b"}},
    }
    attempt = bench.attempt(agent, evaluator=EVALUATOR, manifest=manifest)
    outcome = await execute(attempt, asyncio.Event())
    evaluator: Any = outcome.metrics["environment"]
    agents = json.loads(outcome.agent_trajectory or b"")
    return {"world": json.loads(outcome.steps[0].observation), "agent": agents, "evaluator": evaluator}, outcome


async def test_environments_are_scrubbed(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENTFORGE_DATABASE_URL", "postgresql://secret")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("MODEL", "one-of-them")
    monkeypatch.setenv("AGENTFORGE_AGENT_ENVIRONMENT", "MODEL, ABSENT,AGENTFORGE_DATABASE_URL")
    seen, _ = await environments(bench)
    common = {"PATH", "HOME", "LANG", "TMPDIR", "AGENTFORGE_SEED", "AGENTFORGE_ATTEMPT", "AGENTFORGE_PROCESS"}
    bundle = {"PYTHONPATH", "PYTHONDONTWRITEBYTECODE", "SHOP"}
    expected = {
        "world": common | bundle,
        "agent": common | {"MODEL"},
        "evaluator": common | bundle | {"AGENTFORGE_STEPS"},
    }
    # The interpreter adds LC_CTYPE itself where the locale is "C".
    assert {name: set(values) - {"LC_CTYPE"} for name, values in seen.items()} == expected
    directory = bench.tmp_path / "attempt"
    assert seen["agent"]["HOME"] == os.environ["HOME"]
    assert seen["world"]["HOME"] == seen["evaluator"]["HOME"] == str(directory / "world")
    assert seen["agent"]["TMPDIR"] != seen["world"]["TMPDIR"]
    assert [seen[name]["AGENTFORGE_SEED"] for name in seen] == ["7"] * 3
    assert [seen[name]["AGENTFORGE_ATTEMPT"] for name in seen] == ["2"] * 3
    assert (seen["world"]["SHOP"], seen["evaluator"]["SHOP"]) == ("a", "b")


async def test_secrets_are_redacted_everywhere(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MODEL_KEY", SECRET)
    monkeypatch.setenv("AGENTFORGE_AGENT_ENVIRONMENT", "MODEL_KEY")
    agent = """
    key = os.environ["MODEL_KEY"]
    print("raw", key)
    print("json", json.dumps(key), file=sys.stderr)
    print(json.dumps(key, ensure_ascii=False), flush=True)
    client = Client(mcp_config)
    client.call("echo", text=key)
    client.call("log", line=key)
    client.call("picture", note=key)
    Path("trajectory.json").write_text(json.dumps({"key": key}))
    """
    evaluator = f"""
    import json, sys
    key = {SECRET!r}
    print("hush", key, file=sys.stderr)
    print(json.dumps({{"reward": 0, "failure_detail": key, "key": [key]}}))
    """
    outcome = await execute(bench.attempt(agent, evaluator=evaluator), asyncio.Event())
    assert outcome.status == "completed", outcome
    assert "12345" not in repr(outcome)
    assert outcome.failure_detail == "[redacted]"
    assert outcome.metrics == {"key": ["[redacted]"]}
    assert outcome.agent_trajectory == b'{"key": "[redacted]"}'
    assert outcome.steps[0].observation == "[redacted]"
    assert outcome.steps[0].command == '{"text": "[redacted]"}'
    assert "12345" not in (bench.tmp_path / "attempt/steps.jsonl").read_text()
    assert sorted(outcome.log.splitlines()) == [
        '[agent] "[redacted]"',
        '[agent] json "[redacted]"',
        "[agent] raw [redacted]",
        "[evaluator] hush [redacted]",
        "[world] [redacted]",
    ]


async def test_the_agent_gets_task_folders_and_the_bridge(bench: Bench) -> None:
    agent = "Path('trajectory.json').write_text(json.dumps([sys.argv[1:], os.getcwd()]))"
    names = ("mcp_config", "task", "workspace", "seed", "attempt", "bundle", "other")
    command = ("{python}", "{bundle}/../agent.py", *(f"{{{name}}}" for name in names))
    outcome = await execute(bench.attempt(agent, agent_command=command), asyncio.Event())
    arguments, folder = json.loads(outcome.agent_trajectory or b"")
    directory = bench.tmp_path / "attempt"
    workspace = str(directory / "workspace")
    assert folder == workspace
    bundle = str(bench.tmp_path / "bundle")
    assert arguments == [str(directory / "mcp.json"), "do it", workspace, "7", "2", bundle, "{other}"]
    server = json.loads((directory / "mcp.json").read_text())["mcpServers"]["environment"]
    assert server["command"] == sys.executable
    assert server["args"][:3] == ["-P", "-m", "agentforge.worker.bridge"]
    assert [path.name for path in (bench.tmp_path / "bundle").iterdir()].count("__pycache__") == 0


async def test_a_long_path_gets_its_socket_elsewhere_and_nothing_stays_there(bench: Bench) -> None:
    deep = bench.tmp_path / ("d" * 90)
    deep.mkdir()
    bench.tmp_path = deep
    outcome = await execute(bench.attempt("Client(mcp_config).call('echo', text='far')"), asyncio.Event())
    assert [step.observation for step in outcome.steps] == ["far"]
    config = json.loads((deep / "attempt/mcp.json").read_text())
    socket = Path(config["mcpServers"]["environment"]["args"][3])
    assert not socket.is_relative_to(deep)
    assert not socket.parent.exists()
