"""The agent alone gets its secrets, nothing keeps them, and nothing is kept where that cannot be made sure of."""

import asyncio
import base64
import json
from collections.abc import Iterator
from dataclasses import replace

import pytest

from agentforge.worker import key_formats
from agentforge.worker.attempt import Attempt, Outcome, execute
from agentforge.worker.key_formats import KeyFormat
from tests.worker.conftest import Bench

TOKEN = "Q7fH2kLm9PzX4vRt"
VALUE = f'pass-"ü"/{TOKEN}?&'

#: A world that leaves what it heard for its evaluator, and an evaluator that says it wherever it can.
TELLING_WORLD = """
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    arguments = message["params"].get("arguments", {})
    open("heard", "w").write(arguments.get("text", ""))
    print("stray", arguments.get("text"), file=sys.stderr, flush=True)
    content = [{"type": "text", "text": json.dumps(arguments)}]
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": {"content": content}}), flush=True)
"""
TELLING_EVALUATOR = """
import json, sys
heard = open("heard").read()
print("seen", heard, file=sys.stderr)
assert "Q7fH2k" not in open(__import__("os").environ["AGENTFORGE_STEPS"]).read()
print(json.dumps({"reward": 0.5, "stage_" + heard: 1, "failure_detail": "x" * 450 + heard, heard: [heard, {heard: 1}]}))
"""
#: Says what it got in every way: whole, in two writes, encoded, as a tool's name, as no message at all, in its file.
TELLING_AGENT = """
import base64, json, urllib.parse
value = os.environ["API_KEY"]
ways = [value, json.dumps(value), json.dumps(json.dumps(value)), json.dumps(value, ensure_ascii=False),
        urllib.parse.quote(value), urllib.parse.quote_plus(value), urllib.parse.quote(value, safe="")]
for before in ("", "a", "ab"):
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        ways.append(encode((before + value + before).encode()).decode())
        ways.append(ways[-1].rstrip("="))
for way in ways:
    print(way)
sys.stdout.flush()
for half in (value[:9], value[9:]):
    os.write(2, half.encode())
    time.sleep(0.05)
client = Client(mcp_config)
for way in ways:
    client.call("say", text=way)
client.call(value, text=value)
client.send(value.encode() + b"\\n")
client.receive()
Path("trajectory.json").write_text(json.dumps({"ways": ways}))
"""


def cores(text: str) -> Iterator[str]:
    """The base64 of `text` inside of any other, without the characters at its ends."""
    for before in range(3):
        yield base64.b64encode(b"x" * before + text.encode()).decode()[4:-4]


def assert_untold(told: str) -> None:
    assert [form for form in (TOKEN, *cores(TOKEN)) if form in told] == []


async def run(attempt: Attempt) -> Outcome:
    return await execute(replace(attempt, secrets={"API_KEY": VALUE}), asyncio.Event())


async def test_no_way_of_telling_a_secret_is_kept(bench: Bench) -> None:
    outcome = await run(bench.attempt(TELLING_AGENT, world=TELLING_WORLD, evaluator=TELLING_EVALUATOR))
    assert (outcome.status, outcome.reward) == ("completed", 0.5), outcome.log
    assert_untold(repr(outcome))
    assert_untold((bench.tmp_path / "attempt/steps.jsonl").read_text())
    assert outcome.steps[-2].tool == outcome.steps[-1].command == "[redacted]"
    assert outcome.stages == (("stage_[redacted]", 1.0),)
    assert outcome.failure_detail == "x" * 450 + "[redacted]"
    assert outcome.metrics == {"[redacted]": ["[redacted]", {"[redacted]": 1}]}
    ways = json.loads(outcome.agent_trajectory or b"")["ways"]
    assert len(ways) == 19
    assert all("[redacted]" in way for way in ways)
    said = [line for line in outcome.log.splitlines() if line.startswith("[agent]")]
    assert len(said) == 20
    assert all("[redacted]" in line for line in said)
    # In the log, the file and each step's command and observation, at least.
    assert outcome.redactions > 4 * len(ways)


