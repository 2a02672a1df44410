"""What a worker writes: trials claimed and finished under their fencing token, and the end of a run.

A trial's `execution` number goes up with each start. A write that names an earlier one changes nothing: its worker
was taken for lost and another has begun.
"""

import json
from collections.abc import Sequence
from uuid import UUID

from agentforge.worker.attempt import Outcome
from agentforge.worker.steps import encode_steps
from db import artifact_files, artifacts, atif_verdicts, executions, rollouts, runs, trials
from db.runs import RUN_ENDED, EvaluationRun, RunStatus
from db.tenant import Tenant, Transaction
from db.trials import TRIAL_OPEN, EvaluationTrial, TrialStatus
from resolvers.pass_at_k import encode, no_estimate, pass_at_k

MOST_LOST_EXECUTIONS = 3


class SupersededError(RuntimeError):
    """Another worker has taken this trial over, or the run has ended; what was done here does not count."""


async def claim(tenant: Tenant, trial: EvaluationTrial, worker: str) -> EvaluationTrial | None:
    """The trial as this worker's own, its execution begun; None when it has ended, or ends here.

    It ends here when its last allowed execution was lost. Asked again, it tells of the execution that it has begun.
    Raises SupersededError when another worker has begun, or another job is to execute it.
    """
    async with tenant.transaction() as transaction:
        if trial.status == TrialStatus.RUNNING and trial.lost_executions + 1 >= MOST_LOST_EXECUTIONS:
            detail = f"{MOST_LOST_EXECUTIONS} executions were lost with their workers"
            if await transaction.fetch_one(trials.INTERRUPT, trial.id, trial.execution, detail) is None:
                raise SupersededError
            return None
        claimed = await transaction.fetch_one(trials.CLAIM, trial.id, trial.execution, worker, trial.job_id)
        return claimed or await _claimed_before(transaction, trial, worker)


async def _claimed_before(transaction: Transaction, trial: EvaluationTrial, worker: str) -> EvaluationTrial | None:
    now = await transaction.fetch(trials.BY_IDS, [trial.id])
    if now and now[0].status not in TRIAL_OPEN:
        return None
    begun = await transaction.fetch(executions.BY_TRIALS, [trial.id])
    if (
        begun
        and now[0].job_id == trial.job_id
        and (begun[-1].execution, begun[-1].worker) == (trial.execution + 1, worker)
    ):
        return now[0]
    raise SupersededError


async def release(tenant: Tenant, trial: EvaluationTrial) -> None:
    """Hand a claimed trial back unfinished."""
    async with tenant.transaction() as transaction:
        await transaction.fetch_one(trials.RELEASE, trial.id, trial.execution)


async def finish(tenant: Tenant, trial: EvaluationTrial, outcome: Outcome) -> None:
    """Trial, artifact and rollout in one transaction, or nothing. Raises SupersededError.

    Asked again, it leaves what this execution has stored. A trial that is cancelled was cancelled with its run: an
    execution that was ended for another reason says nothing of it.
    """
    async with tenant.transaction() as transaction:
        held = await transaction.fetch_one(trials.HOLD, trial.id, trial.execution)
        if held is None:
            raise SupersededError
        if held.status == TrialStatus.RUNNING and outcome.status != "cancelled":
            artifact_id = await _store_artifact(transaction, trial, outcome)
            await _finish_running(transaction, trial, outcome, artifact_id)
        elif held.status == TrialStatus.CANCELLED and held.trajectory_artifact_id is None:
            artifact_id = await _store_artifact(transaction, trial, outcome)
            await transaction.fetch_one(trials.ATTACH, trial.id, trial.execution, artifact_id, outcome.redactions)
        elif not await _has_stored(transaction, trial):
            raise SupersededError


async def _has_stored(transaction: Transaction, trial: EvaluationTrial) -> bool:
    begun = await transaction.fetch(executions.BY_TRIALS, [trial.id])
    return any(one.execution == trial.execution and one.trajectory_artifact_id for one in begun)


async def _store_artifact(transaction: Transaction, trial: EvaluationTrial, outcome: Outcome) -> UUID:
    (artifact,) = await transaction.fetch(
        artifacts.CREATE,
        trial.id,
        trial.execution,
        f"trial-{trial.attempt}-trajectory.json",
        json.dumps(outcome.log),
        encode_steps(outcome.steps),
        len(outcome.steps),
        outcome.agent_trajectory,
    )
    if verdict := outcome.atif:
        errors = list(verdict.errors)
        await transaction.fetch_one(
            atif_verdicts.CREATE, artifact.id, not errors, verdict.version, errors, verdict.is_json
        )
    if files := outcome.files:
        await transaction.fetch(
            artifact_files.CREATE,
            artifact.id,
            [json.dumps(file.path) for file in files],
            [file.byte_size for file in files],
            [file.content for file in files],
            [file.omitted for file in files],
        )
    return artifact.id


async def _finish_running(
    transaction: Transaction, trial: EvaluationTrial, outcome: Outcome, artifact_id: UUID
) -> None:
    await transaction.fetch_one(
        trials.FINISH,
        trial.id,
        trial.execution,
        outcome.status,
        outcome.reward,
        outcome.failure_category,
        outcome.failure_detail,
        json.dumps([{"name": name, "value": value} for name, value in outcome.stages], separators=(",", ":")),
        json.dumps(outcome.metrics),
        artifact_id,
        outcome.redactions,
    )
    await transaction.fetch_one(rollouts.CREATE, trial.id)


def of_job(run: EvaluationRun, attempts: Sequence[EvaluationTrial], job_id: int | None) -> list[EvaluationTrial]:
    """Those of a run's attempts that this job executes; what another one runs is that one's."""
    return [trial for trial in attempts if (trial.job_id or run.job_id) == job_id]


async def complete_run(tenant: Tenant, run_id: UUID) -> bool:
    """End a run whose attempts have all ended, with pass@k over all of them; otherwise leave it as it is.

    Returns whether it has ended, now or before.
    """
    async with tenant.transaction() as transaction:
        run = await transaction.fetch_one(runs.LOCK, run_id)
        attempts = await transaction.fetch(trials.BY_RUNS, [run_id])
        if run is None or run.status in RUN_ENDED:
            return True
        if any(trial.status in TRIAL_OPEN for trial in attempts):
            return False
        passed = sum(trial.reward == 1 for trial in attempts)
        unscored = sum(trial.reward is None for trial in attempts)
        estimates = encode(pass_at_k(len(attempts), passed))
        await transaction.fetch_one(runs.FINISH, run_id, RunStatus.COMPLETED, estimates, unscored, None)
    return True


async def fail_run(tenant: Tenant, run_id: UUID, job_id: int | None, detail: str) -> None:
    """End a run that cannot be carried out; attempts that had not ended are errored and unscored.

    Leaves the run as it is when it has ended, or when all attempts that have not are other jobs': then it was opened
    again since this job began.
    """
    async with tenant.transaction() as transaction:
        run = await transaction.fetch_one(runs.LOCK, run_id)
        if run is None or run.status in RUN_ENDED:
            return
        attempts = await transaction.fetch(trials.BY_RUNS, [run_id])
        waiting = [trial for trial in attempts if trial.status in TRIAL_OPEN]
        if waiting and not of_job(run, waiting, job_id):
            return
        await transaction.fetch(trials.END_OPEN, run_id, TrialStatus.ERRORED, "environment_failed", detail)
        estimates = encode(no_estimate(run.attempt_count))
        await transaction.fetch_one(runs.FINISH, run_id, RunStatus.FAILED, estimates, None, detail)
