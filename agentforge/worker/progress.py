"""What an execution has recorded so far, kept in the database while it runs."""

import asyncio
from collections.abc import Sequence
from typing import Final

import asyncpg
import structlog

from agentforge.worker.steps import Step, encode_steps
from db import executions
from db.errors import StatementTimeoutError
from db.tenant import Tenant
from db.trials import EvaluationTrial

log = structlog.get_logger()

KEEP_SECONDS: Final = 1.0
#: How often it is asked whether the lease is held still, where no step says so.
_QUIET_ROUNDS: Final = 5


async def keep_steps(tenant: Tenant, trial: EvaluationTrial, steps: Sequence[Step]) -> None:
    """Stores what is added to `steps`, every second, for as long as this execution is the trial's latest.

    Returns when it no longer is: another worker has begun, or the trial has ended. What a database that is away
    does not take is tried again, and so is what it stopped: the steps are kept with the outcome in any case.
    """
    kept = quiet = 0
    while True:
        await asyncio.sleep(KEEP_SECONDS)
        new = steps[kept:]
        quiet = 0 if new else quiet + 1
        if not new and quiet % _QUIET_ROUNDS:
            continue
        try:
            if not await _keep(tenant, trial, kept, new):
                return
        except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError, StatementTimeoutError) as error:
            log.warning("steps_not_kept", error=repr(error), steps=len(new))
        else:
            kept += len(new)


async def _keep(tenant: Tenant, trial: EvaluationTrial, kept: int, new: Sequence[Step]) -> bool:
    token = (trial.id, trial.execution)
    async with tenant.transaction() as transaction:
        if new:
            held = await transaction.fetch_one(executions.RECORD, *token, kept + 1, len(new), encode_steps(new))
        else:
            held = await transaction.fetch_one(executions.IS_HELD, *token)
    return held is not None and held.is_held