async def test_the_agent_gets_them_and_nobody_else(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("API_KEY", "the worker's own value")
    monkeypatch.setenv("AGENTFORGE_AGENT_ENVIRONMENT", "API_KEY")
    agent = f"""
    assert os.environ["API_KEY"] == {VALUE!r}
    Client(mcp_config).call("environment")
    """
    evaluator = "import json, os; print(json.dumps({'reward': 1, 'environment': dict(os.environ)}))"
    attempt = bench.attempt(agent, evaluator=evaluator)
    outcome = await run(attempt)
    assert outcome.status == "completed", outcome.log
    assert "API_KEY" not in json.loads(outcome.steps[0].observation)
    environment = outcome.metrics["environment"]
    assert isinstance(environment, dict)
    assert "PATH" in environment
    assert "API_KEY" not in environment
    assert_untold((bench.tmp_path / "attempt/mcp.json").read_text())
    assert_untold(repr(replace(attempt, secrets={"API_KEY": VALUE})))


async def test_both_values_of_one_name_are_redacted(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("API_KEY", "the worker's own value")
    monkeypatch.setenv("AGENTFORGE_AGENT_ENVIRONMENT", "API_KEY")
    outcome = await run(bench.attempt("print('the worker\\'s own value', os.environ['API_KEY'])"))
    assert outcome.log == "[agent] [redacted] [redacted]\n"
    assert outcome.redactions == 2


class Unusable:
    """A pattern that fails on texts with a certain word in them."""

    def __init__(self, word: bytes) -> None:
        self.word = word

    def finditer(self, data: bytes) -> Iterator[object]:
        if self.word in data:
            raise RuntimeError(data)
        return iter(())


STEPPING_AGENT = """
print("something", flush=True)
Client(mcp_config).call("echo", text="a-step")
Path("trajectory.json").write_text("a-file")
if {waits}: time.sleep(600)
"""


@pytest.mark.parametrize(
    ("word", "waits"),
    [(b"a-step", True), (b"something", False), (b"a-file", False), (b"a-metric", False), (b"", False)],
)
async def test_where_redaction_fails_nothing_is_kept(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, word: bytes, waits: bool
) -> None:
    broken = KeyFormat("Broken", Unusable(word), 0)  # type: ignore[arg-type]
    monkeypatch.setattr(key_formats, "KEY_FORMATS", (broken,))
    evaluator = 'print(\'{"reward": 1, "stage_a": 1, "said": "a-metric"}\')'
    async with asyncio.timeout(20):
        outcome = await run(bench.attempt(STEPPING_AGENT.format(waits=waits), evaluator=evaluator, seconds=300))
    assert outcome == Outcome(
        status="errored",
        reward=None,
        failure_category="redaction_failed",
        failure_detail="secrets could not be redacted (RuntimeError), so nothing of the attempt is kept",
        stages=(),
        metrics={},
        log="",
        steps=[],
        agent_trajectory=None,
        redactions=0,
    )


async def test_where_a_stream_cannot_be_redacted_nothing_is_kept(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> int:
        raise MemoryError

    monkeypatch.setattr("agentforge.worker.redaction._Values.begun", fail)
    async with asyncio.timeout(20):
        outcome = await run(bench.attempt("print('x' * 200_000, flush=True); time.sleep(600)", seconds=300))
    assert (outcome.status, outcome.failure_category, outcome.log) == ("errored", "redaction_failed", "")


async def test_where_the_values_themselves_cannot_be_read_the_agent_does_not_go_on(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: object) -> set[bytes]:
        raise ValueError(VALUE)

    monkeypatch.setattr("agentforge.worker.redaction.forms", fail)
    async with asyncio.timeout(20):
        outcome = await run(bench.attempt("print(os.environ['API_KEY'], flush=True); time.sleep(600)", seconds=300))
    assert (outcome.status, outcome.failure_category, outcome.log) == ("errored", "redaction_failed", "")
    assert_untold(repr(outcome))
