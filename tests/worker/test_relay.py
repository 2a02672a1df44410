"""The relay: what passes between agent and world, and what is recorded of it."""

import asyncio
import json
import subprocess
from pathlib import Path

from agentforge.worker.attempt import Outcome, execute
from agentforge.worker.steps import Step, encode_step
from tests.worker.conftest import Bench

# Writes each line it gets, byte for byte, into a file, and answers with the next of the given lines.
SCRIPTED_WORLD = """
import sys
from pathlib import Path
answers = iter({answers!r})
with Path({received!r}).open("wb") as received:
    for line in sys.stdin.buffer:
        received.write(line)
        received.flush()
        sys.stdout.buffer.write(next(answers, b""))
        sys.stdout.buffer.flush()
"""


async def run(bench: Bench, agent: str, **options: object) -> Outcome:
    outcome = await execute(bench.attempt(agent, **options), asyncio.Event())  # type: ignore[arg-type]
    assert outcome.status == "completed", outcome
    lines = (bench.tmp_path / "attempt/steps.jsonl").read_text().splitlines()
    assert lines == [encode_step(step) for step in outcome.steps]
    return outcome


def scripted(bench: Bench, *answers: bytes) -> str:
    return SCRIPTED_WORLD.format(answers=answers, received=str(bench.folder / "received"))


async def test_requests_and_responses_become_steps(bench: Bench) -> None:
    agent = """
    client = Client(mcp_config)
    client.ask("initialize", {"protocolVersion": "2025-06-18"})
    client.call("echo", text="one")
    client.call("picture")
    client.call("nothing")
    client.ask("tools/unknown", {})
    """
    steps = (await run(bench, agent)).steps
    assert [(step.tool, step.command) for step in steps] == [
        ("mcp", "initialize"),
        ("echo", '{"text": "one"}'),
        ("picture", "{}"),
        ("nothing", "{}"),
        ("mcp", "tools/unknown"),
    ]
    assert [step.step for step in steps] == [1, 2, 3, 4, 5]
    assert json.loads(steps[0].observation)["protocolVersion"] == "2025-06-18"
    assert steps[1].observation == "one"
    assert [part["type"] for part in json.loads(steps[2].observation)["content"]] == ["text", "image"]
    assert steps[3].observation == '{"content": []}'
    assert json.loads(steps[4].observation)["code"] == -32601


async def test_bytes_pass_through_unmodified(bench: Bench) -> None:
    sent = (
        b'{ "id":"a\\u0062" ,"method":"tools/call","params":{"arguments":'
        b'{"n":1.0e+00,"big":123456789012345678901234567890,"t":"\\ud800\\u0000\xe2\x80\xa8"},"name":"t"}}\n'
    )
    received = b'{"id":"ab","result":{"content":[{"type":"text","text":"\\u0000\xe2\x80\xa9\\udfff\xff"}]} }\r\n'
    agent = f"""
    client = Client(mcp_config)
    client.send({sent!r})
    Path("received").write_bytes(client.receive())
    """
    (step,) = (await run(bench, agent, world=scripted(bench, received))).steps
    assert (bench.folder / "received").read_bytes() == sent
    assert (bench.tmp_path / "attempt/workspace/received").read_bytes() == received
    assert step.command == ('{"n":1.0e+00,"big":123456789012345678901234567890,"t":"\\ud800\\u0000\u2028"}')
    assert step.observation == "\0\u2029\udfff\ufffd"
    assert Step(**json.loads(encode_step(step))) == step


async def test_clients_reconnect_to_the_same_world(bench: Bench) -> None:
    agent = """
    for text in ("one", "two"):
        client = Client(mcp_config)
        client.ask("initialize", {})
        client.call("echo", text=text)
        client.close()
    """
    steps = (await run(bench, agent)).steps
    assert [step.command for step in steps if step.tool == "mcp"] == ["initialize", "initialize"]
    assert [step.observation for step in steps if step.tool == "echo"] == ["one", "two"]


