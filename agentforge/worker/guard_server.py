"""Forks a guard for each command that a worker starts, which takes a twentieth of the time of starting Python.

Run by its path in a process of its own (see `guards`), with the descriptor of a socket to the worker as its argument.
Each byte on it brings four descriptors: those of a guard's control socket and of its command's standard streams. What
the guard is to do comes over the control socket, so that a long request holds up nobody else.

It ends when the worker does. The guards do not need it: each of them hears of the worker's end by itself.
"""

import contextlib
import gc
import json
import os
import signal
import socket
import sys

sys.path.append(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))  # noqa: PTH100, PTH120

from agentforge.worker import guard

_DESCRIPTORS = 4


def main() -> None:
    worker = socket.socket(fileno=int(sys.argv[1]))
    worker.set_inheritable(False)
    signal.signal(signal.SIGCHLD, _reap)
    guard.cannot_be_traced()
    gc.freeze()  # what the guards share stays shared
    while True:
        byte, descriptors, _, _ = socket.recv_fds(worker, 1, _DESCRIPTORS)
        if not byte:
            return
        for descriptor in descriptors:
            # A command that had one could speak for its guard, or keep the worker from hearing of its end.
            os.set_inheritable(descriptor, False)
        if len(descriptors) == _DESCRIPTORS:
            _fork(worker, *descriptors)
        for descriptor in descriptors:
            os.close(descriptor)


def _fork(worker: socket.socket, control: int, *streams: int) -> None:
    # Where the kernel refuses, the worker sees the control socket end.
    with contextlib.suppress(OSError):
        if os.fork() == 0:
            try:
                worker.close()
                _be_guard(control, streams)
            finally:
                os._exit(0)


def _be_guard(control: int, streams: tuple[int, ...]) -> None:
    os.setsid()
    for number, descriptor in enumerate(streams):
        os.dup2(descriptor, number)
        os.close(descriptor)
    text = guard.read_request(control)
    if not text:
        return
    request = json.loads(text)
    env = request["env"]
    # The rest would be copied for nothing.
    os.environ["PATH"] = env.get("PATH", os.defpath)
    try:
        os.chdir(request["cwd"])
    except OSError as error:
        guard.report(control, f"error {error}")
        return
    guard.stay(control, request["command"], env, *request["bounds"], folders=request["folders"])


def _reap(*_: object) -> None:
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


if __name__ == "__main__":
    main()
