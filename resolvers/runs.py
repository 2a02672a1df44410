"""Evaluation runs: paging, and starting, resetting and cancelling them."""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from db import configurations, jobs, runs, trials, versions
from db.configurations import EvaluatorConfiguration
from db.errors import ConflictError, InvalidInputError, NotFoundError
from db.query import Query
from db.runs import RUN_ENDED, EvaluationRun, ResetMode, RunStatus, RunTrigger
from db.tenant import Tenant, Transaction
from db.trials import TrialStatus
from resolvers.ids import parse_id
from resolvers.loaders import RUN_COUNT_OF_VERSION, RUNS_OF_VERSION
from resolvers.pages import Listing, newest_first
from resolvers.pass_at_k import encode, no_estimate

PAGES: dict[str, Query[EvaluationRun]] = {"newest": runs.PAGE_NEWEST, "oldest": runs.PAGE_OLDEST}

#: Seeds that the service draws itself stay exact in every JSON reader; given ones may be any 64-bit integer.
DRAWN_SEED_BITS = 53
DEFAULT_SEED = 0


@dataclass(frozen=True, slots=True)
class RunFilter:
    """What must hold of a run; None asks nothing."""

    environment_version_id: UUID | None = None
    evaluator_configuration_id: UUID | None = None
    status: tuple[str, ...] | None = None
    trigger: str | None = None
    created_after: datetime | None = None
    created_before: datetime | None = None

    def arguments(self) -> tuple[object, ...]:
        return (
            self.environment_version_id,
            self.evaluator_configuration_id,
            self.status,
            self.trigger,
            self.created_after,
            self.created_before,
        )


def in_order(run_filter: RunFilter, order: str, first: int | None, after: str | None) -> Listing[EvaluationRun]:
    return newest_first(f"runs {order}", PAGES[order], runs.COUNT, run_filter.arguments(), first, after)


def of_version(run_filter: RunFilter, first: int | None, after: str | None) -> Listing[EvaluationRun]:
    return newest_first("runs newest", RUNS_OF_VERSION, RUN_COUNT_OF_VERSION, run_filter.arguments(), first, after)


async def _version_id(transaction: Transaction, text: str) -> UUID:
    key = parse_id(text)
    if key is None or not await transaction.fetch(versions.BY_IDS, [key]):
        raise NotFoundError("There is no such environment version.")
    return key


async def _configuration(transaction: Transaction, key: UUID | None) -> EvaluatorConfiguration:
    found: Sequence[EvaluatorConfiguration] = await transaction.fetch(configurations.BY_IDS, [key]) if key else ()
    if not found:
        raise NotFoundError("There is no such evaluator configuration.")
    return found[0]


async def _enqueue(
    transaction: Transaction,
    organization_id: UUID,
    version_id: UUID,
    configuration: EvaluatorConfiguration,
    trigger: RunTrigger,
    reset_mode: ResetMode | None,
    seed: int,
) -> EvaluationRun:
    run = await transaction.fetch_one(
        runs.CREATE, version_id, configuration.id, trigger, reset_mode, seed, configuration.attempt_count
    )
    assert run is not None
    await transaction.fetch(trials.CREATE, run.id, version_id, seed, configuration.attempt_count)
    job_id = await jobs.enqueue(transaction, jobs.RunJob(organization_id, run.id), configuration.attempt_count)
    enqueued = await transaction.fetch_one(runs.SET_JOB, run.id, job_id)
    assert enqueued is not None
    return enqueued


async def start(
    tenant: Tenant, environment_version_id: str, evaluator_configuration_id: str, seed: int | None
) -> EvaluationRun:
    """A new run with one queued trial for each attempt, and its job. Without a seed the world is that of seed 0.

    Raises NotFoundError for an unknown version or configuration.
    """
    async with tenant.transaction() as transaction:
        version_id = await _version_id(transaction, environment_version_id)
        configuration = await _configuration(transaction, parse_id(evaluator_configuration_id))
        return await _enqueue(
            transaction,
            tenant.organization_id,
            version_id,
            configuration,
            RunTrigger.EVALUATION,
            None,
            DEFAULT_SEED if seed is None else seed,
        )


def _draw_other_seed(seed: int) -> int:
    while (drawn := secrets.randbits(DRAWN_SEED_BITS)) == seed:
        pass
    return drawn


async def reset(
    tenant: Tenant, environment_version_id: str, mode: ResetMode, evaluator_configuration_id: str | None
) -> EvaluationRun:
    """A new run on the same version: the world of its newest run (`new_workspace`) or another one (`new_world`).

    Earlier runs stay as they are. Raises NotFoundError for an unknown version or configuration, InvalidInputError
    when no configuration is given and the version has no run to take one from.
    """
    async with tenant.transaction() as transaction:
        version_id = await _version_id(transaction, environment_version_id)
        newest = await transaction.fetch_one(runs.NEWEST_OF_VERSION, version_id)
        if evaluator_configuration_id is not None:
            key = parse_id(evaluator_configuration_id)
        elif newest is not None:
            key = newest.evaluator_configuration_id
        else:
            raise InvalidInputError(
                "The version has no run to take the configuration from; name one.",
                ["evaluatorConfigurationId"],
            )
        configuration = await _configuration(transaction, key)
        seed = newest.seed if newest else DEFAULT_SEED
        return await _enqueue(
            transaction,
            tenant.organization_id,
            version_id,
            configuration,
            RunTrigger.RESET,
            mode,
            seed if mode is ResetMode.NEW_WORKSPACE else _draw_other_seed(seed),
        )


async def locked(transaction: Transaction, evaluation_run_id: str) -> EvaluationRun:
    """The run, which nobody else ends or opens again until the transaction ends. Raises NotFoundError."""
    key = parse_id(evaluation_run_id)
    found = await transaction.fetch(runs.LOCK, key) if key else []
    if not found:
        raise NotFoundError("There is no such evaluation run.")
    return found[0]


async def cancel(tenant: Tenant, evaluation_run_id: str) -> EvaluationRun:
    """Stops a run: trials that have ended stay, the others end as cancelled, the workers of its jobs are told.

    Raises NotFoundError for an unknown run, ConflictError for one that has ended.
    """
    async with tenant.transaction() as transaction:
        run = await locked(transaction, evaluation_run_id)
        if run.status in RUN_ENDED:
            raise ConflictError(f"The run has ended already: {run.status}.")
        stopped = await transaction.fetch(trials.END_OPEN, run.id, TrialStatus.CANCELLED, None, None)
        ended = await transaction.fetch_one(
            runs.FINISH, run.id, RunStatus.CANCELLED, encode(no_estimate(run.attempt_count)), None, None
        )
        if job_ids := {job_id for trial in stopped if (job_id := trial.job_id or run.job_id)}:
            unbegun = sum(trial.execution == 0 for trial in stopped)
            await jobs.cancel(transaction, tenant.organization_id, unbegun, *job_ids)
    assert ended is not None
    return ended
