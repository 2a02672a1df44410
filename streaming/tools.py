"""The tools of a world, from what it answered when it was asked for them."""

import json
from dataclasses import dataclass, field
from typing import Any

from streaming.recorded import Exchange, Reason, SkippedError, json_text


@dataclass(slots=True)
class Tools:
    """By name, each as the JSON text of a function's definition; of one name the last counts."""

    by_name: dict[str, str] = field(default_factory=dict)

    def learn(self, one: Exchange) -> None:
        """From a step, if it is an answer to `tools/list`. Raises SkippedError for one that was cut, or is none."""
        if one.command != "tools/list" or not one.observation:
            return
        try:
            answer = json.loads(one.observation)
            if "code" in answer and "tools" not in answer:  # an error, which lists nothing
                return
            for tool in answer["tools"]:
                self.by_name[tool["name"]] = json_text(_function(tool))
        except (ValueError, LookupError, TypeError, RecursionError) as error:
            raise SkippedError(Reason.TOOLS_UNREADABLE) from error

    def __str__(self) -> str:
        return f"[{','.join(self.by_name.values())}]"


def _function(tool: dict[str, Any]) -> dict[str, Any]:
    described = {"description": tool["description"]} if tool.get("description") else {}
    return {"type": "function", "function": {"name": tool["name"], **described, "parameters": tool["inputSchema"]}}
