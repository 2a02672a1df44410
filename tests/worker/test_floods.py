"""Agents and worlds that write without end, or never read: their outcomes, and the memory of a worker."""

import asyncio
import json
import sys
import textwrap
from typing import Any

import pytest

from agentforge.worker import relay
from agentforge.worker.attempt import Attempt
from tests.worker.conftest import Bench
from tests.worker.test_outcomes import facts, run

MEBIBYTE = 2**20
DEAD = "the environment answered nothing that it was asked"
# The peak is a process's own; ru_maxrss would begin with that of the process which started it.
WORKER = """
import asyncio, json, re
from pathlib import Path
from agentforge.worker.attempt import Attempt, execute
from resolvers.manifest import parse_manifest

def peak(): return int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) * 1024

attempt = Attempt(manifest=parse_manifest({manifest!r}), agent_command={command!r}, seed=1, attempt=1,
                  bundle=Path({bundle!r}), directory=Path({directory!r}))
before = peak()
outcome = asyncio.run(execute(attempt, asyncio.Event()))
facts = outcome.status, outcome.reward, outcome.failure_category, outcome.failure_detail
print(json.dumps([facts, len(outcome.log), peak() - before]))
"""
#: Answers the first request with what the test wants, then goes on as the test wants.
CALL = 'Client(mcp_config).send(b\'{"id":1,"method":"ping"}\\n\')\n'

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the peak is read from /proc")


async def by_a_worker(attempt: Attempt) -> tuple[tuple[str, float | None, str | None, str | None], int, int]:
    """Executes in a process of its own: the facts, the characters of the log, and how many bytes it grew at most."""
    source = WORKER.format(
        manifest=attempt.manifest.model_dump(),
        command=attempt.agent_command,
        bundle=str(attempt.bundle),
        directory=str(attempt.directory),
    )
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", textwrap.dedent(source), stdout=asyncio.subprocess.PIPE
    )
    try:
        output, _ = await asyncio.wait_for(process.communicate(), 60)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    found: Any = json.loads(output)
    return tuple(found[0]), found[1], found[2]


async def test_output_does_not_stay_in_memory(bench: Bench) -> None:
    agent = """
    for _ in range(30):
        for stream in (1, 2): os.write(stream, b"x" * 2**20)
    """
    found, log, growth = await by_a_worker(bench.attempt(agent, log_bytes=65_536))
    assert found == ("completed", 1.0, None, None)
    assert 65_000 < log <= 65_536
    assert growth < 10 * MEBIBYTE


async def test_a_world_that_floods_while_nobody_reads_is_held_back(bench: Bench) -> None:
    world = """
    import sys
    sys.stdin.readline()
    while True: sys.stdout.write('{"method":"notifications/x","params":{"data":"low"}}\\n' * 1000)
    """
    found, _, growth = await by_a_worker(bench.attempt(CALL + "time.sleep(60)", world=world, seconds=1))
    assert found == ("errored", None, "environment_failed", DEAD)
    assert growth < 10 * MEBIBYTE


