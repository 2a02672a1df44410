"""A database wide enough to ask about: several versions, runs of every kind, trials of every status."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any
from uuid import UUID

from db import accounts, artifacts, configurations, environments, executions, rollouts, runs, trials
from db.accounts import Token
from db.configurations import EvaluatorConfiguration
from db.environments import Environment
from db.members import Member
from db.rollouts import Rollout
from db.runs import RUN_ENDED, EvaluationRun
from db.tenant import Tenant, Transaction
from db.trials import EvaluationTrial
from db.versions import EnvironmentVersion
from resolvers.accounts import create_token
from resolvers.members import add_member
from resolvers.pass_at_k import encode, pass_at_k
from tests.factory import Attempt, create_version, leave_files, step


@dataclass(frozen=True)
class Outcome(Attempt):
    """An attempt with what the factory's own leaves out."""

    detail: str | None = None
    metrics: dict[str, Any] | None = None
    atif_errors: Sequence[str] | None = None
    is_json: bool = True
    file_ids: list[UUID] = field(default_factory=list)


@dataclass(frozen=True)
class Trial:
    row: EvaluationTrial
    outcome: Outcome
    rollout: Rollout | None


@dataclass(frozen=True)
class Run:
    row: EvaluationRun
    version: EnvironmentVersion
    configuration: EvaluatorConfiguration
    trials: list[Trial]


@dataclass(frozen=True)
class World:
    """Everything in the order in which it was made."""

    tenant: Tenant
    environments: list[Environment]
    versions: list[EnvironmentVersion]
    configurations: list[EvaluatorConfiguration]
    runs: list[Run] = field(default_factory=list)
    members: list[Member] = field(default_factory=list)
    tokens: list[Token] = field(default_factory=list)

    @property
    def trials(self) -> list[Trial]:
        return [trial for run in self.runs for trial in run.trials]

    @property
    def rollouts(self) -> list[Rollout]:
        return [trial.rollout for trial in self.trials if trial.rollout is not None]

    def ids(self) -> dict[str, UUID]:
        """One id of each kind of node."""
        return {
            "Organization": self.tenant.organization_id,
            "Environment": self.environments[0].id,
            "EnvironmentVersion": self.versions[0].id,
            "EvaluatorConfiguration": self.configurations[0].id,
            "EvaluationRun": self.runs[0].row.id,
            "EvaluationTrial": self.trials[0].row.id,
            "Rollout": self.rollouts[0].id,
        }


#: Of an agent's own: with what JSON readers lose.
TRAJECTORY = b"""{"schema_version": "ATIF-v1.7", "agent": {"name": "a", "version": "1"}, "steps": [],\r
"extra": {"n": 1e999, "n": 9007199254740993, "text": "\\u0000\\ud800\xe2\x80\xa8", "pi": 3.14000}}
"""

FIRST_RUN = [
    Outcome(
        1.0,
        stages={"stage_inventory": 1, "stage_checkout": 1},
        steps=[
            step(1),
            step(2, "order", '{"sku":"SKU-9"}', "ok"),
            step(3, "mcp", "tools/list", "naïve \u2028 \x1b[0m"),
        ],
        log="started\nended",
        metrics={"stage_inventory": 1, "stage_checkout": 1, "tokens": 2**70, "nested": {"é": [0.1, None]}},
        agent_trajectory=TRAJECTORY,
        atif_errors=(),
    ),
    Outcome(0.30000000000000004, "completed", "checkout_incomplete", {"stage_inventory": 0.5, "stage_checkout": 0}),
    Outcome(0.0, "completed", "checkout_incomplete", {"stage_inventory": 0}, steps=[step(1)]),
    Outcome(None, "errored", "agent_crashed", detail="exit status 1"),
    Outcome(0.25, "timed_out", "agent_timeout", {"stage_inventory": 0.25}),
    Outcome(None, "cancelled"),
    Outcome(None, "interrupted", "worker_lost", detail="three workers were lost"),
]


async def _finish(transaction: Transaction, trial: EvaluationTrial, outcome: Outcome) -> None:
    if outcome.status == "queued":
        return
    claimed = await transaction.fetch_one(trials.CLAIM, trial.id, trial.execution, "worker", None)
    assert claimed is not None
    if outcome.status == "running":
        for position, shown in enumerate(outcome.steps, 1):
            recorded = json.dumps([shown])
            assert await transaction.fetch_one(executions.RECORD, trial.id, claimed.execution, position, 1, recorded)
        return
    steps = json.dumps(list(outcome.steps), separators=(",", ":"))
    artifact = await transaction.fetch_one(
        artifacts.CREATE,
        trial.id,
        claimed.execution,
        f"trial-{trial.attempt}-trajectory.json",
        json.dumps(outcome.log),
        steps,
        len(outcome.steps),
        outcome.agent_trajectory,
    )
    assert artifact is not None
    if outcome.atif_errors is not None:
        outcome.file_ids[:] = await leave_files(transaction, artifact.id, outcome.atif_errors, is_json=outcome.is_json)
    stages = json.dumps([{"name": name, "value": value} for name, value in outcome.stages.items()])
    metrics = None if outcome.metrics is None else json.dumps(outcome.metrics)
    assert await transaction.fetch_one(
        trials.FINISH,
        trial.id,
        claimed.execution,
        outcome.status,
        outcome.reward,
        outcome.category,
        outcome.detail,
        stages,
        metrics,
        artifact.id,
        0,
    )
    await transaction.fetch_one(rollouts.CREATE, trial.id)


