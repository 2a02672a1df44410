"""The whole way: what a world's process says comes out equal of the artifact's file, the graph and an export's line."""

import asyncio
import codecs
import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentforge.worker import records
from agentforge.worker.attempt import execute
from agentforge.worker.room import Attempt as Execution
from db.tenant import Tenant
from tests.factory import Attempt, create_run, create_version
from tests.schema.asking import ask
from tests.schema.world import TRAJECTORY
from tests.streaming.web import application
from tests.worker.conftest import Bench
from tests.worker.test_texts import NOTE, any_text

WORLD = """
import json, sys
replies = json.load(open({replies!r}))
for line, (reply, said) in zip(sys.stdin.buffer, replies):
    sys.stderr.buffer.write(bytes.fromhex(said))
    sys.stderr.flush()
    sys.stdout.buffer.write(reply.encode() + b"\\n")
    sys.stdout.flush()
"""
AGENT = """
client = Client(mcp_config)
for line in open({requests!r}, "rb"):
    client.send(line)
    client.receive()
"""
STEPS = """query($id: ID!) { evaluationTrial(id: $id) { trajectory {
  artifactUrl log atif { valid document } files { path sha256 url omitted }
  steps(first: 500) { edges { node { step tool command observation } } }
} } }"""


@dataclass(frozen=True)
class Exchange:
    """A request and its answer as JSON texts, what the world wrote on stderr, and the step that must come of it."""

    tool: str
    arguments: str
    answer: str
    observation: str
    stderr: bytes = b""


@dataclass(frozen=True)
class Told:
    """Of one attempt; `steps` and `logs` as each place tells them."""

    trajectory: Any
    steps: list[Any]
    logs: list[str]
    files: list[bytes]


def written(value: object, *, escaped: bool) -> str:
    """JSON text, with no more escapes than it must have unless `escaped`."""
    text = json.dumps(value, ensure_ascii=escaped)
    return re.sub("[\ud800-\udfff]", lambda half: f"\\u{ord(half[0]):04x}", text)


def said(text: str, *, escaped: bool = True, tool: str = "t", stderr: bytes = b"") -> Exchange:
    answer = written({"content": [{"type": "text", "text": text}]}, escaped=escaped)
    return Exchange(tool, written({"text": text}, escaped=escaped), f'"result":{answer}', text, stderr)


def as_sent(value: str) -> Exchange:
    """A result that is not of texts alone, and the same as arguments."""
    return Exchange("t", f'{{"a":{value}}}', f'"result":{{"b":{value}}}', f'{{"b":{value}}}')


def prepared(folder: Path, exchanges: Sequence[Exchange], agent: str, observation_bytes: int) -> Execution:
    """An attempt whose agent and world say this to each other; then the agent goes on with what it is given."""
    folder.mkdir()
    replies, requests = folder / "replies", folder / "requests"
    answers = [f'{{"jsonrpc":"2.0","id":{number},{one.answer}}}' for number, one in enumerate(exchanges)]
    replies.write_text(json.dumps([(line, one.stderr.hex()) for line, one in zip(answers, exchanges, strict=True)]))
    calls = [f'{{"name":{written(one.tool, escaped=True)},"arguments":{one.arguments}}}' for one in exchanges]
    lines = [
        f'{{"jsonrpc":"2.0","id":{number},"method":"tools/call","params":{params}}}\n'
        for number, params in enumerate(calls)
    ]
    requests.write_text("".join(lines), "utf-8")
    return Bench(folder, folder).attempt(
        AGENT.format(requests=str(requests)) + agent,
        world=WORLD.format(replies=str(replies)),
        manifest={"artifacts": ["out/**"]},
        steps=1000,
        log_bytes=2**20,
        observation_bytes=observation_bytes,
    )


async def whole_way(
    tenant: Tenant, folder: Path, exchanges: Sequence[Exchange], agent: str = "", observation_bytes: int = 2**20
) -> Told:
    """Real processes, then the transaction that a worker ends a trial with, then all that can be read of it."""
    attempt = prepared(folder, exchanges, agent, observation_bytes)
    outcome = await execute(attempt, asyncio.Event())
    assert outcome.status == "completed", outcome.failure_detail
    version = await create_version(tenant, f"environment-{uuid4()}")
    _, (trial,) = await create_run(tenant, version, [Attempt(status="queued")], status="running")
    claimed = await records.claim(tenant, trial, "tests")
    assert claimed is not None
    await records.finish(tenant, claimed, outcome)
    return await told_of(tenant, str(trial.id))


async def told_of(tenant: Tenant, trial_id: str) -> Told:
    (trial,) = (await ask(tenant, STEPS, id=trial_id)).values()
    answered = trial["trajectory"]
    transport = httpx.ASGITransport(application(tenant))
    async with httpx.AsyncClient(transport=transport, base_url="http://agentforge") as web:
        artifact = (await web.get(answered["artifactUrl"])).json()
        exported = (await web.get("/api/v1/rollouts", params={"limit": "1"})).text
        files = [(await web.get(file["url"])).content for file in answered["files"] if file["url"]]
    assert exported.count("\n") == 1
    steps = [[edge["node"] for edge in answered["steps"]["edges"]]]
    steps += [json.loads(artifact["trajectory"])["steps"], json.loads(exported)["trajectory"]]
    return Told(answered, steps, [answered["log"], artifact["log"]], files)


def expected_steps(exchanges: Sequence[Exchange]) -> list[dict[str, Any]]:
    return [
        {"step": number, "tool": one.tool, "command": one.arguments, "observation": one.observation}
        for number, one in enumerate(exchanges, 1)
    ]


