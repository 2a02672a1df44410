"""One job: attempts of one run, each claimed, executed and stored, then the run's end if they were the last."""

import asyncio
import tempfile
import uuid
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

import structlog
from pgqueuer.domain.errors import RetryRequested
from pgqueuer.domain.models import Context, Job

from agentforge.worker import records
from agentforge.worker.attempt import Attempt, Outcome, execute
from agentforge.worker.guards import Guards
from agentforge.worker.metrics import Execution, Metrics
from agentforge.worker.places import Places
from agentforge.worker.plan import CannotRunError, Plan, start_run
from agentforge.worker.progress import keep_steps
from agentforge.worker.records import SupersededError
from agentforge.worker.removal import remove_folder
from agentforge.worker.sandbox import Sandbox
from agentforge.worker.signals import cancelled, set_when
from db.jobs import RunJob
from db.patience import Patience
from db.tenant import Pool, Tenant
from db.trials import TRIAL_OPEN, EvaluationTrial
from resolvers.secret_keys import SecretKeys

log = structlog.get_logger()

MOST_TRIES = 5
RETRY_DELAY = timedelta(seconds=2)


@dataclass(slots=True)
class Executor:
    """Executes jobs in this process, at most `concurrency` attempts at a time over all of them.

    `directory` takes the folders of attempts, `bundles` the environments of all workers.
    `worker` names this process in what it writes. `stopping` is set when no further attempt is to begin, and
    `handing_back` when those under way are to be given back to the queue.
    """

    pool: Pool
    directory: Path
    bundles: Path
    concurrency: int
    worker: str
    stopping: asyncio.Event = field(default_factory=asyncio.Event)
    handing_back: asyncio.Event = field(default_factory=asyncio.Event)
    keys: SecretKeys = field(default_factory=lambda: SecretKeys([]))
    sandbox: Sandbox | None = None
    guards: Guards | None = None
    metrics: Metrics = field(default_factory=Metrics)
    patiently: Patience = field(init=False)
    places: Places = field(init=False)

    def __post_init__(self) -> None:
        self.patiently = Patience(self.handing_back)
        self.places = Places(self.concurrency)

    async def __call__(self, job: Job, context: Context) -> None:
        """PgQueuer's entry point. Raises RetryRequested when the job is to be taken up again."""
        try:
            run_job = RunJob.decode(job.payload)
        except ValueError:
            log.error("job_unreadable", job_id=job.id)
            return
        tenant = Tenant(self.pool, run_job.organization_id)
        with structlog.contextvars.bound_contextvars(
            organization_id=str(run_job.organization_id), evaluation_run_id=str(run_job.evaluation_run_id)
        ):
            try:
                await self._run(tenant, run_job, job, context)
            except* SupersededError:
                # Whoever holds the lease takes it up again; without the lease, or for a cancelled run, this is nothing.
                log.info("run_superseded")
                raise RetryRequested(RETRY_DELAY, reason="superseded") from None
            except* CannotRunError as errors:
                detail = str(errors.exceptions[0])[:500]
                await self.patiently(lambda: records.fail_run(tenant, run_job.evaluation_run_id, job.id, detail))
            except* (RetryRequested, asyncio.CancelledError):
                raise
            except* Exception as errors:
                await self._retry(tenant, run_job, job, errors)
            finally:
                self.places.forget(job.id)

    async def _retry(self, tenant: Tenant, run_job: RunJob, job: Job, error: Exception) -> None:
        error_id = uuid.uuid4().hex
        log.error("run_failed", error_id=error_id, tries=job.attempts + 1, exc_info=error)
        detail = f"unexpected error, logged as {error_id}"
        if job.attempts + 1 < MOST_TRIES:
            raise RetryRequested(RETRY_DELAY, reason=detail)
        await self.patiently(lambda: records.fail_run(tenant, run_job.evaluation_run_id, job.id, detail))

    async def _run(self, tenant: Tenant, run_job: RunJob, job: Job, context: Context) -> None:
        run_id = run_job.evaluation_run_id
        plan = await start_run(tenant, run_id, job.id, self.bundles, self.keys, self.patiently)
        if plan is None:
            return
        waiting = [trial for trial in plan.trials if trial.status in TRIAL_OPEN]
        self.places.expect(job.id, len(waiting))
        log.info("run_started", attempts=len(waiting))
        stop = asyncio.Event()
        async with (
            set_when(stop, cancelled(context.cancellation), self.handing_back.wait()),
            asyncio.TaskGroup() as group,
        ):
            for trial in waiting:
                group.create_task(self._attempt(tenant, plan, trial, job, stop))
        if await self.patiently(lambda: records.complete_run(tenant, run_id)):
            log.info("run_ended")
            return
        # Its job stays in the queue for as long as a run is open, whatever keeps it so.
        if self.stopping.is_set():
            raise RetryRequested(timedelta(0), reason="the worker is stopping")
        raise RetryRequested(RETRY_DELAY, reason="attempts are left")

    async def _attempt(self, tenant: Tenant, plan: Plan, trial: EvaluationTrial, job: Job, stop: asyncio.Event) -> None:
        async with self.places.one(job.id):
            if stop.is_set() or self.stopping.is_set():
                return
            claimed = await self.patiently(lambda: records.claim(tenant, trial, self.worker))
            self.metrics.claimed(trial, claimed)
            if claimed is None:
                return
            with (
                structlog.contextvars.bound_contextvars(
                    evaluation_trial_id=str(claimed.id), attempt=claimed.attempt, execution=claimed.execution
                ),
                self.metrics.execution(claimed) as execution,
            ):
                await self._execute(tenant, plan, execution, stop)

    async def _execute(self, tenant: Tenant, plan: Plan, execution: Execution, stop: asyncio.Event) -> None:
        trial = execution.trial
        log.info("trial_started")
        try:
            outcome = await self._outcome(tenant, plan, execution, stop)
            execution.parts.enter("storing")
            if outcome.status == "cancelled" and self.handing_back.is_set():
                await records.release(tenant, trial)
                execution.handed_back()
                return
            await self.patiently(lambda: records.finish(tenant, trial, outcome))
            execution.stored(outcome)
        except BaseException:
            # This worker lives: another's error, or its own, is no lost execution of this trial.
            with suppress(Exception):
                await asyncio.shield(records.release(tenant, trial))
            raise
        log.info("trial_ended", status=outcome.status, reward=outcome.reward, failure_category=outcome.failure_category)

    async def _outcome(self, tenant: Tenant, plan: Plan, execution: Execution, stop: asyncio.Event) -> Outcome:
        trial = execution.trial
        directory = Path(tempfile.mkdtemp(prefix="attempt-", dir=self.directory))
        attempt = Attempt(
            manifest=plan.manifest,
            agent_command=plan.agent_command,
            seed=trial.seed,
            attempt=trial.attempt,
            bundle=plan.bundle,
            directory=directory,
            secrets=plan.secrets,
            sandbox=self.sandbox,
            guards=self.guards,
            parts=execution.parts,
        )
        try:
            # Once another has begun this execution counts for nothing: it ends as if it had been cancelled. It alone:
            # the other attempts of the run may still be this worker's.
            stopped = asyncio.Event()
            async with set_when(stopped, stop.wait(), keep_steps(tenant, trial, attempt.steps)):
                return await execute(attempt, stopped)
        finally:
            if left := await asyncio.to_thread(remove_folder, directory):
                log.warning("folder_left", directory=str(directory), error=str(left))
