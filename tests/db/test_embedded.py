"""The embedded server: shared by processes, stopped by the last, joined after a crash, at home in any folder."""

import asyncio
import os
import pwd
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import asyncpg
import psutil
import pytest

from db.embedded import DatabaseUrls, embedded_server, start_server

ROOT = Path(__file__).parents[2]
NOBODY = pwd.getpwnam("nobody").pw_uid
PACKAGES = {**os.environ, "PYTHONPATH": sysconfig.get_path("purelib")}

# Says the app's and the owner's address, then holds the server until its input ends.
HOLDER = """
import sys
from pathlib import Path
from db.embedded import embedded_server
with embedded_server(Path(sys.argv[1])) as urls:
    print(urls.app, urls.owner, sep="\\n", flush=True)
    sys.stdin.read()
"""


@dataclass
class Holder:
    """A process of its own that holds the server."""

    process: "subprocess.Popen[str]"

    @cached_property
    def urls(self) -> DatabaseUrls:
        assert self.process.stdout is not None
        app, owner = self.process.stdout.readline().strip(), self.process.stdout.readline().strip()
        assert app, "the holder ended early"
        return DatabaseUrls(owner, app)

    def leave(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        assert self.process.wait(60) == 0

    def kill(self) -> None:
        self.process.kill()
        assert self.process.wait(60) == -signal.SIGKILL


@contextmanager
def started(directory: Path, program: str = HOLDER, *arguments: str, python: str = sys.executable) -> Iterator[Holder]:
    """A process on its way to hold the server of this folder."""
    with subprocess.Popen(
        [python, "-c", program, str(directory), *arguments],
        cwd=ROOT,
        env=PACKAGES,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield Holder(process)
        finally:
            process.kill()


@contextmanager
def holder(directory: Path) -> Iterator[Holder]:
    """A process that holds it."""
    with started(directory) as holder:
        assert holder.urls
        yield holder


@pytest.fixture
def folder() -> Iterator[Path]:
    """A short path that the server's own user can reach; whatever still runs in it at the end is stopped."""
    with tempfile.TemporaryDirectory(prefix="af", ignore_cleanup_errors=True) as directory:
        Path(directory).chmod(0o755)
        yield Path(directory)
        for process in servers(Path(directory)):
            process.kill()
            process.wait(60)


def servers(directory: Path) -> list[psutil.Process]:
    """The postmasters that work somewhere under this folder."""
    found = []
    for file in directory.rglob("postmaster.pid"):
        try:
            process = psutil.Process(int(file.read_text().splitlines()[0]))
            if Path(process.cwd()) == file.parent:
                found.append(process)
        except psutil.Error:
            continue
    return found


async def run(url: str, statement: str) -> object:
    connection = await asyncpg.connect(url)
    try:
        return await connection.fetchval(statement)
    finally:
        await connection.close()


def value(url: str, statement: str) -> object:
    return asyncio.run(run(url, statement))


def test_one_that_was_restarted_since_is_stopped_too(folder: Path) -> None:
    server = start_server(folder / "postgres")
    with holder(folder) as only:
        (before,) = servers(folder)
        control: list[str | Path] = [
            server.bin_path / "pg_ctl",
            "-D",
            server.pgdata,
            "-w",
            "-l",
            server.pgdata / "log",
            "restart",
        ]
        subprocess.run(control, check=True, stdout=subprocess.DEVNULL, user=server.system_user)
        before.wait(60)
        (after,) = servers(folder)
        assert after != before
        only.leave()
        assert servers(folder) == []


def test_processes_share_a_server_and_the_last_one_stops_it(folder: Path) -> None:
    with holder(folder) as first, holder(folder) as second:
        assert first.urls == second.urls
        (server,) = servers(folder)
        assert value(first.urls.owner, "create table kept as select 7 as number") is None
        first.leave()
        assert servers(folder) == [server]
        assert value(second.urls.owner, "select number from kept") == 7
        second.leave()
        assert servers(folder) == []
        assert not server.is_running() or server.status() == psutil.STATUS_ZOMBIE
    # Data is found again; a holder killed outright leaves the server to the next, who stops it at its end.
    with holder(folder) as killed:
        (server,) = servers(folder)
        killed.kill()
    assert servers(folder) == [server]
    with holder(folder) as heir:
        assert servers(folder) == [server]
        assert value(heir.urls.owner, "select number from kept") == 7
        heir.leave()
    assert servers(folder) == []


def test_processes_that_start_at_once_share_a_server(folder: Path) -> None:
    with started(folder) as first, started(folder) as second, started(folder) as third:
        assert first.urls == second.urls == third.urls
        assert len(servers(folder)) == 1
        for each in (first, second, third):
            assert value(each.urls.app, "select current_user") == "agentforge_app"
            each.leave()
    assert servers(folder) == []


def test_one_process_may_hold_it_twice_and_name_it_from_here(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    with embedded_server(Path("own/.agentforge")) as outer:
        with embedded_server(folder / "own" / ".agentforge") as inner:
            assert inner == outer
        assert value(outer.app, "select 1") == 1
    assert servers(folder) == []


@pytest.mark.parametrize(
    "name",
    [
        "long-" * 30 + "path",
        "with space, comma & 100% + 'quotes\" $HOME `id`;#?",
        "r" * 60 + "/donn\u00e9es \u6570\u636e \U0001f418",
    ],
    ids=["long", "punctuation", "unicode"],
)
def test_any_folder_will_do(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    for _ in range(2):
        with embedded_server(folder / name) as urls:
            assert value(urls.app, "select current_user") == "agentforge_app"
            assert (
                value(urls.owner, "select pg_get_userbyid(datdba) from pg_database where datname = current_database()")
                == "agentforge_owner"
            )
            assert (folder / name / "postgres" / "PG_VERSION").is_file()
        assert servers(folder) == []


def test_a_pid_taken_over_by_another_program_is_not_the_server(folder: Path) -> None:
    with embedded_server(folder) as urls:
        assert value(urls.owner, "create table kept as select 7 as number") is None
        files = [folder / "postgres" / name for name in ("postmaster.pid", ".s.PGSQL.5432.lock")]
        left_behind = {file: file.read_text().split("\n") for file in files}
    # As after a crash of a container: the files are there, and their pid is somebody else's.
    for file, (_, *rest) in left_behind.items():
        file.write_text("\n".join([str(os.getpid()), *rest]))
    with embedded_server(folder) as urls:
        assert value(urls.owner, "select number from kept") == 7


def test_a_server_killed_outright_is_started_again(folder: Path) -> None:
    with holder(folder) as first:
        assert value(first.urls.owner, "create table kept as select 7 as number") is None
        (server,) = servers(folder)
        server.kill()
        # Its own parent may be nobody who takes note of its death: gone or a zombie, it counts as dead.
        deadline = time.monotonic() + 60
        while server.is_running() and server.status() != psutil.STATUS_ZOMBIE:
            assert time.monotonic() < deadline
        with holder(folder) as second:
            assert value(second.urls.owner, "select number from kept") == 7
            second.leave()


# Becomes that user for good before anything of ours is imported.
AS_USER = """
import os, sys
os.setgroups([])
os.setgid(int(sys.argv[2]))
os.setuid(int(sys.argv[2]))
os.environ["HOME"] = "/nonexistent"
os.environ["TMPDIR"] = os.path.dirname(sys.argv[1])
"""


@pytest.fixture
def python_of_nobody() -> str:
    """A Python that the user nobody can run with the packages of this one: this one, or the system's of its version."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    said = ""
    for python in filter(None, [sys.executable, shutil.which(version, path="/usr/bin:/usr/local/bin")]):
        trial = [python, "-c", f"{AS_USER}import asyncpg, asyncio.runners, psutil", "", str(NOBODY)]
        ended = subprocess.run(trial, cwd=ROOT, env=PACKAGES, capture_output=True, text=True)
        if ended.returncode == 0:
            return python
        said += f" {python}: {ended.stderr.splitlines()[-1]}"
    pytest.skip(f"nobody cannot run this Python:{said}")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_an_unprivileged_user_without_a_home(folder: Path, python_of_nobody: str) -> None:
    os.chown(folder, NOBODY, NOBODY)
    with started(folder / "data", AS_USER + HOLDER, str(NOBODY), python=python_of_nobody) as holder:
        assert value(holder.urls.app, "select current_user") == "agentforge_app"
        (server,) = servers(folder)
        assert server.uids().real == NOBODY
        # In the folder for everybody's temporary files it would lock other users out.
        assert not (folder / ".lockfile").exists()
        holder.leave()
    assert servers(folder) == []
