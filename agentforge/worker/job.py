"""One job: the attempts of one run, each claimed, executed and stored, then the run's end."""

import asyncio
import shutil
import tempfile
import uuid
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

import anyio
import structlog
from pgqueuer.domain.errors import RetryRequested
from pgqueuer.domain.models import Context, Job

from agentforge.worker import records
from agentforge.worker.attempt import Attempt, Outcome, execute
from agentforge.worker.plan import CannotRunError, Plan, start_run
from agentforge.worker.records import SupersededError
from db.jobs import RunJob
from db.tenant import Pool, Tenant
from db.trials import TRIAL_OPEN, EvaluationTrial
from resolvers.secret_keys import SecretKeys

log = structlog.get_logger()

MOST_TRIES = 5
RETRY_DELAY = timedelta(seconds=2)


@dataclass(slots=True)
class Executor:
    """Executes jobs in this process, at most `concurrency` attempts at a time over all of them.

    `stopping` is set when the process is to end: what is under way is handed back to the queue.
    """

    pool: Pool
    directory: Path
    concurrency: int
    stopping: asyncio.Event = field(default_factory=asyncio.Event)
    keys: SecretKeys = field(default_factory=lambda: SecretKeys([]))
    places: asyncio.Semaphore = field(init=False)

    def __post_init__(self) -> None:
        self.places = asyncio.Semaphore(self.concurrency)

    async def __call__(self, job: Job, context: Context) -> None:
        """PgQueuer's entry point. Raises RetryRequested when the job is to be taken up again."""
        try:
            run_job = RunJob.decode(job.payload)
        except ValueError:
            log.error("job_unreadable", job_id=job.id)
            return
        tenant = Tenant(self.pool, run_job.organization_id)
        with structlog.contextvars.bound_contextvars(evaluation_run_id=str(run_job.evaluation_run_id)):
            try:
                await self._run(tenant, run_job, context)
            except* SupersededError:
                # Whoever holds the lease takes it up again; without the lease, or for a cancelled run, this is nothing.
                log.info("run_superseded")
                raise RetryRequested(RETRY_DELAY, reason="superseded") from None
            except* CannotRunError as errors:
                await records.fail_run(tenant, run_job.evaluation_run_id, str(errors.exceptions[0])[:500])
            except* (RetryRequested, asyncio.CancelledError):
                raise
            except* Exception as errors:
                await self._retry(tenant, run_job, job, errors)

    async def _retry(self, tenant: Tenant, run_job: RunJob, job: Job, error: Exception) -> None:
        error_id = uuid.uuid4().hex
        log.error("run_failed", error_id=error_id, tries=job.attempts + 1, exc_info=error)
        if job.attempts + 1 < MOST_TRIES:
            raise RetryRequested(RETRY_DELAY, reason=f"unexpected error, logged as {error_id}")
        await records.fail_run(tenant, run_job.evaluation_run_id, f"unexpected error, logged as {error_id}")

    async def _run(self, tenant: Tenant, run_job: RunJob, context: Context) -> None:
        plan = await start_run(tenant, run_job.evaluation_run_id, self.directory / "bundles", self.keys)
        if plan is None:
            return
        log.info("run_started", attempts=len(plan.trials))
        stop = asyncio.Event()
        watchers = [
            asyncio.create_task(_set_when_cancelled(stop, context.cancellation)),
            asyncio.create_task(_set_when_set(stop, self.stopping)),
        ]
        try:
            async with asyncio.TaskGroup() as group:
                for trial in plan.trials:
                    if trial.status in TRIAL_OPEN:
                        group.create_task(self._attempt(tenant, plan, trial, stop))
        finally:
            for watcher in watchers:
                watcher.cancel()
            await asyncio.wait(watchers)
        if self.stopping.is_set():
            raise RetryRequested(timedelta(0), reason="the worker is stopping")
        await records.complete_run(tenant, run_job.evaluation_run_id)
        log.info("run_ended")

    async def _attempt(self, tenant: Tenant, plan: Plan, trial: EvaluationTrial, stop: asyncio.Event) -> None:
        async with self.places:
            if stop.is_set() or (claimed := await records.claim(tenant, trial)) is None:
                return
            try:
                outcome = await self._execute(plan, claimed, stop)
                if outcome.status == "cancelled" and self.stopping.is_set():
                    await records.release(tenant, claimed)
                    return
                await records.finish(tenant, claimed, outcome)
            except BaseException:
                # This worker lives: another's error, or its own, is no lost execution of this trial.
                with suppress(Exception):
                    await asyncio.shield(records.release(tenant, claimed))
                raise
            log.info("trial_ended", attempt=claimed.attempt, status=outcome.status, reward=outcome.reward)

    async def _execute(self, plan: Plan, trial: EvaluationTrial, stop: asyncio.Event) -> Outcome:
        directory = Path(tempfile.mkdtemp(prefix="attempt-", dir=self.directory))
        try:
            attempt = Attempt(
                manifest=plan.manifest,
                agent_command=plan.agent_command,
                seed=trial.seed,
                attempt=trial.attempt,
                bundle=plan.bundle,
                directory=directory,
                secrets=plan.secrets,
            )
            return await execute(attempt, stop)
        finally:
            await asyncio.to_thread(shutil.rmtree, directory, ignore_errors=True)


async def _set_when_cancelled(stop: asyncio.Event, cancellation: anyio.CancelScope) -> None:
    with cancellation:
        await anyio.sleep_forever()
    stop.set()


async def _set_when_set(stop: asyncio.Event, cause: asyncio.Event) -> None:
    await cause.wait()
    stop.set()
