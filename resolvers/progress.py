"""Runs and trials as they change."""

from collections import OrderedDict
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Final
from uuid import UUID

from db import runs, trials
from db.changes import MISSED, Change, SlowSubscriberError, TooManySubscribersError
from db.errors import ExpectedError, NotFoundError
from db.runs import RUN_ENDED, EvaluationRun
from db.trials import TRIAL_OPEN, EvaluationTrial
from resolvers.context import Context
from resolvers.ids import parse_id

#: A trial's time is that of its transaction's start, which may be committed this much later.
_LATEST_COMMIT: Final = timedelta(minutes=1)
#: Nothing finished before: earlier moments, of the year 1, cannot be counted back from.
_FIRST: Final = datetime(2000, 1, 1, tzinfo=UTC)
_PAGE: Final = 500
_LAST_ID: Final = UUID(int=2**128 - 1)
_REMEMBERED: Final = 10_000


@asynccontextmanager
async def _changes(context: Context, run_id: UUID | None = None) -> AsyncGenerator[AsyncIterator[Change]]:
    try:
        async with context.changes.subscribe(context.tenant.organization_id, run_id) as changes:
            yield changes
    except (SlowSubscriberError, TooManySubscribersError) as error:
        raise ExpectedError(str(error)) from None


async def run_updates(context: Context, evaluation_run_id: str) -> AsyncGenerator[EvaluationRun]:
    """The run now, then whenever it or one of its trials has changed, until it has ended.

    A run that is opened again afterwards is watched by asking again. Who reads slowly gets fewer of the states
    between, and always the last. Raises NotFoundError for an unknown run.
    """
    key = parse_id(evaluation_run_id)
    if key is None:
        raise NotFoundError("There is no such evaluation run.")
    async with _changes(context, key) as changes:
        run = await _run(context, key)
        yield run
        while run.status not in RUN_ENDED:
            await anext(changes)
            run = await _run(context, key)
            yield run


async def _run(context: Context, key: UUID) -> EvaluationRun:
    context.refresh()
    found = await context.tenant.fetch(runs.BY_IDS, [key])
    if not found:
        raise NotFoundError("There is no such evaluation run.")
    return found[0]


@dataclass(slots=True)
class _Told:
    """What a subscriber was told of last, so that nothing is told twice after a look back.

    A trial that was done again ends again, and is told again.
    """

    latest: datetime
    ends: OrderedDict[tuple[UUID, datetime], None] = field(default_factory=OrderedDict)

    def is_new(self, trial: EvaluationTrial) -> bool:
        # Queued again since its end was announced, it is told of when it ends again.
        if trial.finished_at is None or (trial.id, trial.finished_at) in self.ends:
            return False
        self.ends[trial.id, trial.finished_at] = None
        if len(self.ends) > _REMEMBERED:
            self.ends.popitem(last=False)
        self.latest = max(self.latest, trial.finished_at)
        return True


async def finished_trials(
    context: Context, environment_version_id: str | None, since: datetime | None
) -> AsyncGenerator[EvaluationTrial]:
    """Every trial, of one version or of all, that finishes from now on; first those that have since `since`.

    Those of the minute before it are told too, since what began to be stored then may not have been seen.

    Raises NotFoundError for what is no id of a version.
    """
    version_id = None if environment_version_id is None else parse_id(environment_version_id)
    if environment_version_id is not None and version_id is None:
        raise NotFoundError("There is no such environment version.")
    async with _changes(context) as changes:
        # The database's clock, which trials are dated by.
        (now,) = await context.tenant.fetch(trials.NOW)
        told = _Told(min(since or now.moment, now.moment))
        if since is not None:
            async for trial in _finished_since(context, _before(since), version_id, told):
                yield trial
        async for change in changes:
            async for trial in _finished(context, change, version_id, told):
                yield trial


def _before(moment: datetime) -> datetime:
    """As early as what is told later can be dated."""
    return max(moment, _FIRST) - _LATEST_COMMIT


async def _finished(
    context: Context, change: Change, version_id: UUID | None, told: _Told
) -> AsyncGenerator[EvaluationTrial]:
    if change == MISSED:
        async for trial in _finished_since(context, _before(told.latest), version_id, told):
            yield trial
        return
    wanted = version_id in (None, change.environment_version_id)
    if wanted and change.table == "evaluation_trials" and change.status not in TRIAL_OPEN:
        context.refresh()
        for trial in await context.tenant.fetch(trials.BY_IDS, [change.id]):
            if told.is_new(trial):
                yield trial


async def _finished_since(
    context: Context, since: datetime, version_id: UUID | None, told: _Told
) -> AsyncGenerator[EvaluationTrial]:
    last_id = _LAST_ID
    while True:
        context.refresh()
        page = await context.tenant.fetch(trials.FINISHED_SINCE, since, version_id, last_id, _PAGE)
        for trial in page:
            if told.is_new(trial):
                yield trial
        if len(page) < _PAGE:
            return
        last, last_id = page[-1].finished_at, page[-1].id
        assert last is not None
        since = last
