"""A tiny MCP client for the tests' agents: speaks through the bridge that its mcp.json names."""

import json
import subprocess
from pathlib import Path
from typing import Any


class Client:
    """A connection to the environment; each message is one line."""

    def __init__(self, mcp_config: str) -> None:
        server = json.loads(Path(mcp_config).read_text())["mcpServers"]["environment"]
        command = [server["command"], *server["args"]]
        self.bridge = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._identity = 0

    def send(self, line: bytes) -> None:
        assert self.bridge.stdin
        self.bridge.stdin.write(line)
        self.bridge.stdin.flush()

    def receive(self) -> bytes:
        assert self.bridge.stdout
        return self.bridge.stdout.readline()

    def ask(self, method: str, params: dict[str, Any]) -> Any:
        self._identity += 1
        message = {"jsonrpc": "2.0", "id": self._identity, "method": method, "params": params}
        self.send(json.dumps(message).encode() + b"\n")
        return json.loads(self.receive())

    def call(self, tool: str, **arguments: Any) -> Any:
        return self.ask("tools/call", {"name": tool, "arguments": arguments})

    def close(self) -> None:
        assert self.bridge.stdin
        self.bridge.stdin.close()
        self.bridge.wait()
