"""The room of one attempt: its folders, the placeholders of its commands and what each process may know."""

import json
import os
import re
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from agentforge.settings import SandboxPart as Part
from agentforge.worker.bounds import Bounds
from agentforge.worker.guards import Guards
from agentforge.worker.parts import Parts
from agentforge.worker.removal import remove_folder
from agentforge.worker.sandbox import Sandbox
from agentforge.worker.steps import Step
from resolvers.manifest import Manifest

_PLACEHOLDER: Final = re.compile(r"\{([a-z_]+)\}")
_SOCKET_BYTES: Final = 100  # the kernel's limit is 107 on Linux, 103 on macOS
PASSED_VARIABLES: Final = "AGENTFORGE_AGENT_ENVIRONMENT"


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One execution of an agent.

    `bundle` is the environment's unpacked folder, shared and only read; `directory` is empty, of this
    execution alone, and removed by the caller. `secrets` are variables of the agent's process, and of no other.
    `steps` grows while the agent works, and `parts` tells which one is under way. Without `guards` each command waits
    for a guard of its own to start.
    """

    manifest: Manifest
    agent_command: tuple[str, ...]
    seed: int
    attempt: int
    bundle: Path | None
    directory: Path
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    steps: list[Step] = field(default_factory=list)
    sandbox: Sandbox | None = None
    guards: Guards | None = None
    parts: Parts = field(default_factory=Parts)


def substitute(command: Sequence[str], values: Mapping[str, str]) -> list[str]:
    """Fills in the `{names}` of `values`, once; all other braces stay as they are.

    The world knows python, bundle, seed, attempt and task; the evaluator steps besides; the agent task,
    workspace, mcp_config, seed, attempt, python and bundle. Without a bundle, `{bundle}` is left alone.
    """

    def value(match: re.Match[str]) -> str:
        return values.get(match[1], match[0])

    return [_PLACEHOLDER.sub(value, argument) for argument in command]


def passed_variables() -> dict[str, str]:
    """The worker's variables that the agent may see, named in AGENTFORGE_AGENT_ENVIRONMENT (comma separated).

    Variables of the service itself (AGENTFORGE_...) never are.
    """
    names = (name.strip() for name in os.environ.get(PASSED_VARIABLES, "").split(","))
    return {name: os.environ[name] for name in names if name in os.environ and not name.startswith("AGENTFORGE_")}


class Room:
    """Makes the folders and knows the command lines and environments. `close` removes what lies elsewhere."""

    def __init__(self, attempt: Attempt) -> None:
        self._attempt = attempt
        directory = attempt.directory.resolve()
        self.workspace = directory / "workspace"
        self.world = directory / "world"
        self.steps = directory / "steps.jsonl"
        self._mcp_config = directory / "mcp.json"
        self._temporary = {name: directory / f"{name}-tmp" for name in ("agent", "world")}
        for folder in (self.workspace, self.world, *self._temporary.values()):
            folder.mkdir()
        self.socket = directory / "agent.sock"
        self._elsewhere: Path | None = None
        if len(os.fsencode(self.socket)) > _SOCKET_BYTES:
            self._elsewhere = Path(tempfile.mkdtemp(prefix="agentforge-"))
            self.socket = self._elsewhere / "agent.sock"
        arguments = ["-P", "-m", "agentforge.worker.bridge", str(self.socket)]
        server = {"command": sys.executable, "args": arguments}
        self._mcp_config.write_text(json.dumps({"mcpServers": {"environment": server}}))

    def close(self) -> None:
        if self._elsewhere:
            remove_folder(self._elsewhere)

    def world_command(self) -> list[str]:
        return substitute(self._attempt.manifest.world.command, self._values())

    def evaluator_command(self) -> list[str]:
        values = self._values() | {"steps": str(self.steps)}
        return substitute(self._attempt.manifest.evaluator.command, values)

    def agent_command(self) -> list[str]:
        values = {"workspace": str(self.workspace), "mcp_config": str(self._mcp_config)}
        return substitute(self._attempt.agent_command, self._values() | values)

    def world_environment(self) -> dict[str, str]:
        return self._bundle_environment() | self._attempt.manifest.world.env

    def evaluator_environment(self) -> dict[str, str]:
        steps = {"AGENTFORGE_STEPS": str(self.steps)}
        return self._bundle_environment() | steps | self._attempt.manifest.evaluator.env

    def agent_environment(self, passed: Mapping[str, str]) -> dict[str, str]:
        """Keeps the worker's home: agents look there for their sign-in."""
        home = os.environ.get("HOME", str(self.workspace))
        return self._scrubbed(home, self._temporary["agent"]) | dict(passed)

    def agent_bounds(self) -> Bounds:
        shown = [self._mcp_config, self.socket]
        if any("{bundle}" in argument for argument in self._attempt.agent_command):
            shown += self._bundle()
        return self._bounds("agent", (self.workspace, self._temporary["agent"]), shown)

    def world_bounds(self) -> Bounds:
        return self._bounds("world", (self.world, self._temporary["world"]), self._bundle())

    def evaluator_bounds(self) -> Bounds:
        return self._bounds("evaluator", (self.world, self._temporary["world"]), [*self._bundle(), self.steps])

    def _bundle(self) -> list[Path]:
        return [] if self._attempt.bundle is None else [self._attempt.bundle]

    def _bounds(self, part: Part, folders: tuple[Path, ...], shown: list[Path]) -> Bounds:
        """The first of the folders is the working one."""
        limits, sandbox = self._attempt.manifest.limits, self._attempt.sandbox
        return Bounds(
            memory_bytes=limits.memory_bytes,
            processes=limits.processes,
            disk_bytes=limits.disk_bytes,
            folders=folders,
            sandbox=sandbox.command(part, folders[0], writable=folders, readable=shown) if sandbox else (),
            guards=self._attempt.guards,
        )

    def _values(self) -> dict[str, str]:
        attempt = self._attempt
        values = {
            "python": sys.executable,
            "task": attempt.manifest.task,
            "seed": str(attempt.seed),
            "attempt": str(attempt.attempt),
        }
        return values if attempt.bundle is None else values | {"bundle": str(attempt.bundle)}

    def _bundle_environment(self) -> dict[str, str]:
        environment = self._scrubbed(str(self.world), self._temporary["world"])
        if self._attempt.bundle is None:
            return environment
        # The bundle is shared by all attempts on this worker: no byte code may be written beside its modules.
        return environment | {"PYTHONPATH": str(self._attempt.bundle), "PYTHONDONTWRITEBYTECODE": "1"}

    def _scrubbed(self, home: str, temporary: Path) -> dict[str, str]:
        return {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": home,
            "LANG": os.environ.get("LANG", "C.UTF-8"),
            "TMPDIR": str(temporary),
            "AGENTFORGE_SEED": str(self._attempt.seed),
            "AGENTFORGE_ATTEMPT": str(self._attempt.attempt),
        }
