"""What this machine cannot hold agents to, told when a worker starts."""

import os
import re
import sys
from pathlib import Path
from typing import Final

_SET_PRIORITIES: Final = 1 << 23  # CAP_SYS_NICE of linux/capability.h


def gaps(*, sandboxed: bool) -> list[str]:
    """Returns one sentence for each limit that is weaker here than on a machine that has all that is used."""
    if sys.platform != "linux":
        return [
            "Only Linux tells of orphans: a process whose parent has ended outlives its attempt, and is not measured."
        ]
    if os.geteuid() == 0 and not sandboxed and not _capabilities() & _SET_PRIORITIES:
        return [
            "The kernel does not limit the processes of root, and without CAP_SYS_NICE those that watch come last: "
            "a fork bomb may take minutes to end. Run workers as another user, use the sandbox, or limit the "
            "container's processes."
        ]
    return []


def _capabilities() -> int:
    found = re.search(r"^CapEff:\s*([0-9a-f]+)$", Path("/proc/self/status").read_text(), re.MULTILINE)
    return int(found[1], 16) if found else 0
