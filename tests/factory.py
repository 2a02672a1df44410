"""Makes rows for tests through the service's own statements, as the service's own role."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import asyncpg

from db import (
    accounts,
    artifact_files,
    artifacts,
    atif_verdicts,
    configurations,
    environments,
    rollouts,
    runs,
    trials,
    versions,
)
from db.runs import EvaluationRun
from db.tenant import Tenant, Transaction, fetch_before_organization
from db.trials import EvaluationTrial
from db.versions import EnvironmentVersion

MANIFEST: dict[str, Any] = {
    "task": "Restock SKU-9",
    "world": {"command": ["{python}", "-m", "shop"]},
    "evaluator": {"command": ["{python}", "-m", "shop.evaluate"]},
    "stages": ["stage_inventory", "stage_checkout"],
}


@dataclass(frozen=True)
class Attempt:
    """What one attempt came to."""

    reward: float | None = None
    status: str = "completed"
    category: str | None = None
    stages: dict[str, float] = field(default_factory=dict)
    steps: Sequence[dict[str, Any]] = ()
    log: str = "log"
    agent_trajectory: bytes | None = None


def step(number: int, tool: str = "mcp", command: str = "initialize", observation: str = "{}") -> dict[str, Any]:
    return {"step": number, "tool": tool, "command": command, "observation": observation}


#: What `leave_files` leaves: path, size, content and why it was left out.
LEFT: tuple[tuple[str, int, bytes | None, str | None], ...] = (
    ("out/caf\udce9 \u202egpj.exe", 4, b"\xff\0\r\n", None),
    ("out/large", 2**40, None, "more than 16777216 bytes"),
)


async def leave_files(
    transaction: Transaction, artifact_id: UUID, errors: Sequence[str] = (), *, is_json: bool = True
) -> list[UUID]:
    """The verdict on a trajectory of an agent's own, and files beside it; returns the ids of these."""
    version = "ATIF-v1.7" if is_json else None
    await transaction.fetch(atif_verdicts.CREATE, artifact_id, not errors, version, list(errors), is_json)
    paths, sizes, contents, reasons = zip(*LEFT, strict=True)
    made = await transaction.fetch(
        artifact_files.CREATE, artifact_id, list(map(json.dumps, paths)), sizes, contents, reasons
    )
    return [row.id for row in made]


async def create_organization(pool: "asyncpg.Pool[asyncpg.Record]", slug: str) -> Tenant:
    (new,) = await fetch_before_organization(pool, accounts.NEW_ORGANIZATION_ID)
    assert new.organization_id is not None
    tenant = Tenant(pool, new.organization_id)
    async with tenant.transaction() as transaction:
        assert await transaction.fetch_one(accounts.CREATE_ORGANIZATION, slug, slug.title())
    return tenant


async def create_version(tenant: Tenant, slug: str = "admin-console", **changes: Any) -> EnvironmentVersion:
    """The next version of the environment named `slug`, which is made when new."""
    manifest = json.dumps(MANIFEST | changes)
    digest = hashlib.sha256(manifest.encode()).hexdigest()
    async with tenant.transaction() as transaction:
        environment = await transaction.fetch_one(environments.CREATE, slug, slug)
        if environment is None:
            environment = await transaction.fetch_one(environments.BY_SLUGS, [slug])
        assert environment is not None
        version = await transaction.fetch_one(versions.PUBLISH, environment.id, digest, manifest, None)
    assert version is not None
    return version


async def create_configuration(tenant: Tenant, name: str = "scripted", attempts: int = 8) -> UUID:
    async with tenant.transaction() as transaction:
        row = await transaction.fetch_one(configurations.CREATE, name, attempts, ["agent"], [])
        if row is None:
            row = await transaction.fetch_one(configurations.BY_NAME, name)
    assert row is not None
    return row.id


async def create_run(
    tenant: Tenant,
    version: EnvironmentVersion,
    attempts: Sequence[Attempt],
    *,
    seed: int = 0,
    status: str = "completed",
) -> tuple[EvaluationRun, list[EvaluationTrial]]:
    """A run with the given attempts; ended, unless `status` is queued or running."""
    configuration_id = await create_configuration(tenant)
    async with tenant.transaction() as transaction:
        run = await transaction.fetch_one(
            runs.CREATE, version.id, configuration_id, "evaluation", None, seed, len(attempts)
        )
        assert run is not None
        created = await transaction.fetch(trials.CREATE, run.id, version.id, seed, len(attempts))
        ended = [
            await _finish(transaction, trial, attempt) if attempt.status != "queued" else trial
            for trial, attempt in zip(created, attempts, strict=True)
        ]
        if status == "completed":
            passed = sum(attempt.reward == 1 for attempt in attempts)
            estimates = [{"k": 1, "estimate": passed / len(attempts), "passHatK": passed / len(attempts)}]
            run = await transaction.fetch_one(runs.FINISH, run.id, status, json.dumps(estimates), 0, None)
        elif status == "running":
            run = await transaction.fetch_one(runs.START, run.id)
    assert run is not None
    return run, ended


async def _finish(transaction: Any, trial: EvaluationTrial, attempt: Attempt) -> EvaluationTrial:
    claimed = await transaction.fetch_one(trials.CLAIM, trial.id, trial.execution, "worker", None)
    artifact = await transaction.fetch_one(
        artifacts.CREATE,
        trial.id,
        claimed.execution,
        f"trial-{trial.attempt}-trajectory.json",
        json.dumps(attempt.log),
        json.dumps(list(attempt.steps), separators=(",", ":")),
        len(attempt.steps),
        attempt.agent_trajectory,
    )
    finished: EvaluationTrial | None = await transaction.fetch_one(
        trials.FINISH,
        trial.id,
        claimed.execution,
        attempt.status,
        attempt.reward,
        attempt.category,
        None,
        json.dumps([{"name": name, "value": value} for name, value in attempt.stages.items()]),
        None,
        artifact.id,
        0,
    )
    assert finished is not None
    await transaction.fetch_one(rollouts.CREATE, trial.id)
    return finished
