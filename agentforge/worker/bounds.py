"""What one tree of processes may use, and how it is started."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from agentforge.worker import guard
from agentforge.worker.guards import Guards
from agentforge.worker.sandbox import STREAMS


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """What one tree of processes may use, and how it is started.

    `folders` are those measured. `sandbox` starts what it is put in front of; outside of one, `guards` start guards.
    """

    memory_bytes: int
    processes: int
    disk_bytes: int
    folders: tuple[Path, ...]
    sandbox: tuple[str, ...] = ()
    guards: Guards | None = None

    def describe(self, kind: str) -> str:
        """Says what a tree over its limit of this kind (see `guard`) did."""
        return {
            "memory": f"held more than {self.memory_bytes} bytes of memory",
            "process": f"ran more than {self.processes} processes or their threads at once",
            "disk": f"kept more than {self.disk_bytes} bytes in its folders",
        }[kind]

    def guarded(self, control: int, command: Sequence[str]) -> list[str]:
        """Returns the command line of a guard over this command."""
        # Outside Linux the guard needs psutil.
        python = [sys.executable, "-I", *(["-S"] if sys.platform == "linux" else []), str(Path(guard.__file__))]
        numbers = (control, STREAMS if self.sandbox else 0, self.memory_bytes, self.processes, self.disk_bytes)
        return [*self.sandbox, *python, *map(str, numbers), *map(str, self.folders), "--", *command]