async def test_clients_at_once_get_their_own_answers_though_their_ids_collide(bench: Bench) -> None:
    agent = """
    clients = [Client(mcp_config) for _ in range(4)]
    def request(number, call):
        arguments = {"text": f"{number} {call}"}
        params = {"name": "echo", "arguments": arguments}
        return json.dumps({"id": call, "method": "tools/call", "params": params}).encode() + b"\\n"
    for number, client in enumerate(clients):
        client.send(b"".join(request(number, call) for call in range(50)))
    for number, client in enumerate(clients):
        for call in range(50):
            answer = json.loads(client.receive())
            assert answer["id"] == call
            assert answer["result"]["content"][0]["text"] == f"{number} {call}"
    """
    assert len((await run(bench, agent)).steps) == 200


async def test_answers_still_come_after_the_client_closed_its_input(bench: Bench) -> None:
    agent = """
    client = Client(mcp_config)
    client.send(b'{"id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"late"}}}')
    client.bridge.stdin.close()
    assert b"late" in client.receive()
    """
    (step,) = (await run(bench, agent)).steps
    assert step.observation == "late"


async def test_a_request_without_answer_is_a_step(bench: Bench) -> None:
    agent = """
    client = Client(mcp_config)
    client.send(b'{"id":9,"method":"ignored","params":{}}\\n')
    client.call("echo", text="after")
    """
    steps = (await run(bench, agent)).steps
    assert [(step.command, step.observation) for step in steps] == [
        ('{"text": "after"}', "after"),
        ("ignored", ""),
    ]


async def test_what_the_world_says_of_its_own_accord_is_recorded(bench: Bench) -> None:
    said = b'{"method":"notifications/message","params":{"data":"low"}}\n{"method":"notifications/x"}\n'
    asked = b'{"id":"w1","method":"elicitation/create","params":{"message":"Sure?"}}\n{"id":1,"result":{}}\n'
    answer = b'{"id":"w1","result":{"action":"accept"}}\n'
    agent = f"""
    client = Client(mcp_config)
    client.send(b'{{"id":1,"method":"ping"}}\\n')
    assert [len(client.receive()) > 9 for _ in range(4)]
    client.send({answer!r})
    """
    outcome = await run(bench, agent, world=scripted(bench, said + asked))
    assert [(step.tool, step.command, step.observation) for step in outcome.steps] == [
        ("mcp", "notifications/message", '{"data":"low"}'),
        ("mcp", "elicitation/create", '{"message":"Sure?"}'),
        ("mcp", "ping", "{}"),
        ("mcp", answer.decode().strip(), ""),
    ]


async def test_a_flood_of_notifications_is_passed_on_but_not_kept(bench: Bench) -> None:
    said = b'{"method":"notifications/message","params":{"data":"low"}}\n' * 100 + b'{"id":1,"result":{}}\n'
    agent = """
    client = Client(mcp_config)
    client.send(b'{"id":1,"method":"ping"}\\n')
    for _ in range(101): client.receive()
    """
    outcome = await run(bench, agent, world=scripted(bench, said), steps=5)
    assert len(outcome.steps) == 6
    assert outcome.log.count("without being recorded") == 1


async def test_stray_lines_of_the_world_go_to_the_log(bench: Bench) -> None:
    agent = """
    client = Client(mcp_config)
    for line in ("Traceback?", "[]", "{", '{"id":true}'):
        assert client.call("write", line=line)["result"] == {"content": []}
    """
    outcome = await run(bench, agent)
    assert [step.tool for step in outcome.steps] == ["write"] * 4
    assert outcome.log == '[world] Traceback?\n[world] []\n[world] {\n[world] {"id":true}\n'


