"""A second API process on the running service's database, which a test may kill."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

from tests.service import SECONDS, environment, eventually


@dataclass(frozen=True)
class Api:
    process: "subprocess.Popen[str]"
    url: str

    @property
    def port(self) -> int:
        port = httpx.URL(self.url).port
        assert port is not None
        return port


@contextmanager
def running_api(data_dir: Path, port: int = 0) -> Iterator[Api]:
    """`agentforge api`, from when it answers until the end of the block."""
    process = subprocess.Popen(
        [sys.executable, "-m", "agentforge", "api", "--data-dir", str(data_dir)],
        env=environment(AGENTFORGE_PORT=str(port)),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdout is not None
    with process.stdout:
        try:
            url = process.stdout.readline().split()[-1]
            eventually(lambda: httpx.get(f"{url}/healthz").status_code == 200)
            yield Api(process, url)
        finally:
            process.terminate()
            process.wait(SECONDS)
