"""A world of a few tools, on plain standard input and output."""

import json
import os
import sys
from typing import Any


def text(value: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": value}]}


def call(name: str, arguments: dict[str, Any]) -> Any:
    match name:
        case "echo":
            return text(arguments["text"])
        case "environment":
            return text(json.dumps(dict(os.environ)))
        case "picture":
            return {"content": [{"type": "text", "text": "a"}, {"type": "image", "data": "AA=="}]}
        case "exit":
            sys.exit(arguments["code"])
        case "write":
            print(arguments["line"], flush=True)
        case "flood":
            sys.stdout.write("x" * arguments["size"])
            sys.stdout.flush()
        case "log":
            print(arguments["line"], file=sys.stderr, flush=True)
    return {"content": []}


for line in sys.stdin:
    message = json.loads(line)
    if message.get("method") == "ignored" or "id" not in message or "method" not in message:
        continue
    reply: dict[str, Any] = {"jsonrpc": "2.0", "id": message["id"]}
    if message["method"] == "tools/call":
        reply["result"] = call(message["params"]["name"], message["params"]["arguments"])
    elif message["method"] == "initialize":
        reply["result"] = {"protocolVersion": "2025-06-18", "capabilities": {}}
    else:
        reply["error"] = {"code": -32601, "message": "Method not found"}
    print(json.dumps(reply), flush=True)