def expected_log(stderr: bytes) -> str:
    """The lines of the world's stderr; what was replaced is counted by a handler of this test's own."""
    sizes: list[int] = []

    def count(error: UnicodeError) -> tuple[str, int]:
        assert isinstance(error, UnicodeDecodeError)
        sizes.append(error.end - error.start)
        return "\ufffd", error.end

    codecs.register_error("tests.count", count)
    text = stderr.decode(errors="tests.count")
    lines = text.removesuffix("\n").split("\n") if text else []
    if sizes:
        lines.append(f"[... invalid UTF-8 replaced: {len(sizes)} sequences, {sum(sizes)} bytes ...]")
    return "".join(f"[world] {line}\n" for line in lines)


HARD = [
    "",
    "\0",
    "a\0b",
    "\ud800",
    "\udfff\ud800",
    "\x85\u2028\u2029",
    "\x1b[31mred\x1b[0m",
    "\r\n\t\x0b",
    "\\u0000",
    "\ufeff🐘",
]
NUMBERS = [
    "9007199254740993",
    "-0.0",
    "1e999",
    "1.10",
    "9" * 5000,
    "5e-324",
    '{"k":1,"k":2,"":null}',
    '["\\ud800", "\\u0000"]',
]


async def test_what_is_hard_to_keep_comes_out_equal(acme: Tenant, tmp_path: Path) -> None:
    exchanges = [said(text, escaped=escaped, tool=text) for text in HARD for escaped in (True, False)]
    exchanges += map(as_sent, NUMBERS)
    error = '{"code":-32000,"message":"\\ud800\\u0000","data":{"n":1e999,"n":9007199254740993}}'
    exchanges.append(Exchange("t", "{}", f'"error":{error}', error))
    stderr = "\0\x85\u2028\x1b[0m\r\n".encode() + b"\xff\xe2\x82\n\xef\xbf\xbd \xed\xa0\x80"
    exchanges.append(said("", stderr=stderr))
    told = await whole_way(acme, tmp_path / "hard", exchanges)
    for steps in told.steps:
        assert steps == expected_steps(exchanges)
    assert told.logs == [expected_log(stderr)] * 2
    assert told.logs[0].endswith("[world] [... invalid UTF-8 replaced: 5 sequences, 6 bytes ...]\n")
    assert told.trajectory["atif"] is None


async def test_eight_megabytes_are_cut_with_an_exact_note(acme: Tenant, tmp_path: Path) -> None:
    text = "é\ud800\0🐘" * 800_000
    exchange = replace(said(text, escaped=False), arguments="{}")  # escaped it takes more than a line may
    told = await whole_way(acme, tmp_path / "long", [exchange], observation_bytes=100_000)
    whole = text.encode("utf-8", "surrogatepass")
    assert len(whole) == 8_000_000
    for steps in told.steps:
        (step,) = steps
        kept = step["observation"].encode("utf-8", "surrogatepass")
        (note,) = NOTE.finditer(kept)
        assert 99_000 < len(kept) <= 100_000
        assert whole.startswith(kept[: note.start()])
        assert whole.endswith(kept[note.end() :])
        assert int(note[1]) == len(whole) - (len(kept) - len(note[0]))


async def test_what_an_agent_leaves_comes_out_as_its_bytes(acme: Tenant, tmp_path: Path) -> None:
    leaving = f"""
Path("trajectory.json").write_bytes({TRAJECTORY!r})
Path("out").mkdir()
Path("out", "caf\\udce9").write_bytes(bytes(range(256)))
Path("out", "link").symlink_to("/etc/passwd")
"""
    told = await whole_way(acme, tmp_path / "left", [], leaving)
    assert told.trajectory["atif"] == {"valid": True, "document": json.loads(TRAJECTORY)}
    link, kept = sorted(told.trajectory["files"], key=lambda file: file["omitted"] is None)
    assert (link["path"], link["omitted"], link["url"]) == ("out/link", "not a regular file", None)
    assert (kept["path"], kept["omitted"]) == ("out/caf\udce9", None)
    assert told.files == [bytes(range(256))]
    assert kept["sha256"] == hashlib.sha256(told.files[0]).hexdigest()


nasty = st.text(st.sampled_from('\0\n\r\x1b\x85\u2028\u2029\ud800\udfff\ufffd\ufeff"\\é🐘')).filter(
    lambda text: not re.search("[\ud800-\udbff][\udc00-\udfff]", text)
)
texts = any_text | nasty
values = st.recursive(
    st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts | st.none(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=5,
)
bytes_said = st.binary(max_size=20) | nasty.map(lambda text: text.encode("utf-8", "surrogatepass"))
exchanges_of_all_kinds = st.builds(said, texts, escaped=st.booleans(), tool=texts, stderr=bytes_said) | st.builds(
    lambda value, escaped: as_sent(written(value, escaped=escaped)), values, st.booleans()
)


@settings(
    max_examples=4, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(exchanges=st.lists(exchanges_of_all_kinds, min_size=60, max_size=120))
async def test_whatever_is_said_comes_out_equal(acme: Tenant, tmp_path: Path, exchanges: list[Exchange]) -> None:
    told = await whole_way(acme, tmp_path / str(uuid4()), exchanges)
    for steps in told.steps:
        assert steps == expected_steps(exchanges)
    assert told.logs == [expected_log(b"".join(one.stderr for one in exchanges))] * 2