@pytest.mark.parametrize("line", ['{"method":"notifications/x"}', '{"id":7,"result":{}}', "no JSON-RPC"])
async def test_a_world_that_sends_too_much_unasked_has_failed(
    bench: Bench, line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(relay, "UNASKED_BYTES", 4 * MEBIBYTE)
    world = f"while True: print({line!r} + chr(10), end='')"
    agent = """
    client = Client(mcp_config)
    while client.receive(): pass
    time.sleep(60)
    """
    outcome = await run(bench, agent, world=world)
    assert facts(outcome) == ("errored", None, "environment_failed")
    assert outcome.failure_detail == "the environment sent more than 4194304 bytes that nobody asked for"


async def test_a_world_that_floods_its_log_has_failed(bench: Bench) -> None:
    world = """
    import os
    while True: os.write(2, b"x" * 2**20)
    """
    found, log, growth = await by_a_worker(bench.attempt("time.sleep(60)", world=world))
    assert found == ("errored", None, "environment_failed", "the environment logged more than 67108864 bytes")
    assert log <= 65_536
    assert growth < 10 * MEBIBYTE


async def test_an_endless_line_of_a_world_is_not_kept(bench: Bench) -> None:
    world = """
    import os
    while True: os.write(1, b"x" * 2**20)
    """
    found, _, growth = await by_a_worker(bench.attempt("time.sleep(60)", world=world))
    detail = "the environment wrote a line of more than 16777216 bytes"
    assert found == ("errored", None, "environment_failed", detail)
    assert growth < 40 * MEBIBYTE


async def test_a_world_that_stops_reading_holds_the_agent_back(bench: Bench) -> None:
    """The agent's own pipe is full long before the worker holds much."""
    agent = """
    client = Client(mcp_config)
    message = json.dumps({"id": 1, "method": "notifications/x", "params": {"data": "x" * 2**20}}).encode() + b"\\n"
    for n in range(1, 100): client.send(message.replace(b'"id": 1', b'"id": %d' % n)); mark("sent", n)
    """
    world = "import time\ntime.sleep(60)"
    found, _, growth = await by_a_worker(bench.attempt(agent, world=world, seconds=1))
    assert found == ("errored", None, "environment_failed", DEAD)
    assert await bench.mark("sent") < 99
    assert growth < 40 * MEBIBYTE


async def test_an_agent_that_never_reads_answers_is_held_back(bench: Bench) -> None:
    agent = """
    client = Client(mcp_config)
    arguments = {"text": "x" * 2**18}
    for n in range(1, 400):
        message = {"id": n, "method": "tools/call", "params": {"name": "echo", "arguments": arguments}}
        client.send(json.dumps(message).encode() + b"\\n")
    """
    found, _, growth = await by_a_worker(bench.attempt(agent, seconds=1, steps=400))
    assert found == ("timed_out", 1.0, "agent_timeout", "the agent ran longer than 1 s")
    assert growth < 40 * MEBIBYTE


@pytest.mark.parametrize(
    "world",
    [
        "import sys\nfor line in sys.stdin: pass",
        'import sys\nfor line in sys.stdin: print(\'{"id": 99, "result": {}}\', flush=True)',
        "import sys\nfor line in sys.stdin: print('nonsense', flush=True)",
    ],
    ids=["says nothing", "answers what was not asked", "no JSON-RPC"],
)
async def test_a_world_that_answers_nothing_has_failed(bench: Bench, world: str) -> None:
    agent = """
    client = Client(mcp_config)
    client.ask("ping", {})
    while True: client.receive()
    """
    outcome = await run(bench, agent, world=world, seconds=0.7)
    assert (*facts(outcome), outcome.failure_detail) == ("errored", None, "environment_failed", DEAD)
    assert [(step.command, step.observation) for step in outcome.steps] == [("ping", "")]


async def test_whatever_a_world_sends_its_answers_still_come(bench: Bench) -> None:
    world = """
    import json, os, sys
    lines = [b'nonsense', b'', b'[]', b'null', b'7', b'{}', b'\\0', b'\\xff\\xfe', b'[' * 2**20, b'{"a":' * 2**18,
             b'[{"id":1,"result":{}}]', b'{"id":1,"result":', b'{"id":[],"result":{}}', b'{"id":NaN,"result":{}}',
             b'{"id":' + b'9' * 2**20 + b',"result":{}}', b'{"method":7}', b'{"method":"x","method":"y","params":7}']
    for line, asked in zip(lines, sys.stdin):
        message = line + b'\\n'
        while message: message = message[os.write(1, message):]
        print(json.dumps({"id": json.loads(asked)["id"], "result": {"pong": len(lines)}}), flush=True)
    sys.stdin.read()
    """
    agent = """
    client = Client(mcp_config)
    for n in range(17):
        client.send(b'{"id":%d,"method":"ping"}\\n' % n)
        while b'"pong": 17' not in client.receive(): pass
    """
    outcome = await run(bench, agent, world=world)
    assert facts(outcome) == ("completed", 1.0, None), outcome.log
    assert [step.observation for step in outcome.steps if step.command == "ping"] == ['{"pong": 17}'] * 17


async def test_answers_of_other_shapes_are_recorded_as_they_came(bench: Bench) -> None:
    answers = [
        '"result":7',
        '"result":null',
        '"result":{"content":7}',
        '"result":{"content":[7,{"type":"text"},{"type":"text","text":7}]}',
        '"result":{},"error":{}',
        '"error":7',
    ]
    world = f"""
    import sys
    for answer, asked in zip({answers!r}, sys.stdin): print('{{"id":1,' + answer + '}}', flush=True)
    sys.stdin.read()
    """
    agent = """
    client = Client(mcp_config)
    for _ in range(6):
        client.send(b'{"id":1,"method":"tools/call","params":{"name":"look","arguments":{}}}\\n')
        client.receive()
    """
    outcome = await run(bench, agent, world=world)
    assert facts(outcome) == ("completed", 1.0, None), outcome.log
    assert [(step.tool, step.observation) for step in outcome.steps] == [
        ("look", answer.partition(":")[2].partition(',"error"')[0]) for answer in answers
    ]


async def test_many_clients_with_long_lines_are_bounded(bench: Bench) -> None:
    """Sixteen clients may connect; one at a time has its long line."""
    agent = """
    import threading
    clients = [Client(mcp_config) for _ in range(20)]
    def flood(client):
        try: client.send(b"x" * 15 * 2**20)
        except BrokenPipeError: pass
    for client in clients: threading.Thread(target=flood, args=(client,), daemon=True).start()
    time.sleep(60)
    """
    found, _, growth = await by_a_worker(bench.attempt(agent, seconds=1.5))
    assert found[:3] == ("timed_out", 1.0, "agent_timeout")
    assert growth < 128 * MEBIBYTE  # a few forms of one line; all of them would be 240 MiB in one form
