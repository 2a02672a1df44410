"""Where people reach the service: told by settings, or else by the process that runs on this data folder."""

import fcntl
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from agentforge.settings import Settings
from db.errors import ConflictError

_FILE = "address"
_EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - read, not bound


class PortError(RuntimeError):
    """The port cannot be listened on."""


def _url(host: str, port: int) -> str:
    named = _EVERYWHERE.get(host, host)
    return f"http://{f'[{named}]' if ':' in named else named}:{port}"


@contextmanager
def announced(listener: socket.socket, settings: Settings) -> Iterator[str]:
    """The address of a service on `listener`, for the block also known to other commands on its data folder."""
    host, port = listener.getsockname()[:2]
    address = settings.public_url or _url(host, port)
    settings.data_dir.mkdir(parents=True, exist_ok=True)
    file = settings.data_dir / _FILE
    file.write_text(address, "utf-8")
    try:
        yield address
    finally:
        # Another service on the same folder may have written its own since.
        with suppress(FileNotFoundError):
            if file.read_text("utf-8") == address:
                file.unlink()


@contextmanager
def alone(settings: Settings) -> Iterator[None]:
    """Keeps other `agentforge up` off the data folder, where commands look for one address. Raises ConflictError."""
    with (settings.data_dir / "up.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            folder = settings.data_dir.resolve()
            raise ConflictError(f"`agentforge up` runs on {folder} already, at {known_address(settings)}.") from None
        yield


def known_address(settings: Settings) -> str:
    """The public address, or that of the service running on this data folder, or that which the settings would give."""
    if settings.public_url is not None:
        return settings.public_url
    with suppress(FileNotFoundError):
        return (settings.data_dir / _FILE).read_text("utf-8")
    return _url(settings.host, settings.port)
