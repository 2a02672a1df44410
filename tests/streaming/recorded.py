"""Attempts as a worker records them: the protocol's requests first, then calls of tools."""

import json
from typing import Any
from uuid import uuid4

from db import artifacts, atif_verdicts, rollouts, trials
from db.tenant import Tenant
from tests.factory import Attempt, create_run, create_version, step

SCHEMA = {"type": "object", "properties": {"sku": {"type": "string"}, "count": {"type": "integer", "minimum": 0.5}}}
TOOL = {"name": "order", "description": "Places an order.", "inputSchema": SCHEMA}
FUNCTION = {"type": "function", "function": {"name": "order", "description": "Places an order.", "parameters": SCHEMA}}
LISTED = json.dumps({"tools": [TOOL, {"name": "look", "inputSchema": {"type": "object"}}]})
FUNCTIONS = [FUNCTION, {"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}]
CUT = "a\n[... 12345 bytes cut ...]\nb"


def recorded(*calls: tuple[str, str, str], listed: str = LISTED) -> list[dict[str, Any]]:
    """Steps 1 and 2 are `initialize` and `tools/list`; each call is tool, arguments and observation."""
    said = [("mcp", "initialize", '{"protocolVersion":"2025-06-18"}'), ("mcp", "tools/list", listed), *calls]
    return [step(number, *one) for number, one in enumerate(said, 1)]


def attempt(reward: float | None, *calls: tuple[str, str, str], listed: str = LISTED) -> Attempt:
    return Attempt(reward, "completed" if reward is not None else "errored", steps=recorded(*calls, listed=listed))


async def rollouts_of(tenant: Tenant, *attempts: Attempt, **changes: Any) -> list[str]:
    """The ids of the rollouts of a new run on a version of its own, in the order of the attempts."""
    _, made = await create_run(tenant, await create_version(tenant, f"shop-{uuid4()}", **changes), list(attempts))
    found = {
        row.evaluation_trial_id: str(row.id) for row in await tenant.fetch(rollouts.BY_TRIALS, [t.id for t in made])
    }
    return [found[trial.id] for trial in made]


async def leave_document(tenant: Tenant, content: bytes, *, valid: bool = True, is_json: bool = True) -> str:
    """A rollout whose agent left a trajectory of its own; its id."""
    _, (waiting,) = await create_run(
        tenant, await create_version(tenant, f"shop-{uuid4()}"), [Attempt(status="queued")], status="running"
    )
    async with tenant.transaction() as transaction:
        (trial,) = await transaction.fetch(trials.CLAIM, waiting.id, 0, "worker", None)
        steps = json.dumps(recorded(("order", "{}", "done")))
        (artifact,) = await transaction.fetch(artifacts.CREATE, trial.id, 1, "name", '""', steps, 3, content)
        await transaction.fetch(atif_verdicts.CREATE, artifact.id, valid, "ATIF-v1.7", [] if valid else ["no"], is_json)
        await transaction.fetch(trials.FINISH, trial.id, 1, "completed", 0.5, None, None, "[]", None, artifact.id, 0)
        (rollout,) = await transaction.fetch(rollouts.CREATE, trial.id)
    return str(rollout.id)
