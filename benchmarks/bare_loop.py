"""The processes of so many trials, started by an asyncio loop and by nothing else; see `worker.py`.

Run by its path: reads {"trials", "concurrency", "world", "agent", "evaluator", "env", "cwd"} on standard input and
prints {"seconds", "loopCpu", "processesCpu"}, CPU in seconds.
"""

import asyncio
import json
import os
import sys
import time
from asyncio.subprocess import DEVNULL, PIPE, create_subprocess_exec
from typing import Any


async def trial(asked: dict[str, Any]) -> None:
    """One world, an agent beside it and then the evaluator, with the pipes that a worker gives them."""
    place = {"env": asked["env"], "cwd": asked["cwd"], "start_new_session": True}
    world = await create_subprocess_exec(*asked["world"], stdin=PIPE, stdout=PIPE, stderr=PIPE, **place)
    agent = await create_subprocess_exec(*asked["agent"], stdin=DEVNULL, stdout=PIPE, stderr=PIPE, **place)
    await agent.communicate()
    await world.communicate(b"")
    evaluator = await create_subprocess_exec(*asked["evaluator"], stdin=DEVNULL, stdout=PIPE, stderr=PIPE, **place)
    printed, _ = await evaluator.communicate()
    assert json.loads(printed)["reward"] == 1
    assert (world.returncode, agent.returncode, evaluator.returncode) == (0, 0, 0)


async def run(asked: dict[str, Any]) -> float:
    places = asyncio.Semaphore(asked["concurrency"])

    async def placed() -> None:
        async with places:
            await trial(asked)

    began = time.monotonic()
    await asyncio.gather(*(placed() for _ in range(asked["trials"])))
    return time.monotonic() - began


def main() -> None:
    asked = json.load(sys.stdin)
    before = os.times()
    seconds = asyncio.run(run(asked))
    after = os.times()
    print(
        json.dumps(
            {
                "seconds": seconds,
                "loopCpu": after.user + after.system - before.user - before.system,
                "processesCpu": after.children_user + after.children_system,
            }
        )
    )


if __name__ == "__main__":
    main()
