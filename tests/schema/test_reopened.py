"""What subscribers hear of runs that are opened again, and of trials that end more than once."""

import asyncio
from typing import Any

import pytest

from db.changes import Changes
from db.tenant import Tenant
from resolvers.additions import add_attempts, rerun_unscored
from tests.schema.asking import subscribed
from tests.schema.test_subscriptions import (
    TRIAL,
    a_queued_run,
    changes,
    finish,
    following,
    set_run,
    until_watched,
)
from tests.schema.world import Run

__all__ = ["changes"]  # the fixture

RUN = """subscription($id: ID!) { evaluationRunUpdated(id: $id) {
  status attemptCount passAtK { k } trials { attempt status execution } } }"""


async def end(tenant: Tenant, run: Run, *rewards: float | None) -> None:
    for index, reward in enumerate(rewards):
        await finish(tenant, run, index, reward, "errored" if reward is None else "completed")
    await set_run(tenant, run, ended=True)


async def until_ended(results: Any) -> list[Any]:
    return [result.data["evaluationRunUpdated"] async for result in results]


async def test_who_watches_an_open_run_hears_of_attempts_that_are_added(acme: Tenant, changes: Changes) -> None:
    _, run = await a_queued_run(acme)
    for attempts in (3, 4):
        async with subscribed(acme, changes, RUN, id=str(run.row.id)) as results:
            await following(results, "evaluationRunUpdated")
            await add_attempts(acme, str(run.row.id), 1)
            told = await following(results, "evaluationRunUpdated")
            assert told["attemptCount"] == len(told["trials"]) == attempts
        await set_run(acme, run, ended=False)


async def test_a_run_that_was_opened_again_before_its_end_was_seen_is_watched_on(
    acme: Tenant, changes: Changes
) -> None:
    _, run = await a_queued_run(acme)
    async with subscribed(acme, changes, RUN, id=str(run.row.id)) as results:
        await following(results, "evaluationRunUpdated")
        await end(acme, run, 1.0, None)
        await rerun_unscored(acme, str(run.row.id))
        told = await following(results, "evaluationRunUpdated")
        assert (told["status"], told["passAtK"]) == ("QUEUED", [])
        assert [trial["status"] for trial in told["trials"]] == ["COMPLETED", "QUEUED"]
        await finish(acme, run, 1, 1.0)
        await set_run(acme, run, ended=True)
        last = (await until_ended(results))[-1]
        assert (last["status"], last["trials"][1]["execution"]) == ("COMPLETED", 2)


async def test_who_saw_the_end_subscribes_anew(acme: Tenant, changes: Changes) -> None:
    _, run = await a_queued_run(acme)
    await end(acme, run, 1.0, None)
    async with subscribed(acme, changes, RUN, id=str(run.row.id)) as results:
        assert [told["status"] for told in await until_ended(results)] == ["COMPLETED"]
    await rerun_unscored(acme, str(run.row.id))
    async with subscribed(acme, changes, RUN, id=str(run.row.id)) as results:
        assert (await following(results, "evaluationRunUpdated"))["status"] == "QUEUED"
        await finish(acme, run, 1, 0.5)
        await set_run(acme, run, ended=True)
        assert (await until_ended(results))[-1]["status"] == "COMPLETED"


@pytest.mark.parametrize("missed", [False, True])
async def test_a_trial_that_is_done_again_is_told_again(acme: Tenant, changes: Changes, missed: bool) -> None:
    _, run = await a_queued_run(acme)
    async with subscribed(acme, changes, TRIAL) as results:
        heard = asyncio.ensure_future(following(results, "evaluationTrialFinished"))
        await until_watched(changes)
        await finish(acme, run, 0, None, "errored")
        assert (await heard)["status"] == "ERRORED"
        await finish(acme, run, 1, 1.0)
        assert (await following(results, "evaluationTrialFinished"))["reward"] == 1
        await set_run(acme, run, ended=True)
        await rerun_unscored(acme, str(run.row.id))
        await finish(acme, run, 0, 0.5)
        if missed:
            changes.missed()
        told = await following(results, "evaluationTrialFinished")
        assert (told["id"], told["reward"]) == (str(run.trials[0].row.id), 0.5)


async def test_a_trial_that_is_queued_again_before_its_end_was_seen_is_told_when_it_ends_again(
    acme: Tenant, changes: Changes
) -> None:
    _, run = await a_queued_run(acme)
    async with subscribed(acme, changes, TRIAL) as results:
        heard = asyncio.ensure_future(following(results, "evaluationTrialFinished"))
        await until_watched(changes)
        await finish(acme, run, 0, 1.0)
        await heard
        # Nobody reads meanwhile.
        await finish(acme, run, 1, None, "errored")
        await set_run(acme, run, ended=True)
        await rerun_unscored(acme, str(run.row.id))
        (subscription,) = next(iter(changes.subscriptions.values()))
        heard = asyncio.ensure_future(following(results, "evaluationTrialFinished"))
        async with asyncio.timeout(20):
            while not subscription.queue.empty():  # noqa: ASYNC110 - a queue tells nobody that it is empty
                await asyncio.sleep(0.005)
        await finish(acme, run, 1, 0.25)
        told = await heard
        assert (told["id"], told["status"], told["reward"]) == (str(run.trials[1].row.id), "COMPLETED", 0.25)
