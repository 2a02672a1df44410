"""Recorded attempts as documents of the Agent Trajectory Interchange Format.

The format: https://github.com/harbor-framework/harbor/blob/main/rfcs/0001-trajectory-format.md
"""

import json
from typing import Final

from streaming.recorded import Call, Exchange, Reason, Row, SkippedError, json_text, steps
from streaming.tools import Tools

SCHEMA_VERSION: Final = "ATIF-v1.7"


def atif_line(row: Row) -> str:
    """A line of a row of `exports.atif`. Raises SkippedError."""
    facts, version, attempt, execution, agent, configuration, task = (row.value() for _ in range(7))
    if type(task) is not str:
        raise SkippedError(Reason.NO_TASK)
    own = json.loads(f"{{{facts}}}")
    turns = [f'{{"step_id":1,"source":"user","message":{json_text(task)}}}']
    tools = Tools()
    for one in steps(row.values()):
        if isinstance(one, Exchange):
            _learn(tools, one)
        turns.append(_turn(one))
    defined = f',"tool_definitions":{tools}' if tools.by_name else ""
    known = {"environmentVersionId": version, "attempt": int(*attempt), "execution": int(*execution)}
    return (
        f'{{"schemaVersion":1,"privacyClass":"PRIVATE","format":"atif",{facts},"trajectory":'
        f'{{"schema_version":"{SCHEMA_VERSION}","session_id":"{own["evaluationRunId"]}",'
        f'"trajectory_id":"{own["rolloutId"]}",'
        f'"agent":{{"name":{json_text(agent)},"version":"{configuration}"{defined}}},'
        f'"steps":[{",".join(turns)}],"extra":{json_text({"agentforge": known})}}}}}'
    )


def _learn(tools: Tools, one: Exchange) -> None:
    # The definitions are an addition here: the answer itself is an observation.
    try:
        tools.learn(one)
    except SkippedError:
        tools.by_name.clear()


def _turn(one: Call | Exchange) -> str:
    """One step with its observation; what is no call of a tool is one of `mcp`, with the recorded command."""
    tool, arguments = (
        (one.tool, one.arguments) if isinstance(one, Call) else ("mcp", json_text({"command": one.command}))
    )
    known = {"protocol": True} if isinstance(one, Exchange) else {}
    if one.is_cut:
        known["truncated"] = True
    extra = f',"extra":{json_text({"agentforge": known})}' if known else ""
    name = f'"step-{one.number}"'
    return (
        f'{{"step_id":{one.number + 1},"source":"agent","message":"",'
        f'"tool_calls":[{{"tool_call_id":{name},"function_name":{json_text(tool)},"arguments":{arguments}}}],'
        f'"observation":{{"results":[{{"source_call_id":{name},"content":{json_text(one.observation)}}}]}}{extra}}}'
    )
