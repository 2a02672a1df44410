"""A database that is there and answers nothing: its processes stand still, as behind a network that drops packets."""

import os
import signal

import pytest

from tests.db.conftest import Connection
from tests.worker.scenes import SECONDS, Scene, scene

__all__ = ["scene"]

BACKENDS = "select pid from pg_stat_activity where datname = current_database() and application_name = $1"


@pytest.mark.parametrize("part", ["agent", "nothing"])
async def test_a_worker_that_is_told_to_stop_waits_no_longer_than_for_its_lease(
    scene: Scene, administrator: Connection, part: str
) -> None:
    worker = scene.worker(AGENTFORGE_STOP_SECONDS="0.1")
    if part == "agent":
        await scene.reached("agent")
    else:
        scene.pass_gates()
        await scene.ended()
    backends = [row["pid"] for row in await administrator.fetch(BACKENDS, "agentforge worker")]
    assert backends
    for backend in backends:
        os.kill(backend, signal.SIGSTOP)
    try:
        worker.terminate()
        assert worker.wait(SECONDS) == 0
    finally:
        for backend in backends:
            os.kill(backend, signal.SIGCONT)
    assert "database_silent" in scene.log(worker)
