"""A client that does not read what it subscribed to, on a real connection."""

import asyncio
import json
import time
from typing import Any

from websockets.asyncio.client import ClientConnection

from db.changes import Change, Changes, Subscription
from db.tenant import Tenant
from tests.schema.asking import UNKNOWN
from tests.schema.serving import SECONDS, served
from tests.schema.world import Outcome, World, add_run, small_world

#: Some 160 kB an answer: more than sockets and buffers on the way hold of a hundred.
DETAIL = "x" * 4000
DETAILS = " ".join(f"detail{number}: failureDetail" for number in range(40))
FINISHED = f"subscription {{ evaluationTrialFinished {{ id {DETAILS} }} }}"


async def trials_of(world: World) -> list[str]:
    outcome = Outcome(None, "errored", "agent_crashed", detail=DETAIL)
    runs = [await add_run(world, world.versions[0], world.configurations[0], [outcome] * 8) for _ in range(25)]
    return [str(trial.row.id) for run in runs for trial in run.trials]


def tell(changes: Changes, tenant: Tenant, trial: str) -> None:
    payload = f"{tenant.organization_id} evaluation_trials {trial} errored {UNKNOWN} {UNKNOWN}"
    changes.receive(None, 0, "", payload)


async def subscribe(socket: ClientConnection, changes: Changes, name: str) -> Subscription:
    await socket.send(json.dumps({"type": "subscribe", "id": name, "payload": {"query": FINISHED}}))
    async with asyncio.timeout(SECONDS):
        while not changes.subscriptions:  # noqa: ASYNC110 - the server says nothing
            await asyncio.sleep(0.01)
    ((subscription,),) = changes.subscriptions.values()
    return subscription


async def receive(socket: ClientConnection) -> Any:
    return json.loads(await asyncio.wait_for(socket.recv(), SECONDS))


async def standing_still(waiting: "asyncio.Queue[Change]") -> None:
    """Until the server has stopped, with something left to send."""
    deadline, seen = time.monotonic() + SECONDS, -1
    while seen != waiting.qsize():
        assert time.monotonic() < deadline, "the server keeps on sending"
        seen = waiting.qsize()
        await asyncio.sleep(0.5)
    assert seen


async def test_is_told_so_and_can_subscribe_again(acme: Tenant) -> None:
    changes, trials = Changes(), await trials_of(await small_world(acme))
    async with served(acme, changes) as service, service.socket(compression=None) as socket:
        subscription = await subscribe(socket, changes, "slow")
        for trial in trials:
            tell(changes, acme, trial)
        await standing_still(subscription.queue)
        for _ in range(1000):
            tell(changes, acme, UNKNOWN)
        heard = []
        while "errors" not in (payload := (await receive(socket))["payload"]):
            heard.append(payload["data"]["evaluationTrialFinished"]["id"])
        assert [one["message"] for one in payload["errors"]] == [
            "Too many changes were waiting to be read; subscribe again."
        ]
        assert await receive(socket) == {"type": "complete", "id": "slow"}
        assert heard == trials[: len(heard)]
        assert len(heard) < len(trials)
        assert not changes.subscriptions
        # The connection is as good as before.
        await subscribe(socket, changes, "again")
        tell(changes, acme, trials[-1])
        message = await receive(socket)
        assert message["payload"]["data"]["evaluationTrialFinished"]["id"] == trials[-1]
