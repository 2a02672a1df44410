"""Stronger isolation by bubblewrap: each process tree in namespaces and a file system of its own.

Inside there are the system's programs and this Python, read-only, the folders of the one process tree, an empty
home, and no network. The guard runs inside too, as process 1, which nothing there can kill or stop, and when
it ends the kernel ends everything else.
"""

import os
import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from shutil import which
from typing import Final

import structlog

import agentforge
from agentforge.settings import SandboxPart as Part
from agentforge.settings import Settings

log = structlog.get_logger()

#: Where the guard finds its standard input; its standard output is the next.
STREAMS: Final = 3
# bubblewrap stays outside as the parent, and must not hold the streams: nobody would see them end.
_APART: Final = ("/bin/sh", "-c", 'exec "$@" 3<&0 4>&1 </dev/null >/dev/null', "sh")
_ISOLATION: Final = (
    "--unshare-all", "--unshare-user", "--disable-userns", "--cap-drop", "ALL", "--die-with-parent", "--new-session",
    "--as-pid-1", "--proc", "/proc", "--dev", "/dev",
)  # fmt: skip
_SYSTEM: Final = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
_CONFIGURATION: Final = (
    "alternatives", "ca-certificates", "ca-certificates.conf", "crypto-policies", "group", "host.conf", "hosts",
    "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "localtime", "mime.types", "nsswitch.conf", "passwd", "pki",
    "protocols", "resolv.conf", "services", "ssl",
)  # fmt: skip
#: Of each folder that is only in memory; those measured are the tree's own.
_MEMORY_FOLDER_BYTES: Final = 64 * 1024 * 1024
_PROBE_SECONDS: Final = 20


class SandboxError(RuntimeError):
    """The sandbox asked for is not to be had on this machine; the message says why."""


@dataclass(frozen=True, slots=True)
class Sandbox:
    """How to start bubblewrap. `readable` are paths shown to agents besides; `networked` are not cut off."""

    program: str
    networked: frozenset[Part] = frozenset()
    readable: tuple[Path, ...] = ()

    def command(
        self, part: Part, folder: Path, *, writable: Iterable[Path] = (), readable: Iterable[Path] = ()
    ) -> tuple[str, ...]:
        """Returns what to put in front of a command line, to run it in `folder`, one of the writable ones."""
        besides = self.readable if part == "agent" else ()
        arguments = [
            *_ISOLATION,
            *(["--share-net"] if part in self.networked else []),
            *_memory_folders(),
            *_read_only(map(Path, _SYSTEM)),
            *_read_only(Path("/etc", name) for name in _CONFIGURATION),
            *_read_only(_python()),
            *_read_only([*besides, *readable]),
            *_bound("--bind", writable),
            *("--remount-ro", "/dev", "--remount-ro", "/proc", "--remount-ro", "/", "--chdir", str(folder)),
        ]
        return (*_APART, self.program, *arguments, "--")


def open_sandbox(settings: Settings) -> Sandbox | None:
    """Returns the sandbox to use, tried out; None for none. Raises SandboxError for one that must be and cannot."""
    if settings.sandbox == "none":
        return None
    try:
        sandbox = _tried(frozenset(settings.sandbox_network or ()), settings.sandbox_paths or ())
    except SandboxError as error:
        if settings.sandbox == "bubblewrap":
            raise
        log.warning("no_sandbox", reason=str(error))
        return None
    log.info("sandbox", program=sandbox.program, networked=sorted(sandbox.networked))
    return sandbox


def _tried(networked: frozenset[Part], readable: tuple[Path, ...]) -> Sandbox:
    program = which("bwrap")
    if program is None:
        raise SandboxError("bubblewrap is not installed; on Debian and Ubuntu: apt-get install bubblewrap")
    if missing := [path for path in readable if not path.is_absolute() or not path.exists()]:
        raise SandboxError(f"{missing[0]} is not the absolute path of something that exists")
    sandbox = Sandbox(program, networked, readable)
    command = [*sandbox.command("agent", Path("/")), sys.executable, "-I", "-S", "-c", ""]
    try:
        ended = subprocess.run(command, capture_output=True, text=True, timeout=_PROBE_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SandboxError(f"bubblewrap does not work here: {error}") from error
    if ended.returncode != 0:
        raise SandboxError(f"bubblewrap does not work here: {ended.stderr.strip() or f'code {ended.returncode}'}")
    return sandbox


def _memory_folders() -> Iterator[str]:
    home = os.environ.get("HOME", "")
    for folder in ("/tmp", "/dev/shm", *([home] if home.startswith("/") and home != "/" else [])):  # noqa: S108
        yield from ("--size", str(_MEMORY_FOLDER_BYTES), "--tmpfs", folder)


def _python() -> set[Path]:
    """Everything that this interpreter and our own package are made of, by each name that leads there."""
    prefixes = {Path(prefix) for prefix in (sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix)}
    prefixes |= {prefix.resolve() for prefix in prefixes} | {Path(sys.executable).resolve().parents[1]}
    package = Path(agentforge.__file__).parent
    return {path for path in (*prefixes, package, package.resolve()) if not path.is_relative_to("/usr")}


def _read_only(paths: Iterable[Path]) -> Iterator[str]:
    for path in paths:
        # /bin and its like are links into /usr nowadays.
        if path.is_symlink() and path.parent == Path("/"):
            yield from ("--symlink", str(path.readlink()), str(path))
        elif path.exists():
            yield from _bound("--ro-bind", [path])


def _bound(how: str, paths: Iterable[Path]) -> Iterator[str]:
    for path in paths:
        yield from (how, str(path), str(path))
