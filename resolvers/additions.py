"""Adding to a run that is there: further attempts, and unscored ones again. No result is overwritten."""

from db import jobs, rollouts, runs, trials
from db.errors import ConflictError, InvalidInputError
from db.runs import RUN_ENDED, EvaluationRun, RunStatus, RunTrigger
from db.tenant import Tenant, Transaction
from resolvers.configurations import MOST_ATTEMPTS
from resolvers.runs import locked


async def add_attempts(tenant: Tenant, evaluation_run_id: str, count: int) -> EvaluationRun:
    """`count` further attempts, queued in the run's own world with a job of their own; a completed run is open again.

    Raises NotFoundError for an unknown run, ConflictError for one that was cancelled, failed or imported, and
    InvalidInputError for fewer than 1 or more than it has room for.
    """
    async with tenant.transaction() as transaction:
        run = await locked(transaction, evaluation_run_id)
        _check_executed_here(run)
        if run.status in (RunStatus.CANCELLED, RunStatus.FAILED):
            # What it never carried out would count as not passed.
            raise ConflictError(f"The run is {run.status}; rerun its unscored attempts first.")
        _check_room(run, count)
        first, last = run.attempt_count + 1, run.attempt_count + count
        job_id = await jobs.enqueue(transaction, jobs.RunJob(tenant.organization_id, run.id), count)
        await transaction.fetch(trials.ADD, run.id, run.environment_version_id, run.seed, first, last, job_id)
        return await _reopen(transaction, run, count)


async def rerun_unscored(tenant: Tenant, evaluation_run_id: str) -> EvaluationRun:
    """Queues every attempt of an ended run that has no score again, as a further execution; the run is open again.

    What they came to stays in their executions, and their rollouts are superseded. Raises NotFoundError for an unknown
    run, ConflictError for one that has not ended, was imported, or has no unscored attempt.
    """
    async with tenant.transaction() as transaction:
        run = await locked(transaction, evaluation_run_id)
        _check_executed_here(run)
        if run.status not in RUN_ENDED:
            raise ConflictError(f"The run has not ended: {run.status}.")
        attempts = await transaction.fetch(trials.BY_RUNS, [run.id])
        unscored = [trial.id for trial in attempts if trial.reward is None]
        if not unscored:
            raise ConflictError(f"Every one of the run's {len(attempts)} attempts has a score; none is to be rerun.")
        job_id = await jobs.enqueue(transaction, jobs.RunJob(tenant.organization_id, run.id), len(unscored))
        await transaction.fetch(trials.RERUN, run.id, job_id)
        await transaction.fetch(rollouts.SUPERSEDE, unscored)
        return await _reopen(transaction, run, 0)


def _check_executed_here(run: EvaluationRun) -> None:
    if run.trigger == RunTrigger.IMPORT:
        raise ConflictError("The run was imported; what was executed elsewhere is not continued here.")


def _check_room(run: EvaluationRun, count: int) -> None:
    room = MOST_ATTEMPTS - run.attempt_count
    if not 1 <= count <= room:
        may = "none" if room == 0 else "1" if room == 1 else f"1 to {room}"
        raise InvalidInputError(
            f"count is {count}; the run has {run.attempt_count} of at most {MOST_ATTEMPTS} attempts, "
            f"so {may} may be added.",
            ["count"],
        )


async def _reopen(transaction: Transaction, run: EvaluationRun, added: int) -> EvaluationRun:
    opened = await transaction.fetch_one(runs.REOPEN, run.id, added)
    assert opened is not None
    return opened
