"""`agentforge up`: from nothing to evaluated attempts, stopped in order and found again, whatever is killed."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest

from tests.service import (
    Client,
    Service,
    command,
    command_json,
    environment,
    eventually,
    running_service,
    short_directory,
    with_the_example,
)

RUN = """query($id: ID!) { evaluationRun(id: $id) {
  status unscoredAttempts passAtK { k }
  trials { id attempt status execution reward failureCategory finishedAt trajectory { stepCount } rollout { id } }
} }"""
RUNS = "{ evaluationRuns { edges { node { id } } } }"


def postgres_of(data_dir: Path) -> psutil.Process | None:
    """The server that runs on this folder, if one does."""
    file = data_dir / "postgres" / "postmaster.pid"
    if not file.exists():
        return None
    try:
        return psutil.Process(int(file.read_text().splitlines()[0]))
    except psutil.NoSuchProcess:
        return None


def test_prose_tells_what_happened_and_what_to_try_and_the_next_start_finds_it() -> None:
    with short_directory() as directory:
        data_dir = directory / "data"
        process = subprocess.Popen(
            [sys.executable, "-m", "agentforge", "up", "--port", "0", "--data-dir", str(data_dir)],
            env=environment(PYTHONUNBUFFERED="1"),
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        with process.stdout:
            lines: list[str] = []
            while "Ctrl-C" not in (line := process.stdout.readline()):
                assert line, lines
                lines.append(line)
            text = "".join(lines)
            link = next(word for word in text.split() if "/sign-in?link=" in word)
            with httpx.Client() as browser:
                assert browser.get(link).status_code == 303
                url = link.partition("/sign-in")[0]
                answer = browser.post(f"{url}/graphql", json={"query": "{ viewer { email role } }"})
                assert answer.json() == {"data": {"viewer": {"email": "owner@demo.example", "role": "OWNER"}}}
                first = browser.post(f"{url}/graphql", json={"query": RUNS}).json()["data"]
                assert httpx.get(link).status_code == 410
            processes = psutil.Process(process.pid).children(recursive=True)
            process.send_signal(signal.SIGINT)
            assert process.wait(30) == 0
        for words in ("2 passed, 3 partial, 2 failed, 1 unscored of 8 attempts", "pass@k", "Three things to try"):
            assert words in text
        assert psutil.wait_procs(processes, timeout=5)[1] == []
        assert postgres_of(data_dir) is None
        with running_service(data_dir) as service:
            assert service.worker() is not None
            assert service.client.graph(RUNS) == first
            assert service.stop(signal.SIGTERM) == 0


def test_no_demo_makes_no_organization() -> None:
    with short_directory() as directory, running_service(directory / "data", "--no-demo") as service:
        assert (service.token, service.organization) == (None, None)
        assert Client(service.url, None).get("/readyz").status_code == 200
        made = command_json("organization", "create", "acme", "--owner", "a@acme.example", data_dir=service.data_dir)
        viewer = Client(service.url, made["token"]).graph(
            "{ viewer { organization { slug } } evaluationRuns { totalCount } }"
        )
        assert viewer == {"viewer": {"organization": {"slug": "acme"}}, "evaluationRuns": {"totalCount": 0}}


def test_a_taken_port_is_said() -> None:
    with short_directory() as directory, running_service(directory / "one", "--no-demo") as service:
        port = service.url.rpartition(":")[2]
        refused = command("up", "--port", port, "--data-dir", directory / "two")
    assert refused.returncode == 1
    assert refused.stderr.startswith(f"Error: Port {port} of 127.0.0.1 cannot be used: ")
    assert "Traceback" not in refused.stderr


def test_a_second_one_on_a_folder_is_refused() -> None:
    with short_directory() as directory, running_service(directory / "one", "--no-demo") as service:
        for port in ("0", service.url.rpartition(":")[2]):
            refused = command("up", "--port", port, data_dir=service.data_dir)
            assert refused.returncode == 1
            assert refused.stderr == f"Error: `agentforge up` runs on {service.data_dir} already, at {service.url}.\n"
        service.process.kill()
        service.process.wait()
        with running_service(directory / "one", "--no-demo") as next_one:
            assert next_one.client.get("/readyz").status_code == 200


@pytest.fixture(scope="module")
def patient() -> Iterator[Service]:
    """A service whose leases run out soon, for killing its parts."""
    settings = {"AGENTFORGE_LEASE_SECONDS": "2", "AGENTFORGE_CONCURRENCY": "1"}
    with (
        short_directory() as directory,
        running_service(directory / "data", "--no-demo", **settings) as service,
    ):
        yield with_the_example(service)


def agent_that_waits_in_attempt(attempt: int, marker: Path) -> str:
    """An agent whose given attempt, the first time, says that it runs and then stays."""
    script = (
        "import pathlib, sys, time; marker = pathlib.Path(sys.argv[1])\n"
        f"if sys.argv[2] == '{attempt}' and not marker.exists(): marker.write_text('here'); time.sleep(600)"
    )
    return json.dumps(["{python}", "-c", script, str(marker), "{attempt}"])


def test_an_attempt_without_a_score_says_why(patient: Service) -> None:
    agent = ("--agent", '["no-such-[/bold]agent"]', "--attempts", "1")
    shown = command("evaluate", "admin-console", *agent, "--watch", data_dir=patient.data_dir)
    assert shown.returncode == 0, shown.stderr
    (line,) = (line for line in shown.stdout.splitlines() if line.startswith("attempt 1"))
    assert line.startswith("attempt 1: unscored  agent_crashed: the agent cannot start: ")
    assert line.endswith("'no-such-[/bold]agent'")


def start(service: Service, agent: str, attempts: int) -> str:
    options = ("--agent", agent, "--attempts", str(attempts))
    run: str = command_json("evaluate", "admin-console", *options, data_dir=service.data_dir)["id"]
    return run


def run_of(service: Service, run_id: str) -> dict[str, Any]:
    run: dict[str, Any] = service.client.graph(RUN, id=run_id)["evaluationRun"]
    return run


def test_a_killed_worker_loses_no_finished_trial(patient: Service, tmp_path: Path) -> None:
    marker = tmp_path / "attempt-2-began"
    run_id = start(patient, agent_that_waits_in_attempt(2, marker), 3)
    eventually(marker.exists)
    before = {trial["attempt"]: trial for trial in run_of(patient, run_id)["trials"]}
    assert before[1]["status"] == "COMPLETED"
    assert before[2]["status"] == "RUNNING"
    worker = patient.worker()
    assert worker is not None
    descendants = worker.children(recursive=True)
    worker.kill()
    assert psutil.wait_procs(descendants, timeout=10)[1] == []
    run = eventually(lambda: (run := run_of(patient, run_id))["status"] == "COMPLETED" and run)
    after = {trial["attempt"]: trial for trial in run["trials"]}
    assert after[1] == before[1]
    assert [after[attempt]["execution"] for attempt in (1, 2, 3)] == [1, 2, 1]
    assert len({trial["rollout"]["id"] for trial in after.values()}) == 3
    assert [estimate["k"] for estimate in run["passAtK"]] == [1, 2, 3]


def test_a_cancelled_run_keeps_what_its_attempts_did(patient: Service, tmp_path: Path) -> None:
    marker = tmp_path / "attempt-2-began"
    run_id = start(patient, agent_that_waits_in_attempt(2, marker), 3)
    eventually(marker.exists)
    assert command_json("cancel", run_id, data_dir=patient.data_dir)["status"] == "cancelled"
    run = eventually(lambda: (run := run_of(patient, run_id))["trials"][1]["trajectory"] and run)
    assert run["status"] == "CANCELLED"
    assert [trial["status"] for trial in run["trials"]] == ["COMPLETED", "CANCELLED", "CANCELLED"]
    assert [trial["rollout"] is None for trial in run["trials"]] == [False, True, True]
    again = command("cancel", run_id, data_dir=patient.data_dir)
    assert (again.returncode, "ended already" in again.stderr) == (1, True)


def test_a_cancelled_run_is_resumed_and_added_to(patient: Service, tmp_path: Path) -> None:
    marker = tmp_path / "attempt-2-began"
    run_id = start(patient, agent_that_waits_in_attempt(2, marker), 2)
    eventually(marker.exists)
    refused = command("rerun-unscored", run_id, data_dir=patient.data_dir)
    assert (refused.returncode, "The run has not ended: running." in refused.stderr) == (1, True)
    command_json("cancel", run_id, data_dir=patient.data_dir)
    refused = command("add-attempts", run_id, "1", data_dir=patient.data_dir)
    assert (refused.returncode, "rerun its unscored attempts first" in refused.stderr) == (1, True)
    resumed = command_json("rerun-unscored", run_id, data_dir=patient.data_dir)
    assert (resumed["id"], resumed["status"], resumed["attemptCount"]) == (run_id, "queued", 2)
    refused = command("add-attempts", run_id, "7", data_dir=patient.data_dir)
    assert (refused.returncode, "so 1 to 6 may be added" in refused.stderr) == (2, True)
    shown = command("add-attempts", run_id, "1", "--watch", data_dir=patient.data_dir)
    assert (shown.returncode, "of 3 attempts" in shown.stdout) == (0, True), shown.stderr
    run = run_of(patient, run_id)
    assert [trial["status"] for trial in run["trials"]] == ["COMPLETED"] * 3
    assert [trial["execution"] for trial in run["trials"]] == [1, 2, 1]
    assert [estimate["k"] for estimate in run["passAtK"]] == [1, 2, 3]


def test_a_stopped_worker_hands_its_attempt_back(patient: Service, tmp_path: Path) -> None:
    marker = tmp_path / "attempt-1-began"
    run_id = start(patient, agent_that_waits_in_attempt(1, marker), 1)
    eventually(marker.exists)
    worker = patient.worker()
    assert worker is not None
    worker.terminate()
    run = eventually(lambda: (run := run_of(patient, run_id))["status"] == "COMPLETED" and run)
    assert [(trial["status"], trial["execution"]) for trial in run["trials"]] == [("COMPLETED", 2)]


def test_a_killed_up_takes_its_worker_along() -> None:
    with short_directory() as directory, running_service(directory / "data", "--no-demo") as service:
        worker = service.worker()
        assert worker is not None
        service.process.kill()
        service.process.wait()
        assert psutil.wait_procs([worker], timeout=20)[1] == []
        eventually(lambda: postgres_of(directory / "data") is None, 20)