async def _set_status(transaction: Transaction, run_id: UUID, status: str, outcomes: Sequence[Outcome]) -> None:
    if status == "queued":
        return
    assert await transaction.fetch_one(runs.START, run_id)
    if status in RUN_ENDED:
        passed = sum(outcome.reward == 1 for outcome in outcomes)
        unscored = sum(outcome.reward is None for outcome in outcomes)
        estimates = encode(pass_at_k(len(outcomes), passed))
        detail = "no such program" if status == "failed" else None
        assert await transaction.fetch_one(runs.FINISH, run_id, status, estimates, unscored, detail)


async def add_run(
    world: World,
    version: EnvironmentVersion,
    configuration: EvaluatorConfiguration,
    outcomes: Sequence[Outcome],
    *,
    seed: int = 0,
    status: str = "completed",
    trigger: str = "evaluation",
    reset_mode: str | None = None,
) -> Run:
    """A run whose trials came to `outcomes`, all in one transaction."""
    async with world.tenant.transaction() as transaction:
        run = await transaction.fetch_one(
            runs.CREATE, version.id, configuration.id, trigger, reset_mode, seed, len(outcomes)
        )
        assert run is not None
        created = await transaction.fetch(trials.CREATE, run.id, version.id, seed, len(outcomes))
        for trial, outcome in zip(created, outcomes, strict=True):
            await _finish(transaction, trial, outcome)
        await _set_status(transaction, run.id, status, outcomes)
        (run,) = await transaction.fetch(runs.BY_IDS, [run.id])
        rows = await transaction.fetch(trials.BY_RUNS, [run.id])
        by_trial = {
            rollout.evaluation_trial_id: rollout
            for rollout in await transaction.fetch(rollouts.BY_TRIALS, [row.id for row in rows])
        }
    paired = zip(rows, outcomes, strict=True)
    made = Run(run, version, configuration, [Trial(row, outcome, by_trial.get(row.id)) for row, outcome in paired])
    world.runs.append(made)
    return made


async def create_configuration(tenant: Tenant, name: str, attempts: int) -> EvaluatorConfiguration:
    command = ["{python}", "agent.py", "{task}"]
    async with tenant.transaction() as transaction:
        row = await transaction.fetch_one(configurations.CREATE, name, attempts, command, [])
    assert row is not None
    return row


async def small_world(tenant: Tenant) -> World:
    """One environment with one version, and no run yet."""
    version = await create_version(tenant, "small")
    (environment,) = await tenant.fetch(environments.BY_SLUGS, ["small"])
    return World(tenant, [environment], [version], [await create_configuration(tenant, "scripted", 8)])


async def build_world(tenant: Tenant) -> World:
    """Two environments, four versions (the third without a run), runs and trials of every status."""
    versions = [
        await create_version(tenant, "admin-console"),
        await create_version(tenant, "admin-console", task="Restock SKU-7"),
        await create_version(tenant, "admin-console", task="Restock SKU-5"),
        await create_version(tenant, "mail"),
    ]
    named = {row.slug: row for row in await tenant.fetch(environments.BY_SLUGS, ["admin-console", "mail"])}
    scripted = await create_configuration(tenant, "scripted", 8)
    other = await create_configuration(tenant, "other", 2)
    world = World(tenant, [named["admin-console"], named["mail"]], versions, [scripted, other])
    slug = (await tenant.fetch(accounts.ORGANIZATIONS_BY_IDS, [tenant.organization_id]))[0].slug
    for name, role in (("olga", "owner"), ("mary", "member")):
        world.members.append(await add_member(tenant, f"{name}@{slug}.example", role))
        world.tokens.append((await create_token(tenant, f"{name} of {slug}", role, timedelta(days=1)))[0])
    await add_run(world, versions[0], scripted, FIRST_RUN, seed=-(2**63))
    await add_run(
        world,
        versions[0],
        other,
        [Outcome(1.0, stages={"stage_inventory": 1}), Outcome(0.0, "completed", "step_limit")],
        seed=2**53 + 1,
        trigger="reset",
        reset_mode="new_world",
    )
    await add_run(
        world,
        versions[1],
        scripted,
        [
            Outcome(1.0),
            Outcome(None, "running", steps=[step(1), step(2, "order", "{}", "\u2028")]),
            Outcome(None, "queued"),
        ],
        status="running",
    )
    await add_run(world, versions[1], other, [Outcome(None, "queued")], status="queued", seed=2**31)
    await add_run(world, versions[3], other, [Outcome(1.0)] * 2, trigger="import", seed=2**63 - 1)
    await add_run(world, versions[3], scripted, [Outcome(None, "errored", "environment_failed")], status="failed")
    await add_run(world, versions[3], scripted, [Outcome(None, "cancelled")], status="cancelled")
    return world
