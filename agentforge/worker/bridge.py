"""Joins standard input and output to a unix socket, for MCP clients that start their servers as commands.

`python -P -m agentforge.worker.bridge SOCKET`; standard library only, as each agent waits for its start.
"""

import contextlib
import os
import socket
import sys
import threading
from typing import Final

_PIECE: Final = 65_536


def _send_input(connection: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := os.read(0, _PIECE):
            connection.sendall(data)
        # The answers still under way are wanted: only this direction has ended.
        connection.shutdown(socket.SHUT_WR)


def _write(data: bytes) -> None:
    while data:
        data = data[os.write(1, data) :]


def main() -> int:
    """Returns 0 when the world or the client ended the conversation, 1 when there is no world to talk to."""
    connection = socket.socket(socket.AF_UNIX)
    try:
        connection.connect(sys.argv[1])
    except OSError as error:
        os.write(2, f"no environment at {sys.argv[1]}: {error.strerror}\n".encode())
        return 1
    threading.Thread(target=_send_input, args=(connection,), daemon=True).start()
    with contextlib.suppress(OSError):
        while data := connection.recv(_PIECE):
            _write(data)
    return 0


if __name__ == "__main__":
    sys.exit(main())