async def test_nothing_reaches_the_world_unrecorded(bench: Bench) -> None:
    call = b'{"id":5,"method":"tools/call","params":{"name":"t"}}'
    smuggled = [
        b"[" + call + b"]",
        b'{"id":1,"method":"ping","params":\r' + call + b"\r}",
        b'{"id":1,"method":"ping","method":"tools/call"}',
        b'{"id":1,"method":"tools/call","params":{"name":"a","name":"b"}}',
        b'{"method":"tools/call","params":{"name":"t"}}',
        b'{"id":null,"method":"tools/call","params":{"name":"t"}}',
        b'{"id":1.5,"method":"ping"}',
        b'{"id":1,"method":"ping",}',
        b'{"id":1,"method":"ping"}{}',
        b'{"id":1,"method":"p\xff"}',
        b'{"id":1,"method":"ping","params":' + b"[" * 100_000,
    ]
    agent = f"""
    client = Client(mcp_config)
    for line in {smuggled!r}:
        client.send(line + b"\\n")
        assert json.loads(client.receive())["error"]["code"] == -32700
    """
    outcome = await run(bench, agent, world=scripted(bench))
    assert (bench.folder / "received").read_bytes() == b""
    assert [step.command for step in outcome.steps] == [line.decode("utf-8", "replace") for line in smuggled]
    assert {step.tool for step in outcome.steps} == {"mcp"}


async def test_a_client_with_an_endless_line_is_cut_off(bench: Bench) -> None:
    agent = """
    client = Client(mcp_config)
    client.send(b"x" * (2**24 + 100_000))
    assert client.receive() == b""
    other = Client(mcp_config)
    other.call("echo", text="still here")
    """
    (step,) = (await run(bench, agent)).steps
    assert step.observation == "still here"


async def test_long_observations_are_cut_in_the_middle(bench: Bench) -> None:
    agent = """
    Client(mcp_config).call("echo", text="A" + "ü" * 1000 + "Z")
    """
    (step,) = (await run(bench, agent, observation_bytes=300)).steps
    size = len(step.observation.encode())
    kept = step.observation.count("ü") * 2 + 2
    assert size <= 300
    assert f"[... {2002 - kept} bytes cut ...]" in step.observation
    assert (step.observation[0], step.observation[-1]) == ("A", "Z")


async def test_the_evaluator_reads_what_was_recorded_not_what_the_agent_wrote(bench: Bench) -> None:
    agent = """
    Client(mcp_config).call("echo", text="real")
    Path("../steps.jsonl").unlink()
    Path("../steps.jsonl").write_text("forged")
    """
    evaluator = """
    import json, os, sys
    steps = [json.loads(line) for line in open(os.environ["AGENTFORGE_STEPS"])]
    print(json.dumps({"reward": 1, "steps": steps, "argument": sys.argv[1] == os.environ["AGENTFORGE_STEPS"]}))
    """
    command = {"evaluator": {"command": ["{python}", "-m", "bench_evaluator", "{steps}"]}}
    outcome = await run(bench, agent, evaluator=evaluator, manifest=command)
    step = {"step": 1, "tool": "echo", "command": '{"text": "real"}', "observation": "real"}
    assert outcome.metrics == {"steps": [step], "argument": True}


async def test_the_official_client_talks_through_the_bridge(bench: Bench) -> None:
    world = """
    from mcp.server import MCPServer
    server = MCPServer("shop")
    @server.tool()
    def order(item: str, count: int) -> str:
        "Places an order."
        return f"ordered {count} of {item}"
    server.run()
    """
    agent = """
    import anyio
    from mcp import ClientSession, StdioServerParameters
    from mcp.client.stdio import stdio_client
    async def main():
        server = json.loads(Path(mcp_config).read_text())["mcpServers"]["environment"]
        async with stdio_client(StdioServerParameters(**server)) as streams, ClientSession(*streams) as session:
            await session.initialize()
            names = [tool.name for tool in (await session.list_tools()).tools]
            result = await session.call_tool(names[0], {"item": "nut", "count": 3})
            assert result.content[0].text == "ordered 3 of nut"
    anyio.run(main)
    """
    outcome = await run(bench, agent, world=world)
    tools = [(step.tool, step.command) for step in outcome.steps if step.tool != "mcp"]
    assert tools == [("order", '{"item":"nut","count":3}')]
    assert outcome.steps[-1].observation == "ordered 3 of nut"
    assert [step.command for step in outcome.steps][:2] == ["initialize", "tools/list"]


def test_the_bridge_says_when_there_is_no_environment(tmp_path: Path, python: str) -> None:
    result = subprocess.run(
        [python, "-P", "-m", "agentforge.worker.bridge", str(tmp_path / "none")],
        capture_output=True,
        check=False,
    )
    assert result.returncode == 1
    assert b"no environment at" in result.stderr
