"""Runs and trials as they change."""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from uuid import UUID

from db import runs, trials
from db.changes import MISSED, Change, SlowSubscriberError
from db.errors import ExpectedError, NotFoundError
from db.runs import RUN_ENDED, EvaluationRun
from db.trials import TRIAL_OPEN, EvaluationTrial
from resolvers.context import Context
from resolvers.ids import parse_id


@asynccontextmanager
async def _changes(context: Context) -> AsyncGenerator[AsyncIterator[Change]]:
    try:
        async with context.changes.subscribe(context.tenant.organization_id) as changes:
            yield changes
    except SlowSubscriberError as error:
        raise ExpectedError(str(error)) from None


async def run_updates(context: Context, evaluation_run_id: str) -> AsyncGenerator[EvaluationRun]:
    """The run now, then at every change of it or of its trials, until it has ended.

    Raises NotFoundError for an unknown run.
    """
    key = parse_id(evaluation_run_id)
    if key is None:
        raise NotFoundError("There is no such evaluation run.")
    async with _changes(context) as changes:
        run = await _run(context, key)
        yield run
        concerned: set[UUID | None] = {trial.id for trial in await context.tenant.fetch(trials.BY_RUNS, [key])}
        concerned |= {key, MISSED.id}
        while run.status not in RUN_ENDED:
            change = await anext(changes)
            if change.id in concerned:
                run = await _run(context, key)
                yield run


async def _run(context: Context, key: UUID) -> EvaluationRun:
    context.refresh()
    found = await context.tenant.fetch(runs.BY_IDS, [key])
    if not found:
        raise NotFoundError("There is no such evaluation run.")
    return found[0]


async def finished_trials(context: Context, environment_version_id: str | None) -> AsyncGenerator[EvaluationTrial]:
    """Every trial that finishes from now on, of one version or of all."""
    version_id = None if environment_version_id is None else parse_id(environment_version_id)
    if environment_version_id is not None and version_id is None:
        raise NotFoundError("There is no such environment version.")
    async with _changes(context) as changes:
        async for change in changes:
            if change.table != "evaluation_trials" or change.status in TRIAL_OPEN:
                continue
            context.refresh()
            for trial in await context.tenant.fetch(trials.BY_IDS, [change.id]):
                if version_id in (None, trial.environment_version_id):
                    yield trial
