"""The entry points of watching."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from datetime import datetime
from typing import TypeVar

import strawberry

from db.errors import ForbiddenError
from resolvers import progress
from schema.filters import utc
from schema.info import Info
from schema.run import EvaluationRun
from schema.trial import EvaluationTrial

Row = TypeVar("Row")


async def _while_signed_in(info: Info, told: AsyncGenerator[Row]) -> AsyncGenerator[Row]:
    """Raises ForbiddenError before telling anything more to a token or session that has ended."""
    async with aclosing(told):
        async for row in told:
            if not await info.context.still_signed_in():
                raise ForbiddenError("The token or session has ended.")
            yield row


@strawberry.type
class Subscription:
    @strawberry.subscription(
        description="The run now, then at every change, until it has ended. "
        "One that is opened again is subscribed to anew."
    )
    async def evaluation_run_updated(self, info: Info, id: strawberry.ID) -> AsyncGenerator[EvaluationRun]:
        async with aclosing(_while_signed_in(info, progress.run_updates(info.context, id))) as updates:
            async for run in updates:
                yield EvaluationRun.of(run)

    @strawberry.subscription(
        description="Every trial, of one version or of all, that finishes from now on; again where it is done again. "
        "After a lost connection, `since` the last finishedAt that was heard gives what was missed first; trials of "
        "the minute before it may be told again."
    )
    async def evaluation_trial_finished(
        self, info: Info, environment_version_id: strawberry.ID | None = None, since: datetime | None = None
    ) -> AsyncGenerator[EvaluationTrial]:
        moment = utc(since, ["since"])
        told = progress.finished_trials(info.context, environment_version_id, moment)
        async with aclosing(_while_signed_in(info, told)) as finished:
            async for trial in finished:
                yield EvaluationTrial.of(trial)
