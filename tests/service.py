"""Runs the real service: `agentforge` processes on a data folder of their own, reached over a real port."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import httpx
import psutil

PROJECT = Path(__file__).parents[1]
SECONDS = 90
MEMORY_BYTES = 4 * 2**30
METRICS_TOKEN = "of the tests' own scraper"


@dataclass(frozen=True)
class Client:
    """Asks a running service in the name of one token."""

    url: str
    token: str | None

    def request(self, method: str, path: str, **options: Any) -> httpx.Response:
        headers = options.pop("headers", {}) | ({"Authorization": f"Bearer {self.token}"} if self.token else {})
        return httpx.request(method, self.url + path, headers=headers, timeout=30, **options)

    def get(self, path: str, **options: Any) -> httpx.Response:
        return self.request("GET", path, **options)

    def graph(self, query: str, **variables: object) -> Any:
        """The data of an operation that must have no errors."""
        answer = self.request("POST", "/graphql", json={"query": query, "variables": variables}).json()
        assert "errors" not in answer, answer["errors"]
        return answer["data"]


def environment(**changes: str) -> dict[str, str]:
    """This process's environment without settings of its own, and with `changes`."""
    return {name: value for name, value in os.environ.items() if not name.startswith("AGENTFORGE_")} | changes


def command(
    *arguments: str | Path, data_dir: Path | None = None, settings: Mapping[str, str] = MappingProxyType({})
) -> subprocess.CompletedProcess[str]:
    """Runs `agentforge ARGUMENTS` to its end."""
    folder = {"AGENTFORGE_DATA_DIR": str(data_dir)} if data_dir else {}
    return subprocess.run(
        [sys.executable, "-m", "agentforge", *map(str, arguments)],
        env=environment(**folder, **settings),
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )


def command_json(
    *arguments: str | Path, data_dir: Path | None = None, settings: Mapping[str, str] = MappingProxyType({})
) -> Any:
    """The one line of JSON of `agentforge ARGUMENTS --json`, which must succeed."""
    done = command(*arguments, "--json", data_dir=data_dir, settings=settings)
    assert done.returncode == 0, done.stderr
    (line,) = done.stdout.splitlines()
    return json.loads(line)


@contextmanager
def short_directory() -> Iterator[Path]:
    """A folder whose path leaves room for a socket's name, of which 107 bytes may be used in all.

    It is in memory where the machine has room: copying databases takes a fifth of the time there.
    """
    memory = Path("/dev/shm")
    roomy = memory.is_dir() and os.access(memory, os.W_OK) and shutil.disk_usage(memory).free > MEMORY_BYTES
    parent = memory if roomy else None
    with tempfile.TemporaryDirectory(prefix="af", dir=parent, ignore_cleanup_errors=True) as directory:
        Path(directory).chmod(0o755)
        yield Path(directory)


def eventually(condition: Any, seconds: float = SECONDS) -> Any:
    """The first true value of `condition`, asked again and again; fails when none comes in time."""
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < deadline, f"not within {seconds} s: {condition}"
        time.sleep(0.05)
    return value


@dataclass(frozen=True)
class Service:
    """A running `agentforge up --json` and what it printed."""

    process: "subprocess.Popen[str]"
    url: str
    token: str | None
    organization: str | None
    data_dir: Path

    @property
    def client(self) -> Client:
        return Client(self.url, self.token)

    def worker(self) -> psutil.Process | None:
        """The worker process that `up` keeps running, if one runs now."""
        children = psutil.Process(self.process.pid).children()
        return next((child for child in children if "worker" in child.cmdline()), None)

    def stop(self, number: int = signal.SIGINT) -> int:
        """Ends `up` and gives its exit code."""
        self.process.send_signal(number)
        return self.process.wait(SECONDS)


def metrics_of(service: Service) -> str:
    """The text of /metrics of a service that was started with METRICS_TOKEN."""
    answer = httpx.get(f"{service.url}/metrics", headers={"Authorization": f"Bearer {METRICS_TOKEN}"}, timeout=30)
    answer.raise_for_status()
    return answer.text


def with_the_example(service: Service, settings: Mapping[str, str] = MappingProxyType({})) -> Service:
    """The service with the organization that commands take unless told, the example published and nothing run yet."""
    owner = ("--owner", "owner@demo.example")
    made = command_json("organization", "create", "demo", *owner, data_dir=service.data_dir, settings=settings)
    example = PROJECT / "examples" / "admin_console"
    command_json("environment", "publish", example, data_dir=service.data_dir, settings=settings)
    return replace(service, token=made["token"], organization="demo")


@contextmanager
def running_service(data_dir: Path, *options: str, **changes: str) -> Iterator[Service]:
    """`agentforge up --json` on a free port, from when it is ready until the end of the block.

    Its log goes where this process's own does: in a pipe that nobody reads it would hold the service up.
    """
    process = subprocess.Popen(
        [sys.executable, "-m", "agentforge", "up", "--json", "--port", "0", "--data-dir", str(data_dir), *options],
        env=environment(**changes),
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    try:
        line = process.stdout.readline()
        assert line, "it ended before it was ready; what it said is in the captured standard error"
        ready = json.loads(line)
        yield Service(process, ready["url"], ready["token"], ready["organization"], Path(ready["dataDir"]))
    finally:
        if process.poll() is None:
            process.terminate()
            process.wait(SECONDS)
        process.stdout.close()
