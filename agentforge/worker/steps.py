"""Steps: what the agent asked of the world and what came back, kept in memory and in a file."""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from agentforge.worker.redaction import Redactor

COMMAND_BYTES: Final = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Step:
    """One request with its response; `step` counts from 1. Texts may hold NUL and lone surrogates."""

    step: int
    tool: str
    command: str
    observation: str


def encode_step(step: Step) -> str:
    """Returns one line of canonical JSON in ASCII, so that every character comes out equal."""
    return json.dumps(asdict(step), ensure_ascii=True, separators=(",", ":"))


def encode_steps(steps: Iterable[Step]) -> str:
    """Returns a JSON array of the steps, on one line."""
    return f"[{','.join(map(encode_step, steps))}]"


class Recorder:
    """Appends each step to a file as it happens, so that steps survive a crash of agent, world or worker."""

    def __init__(self, path: Path, observation_bytes: int, redactor: Redactor, steps: list[Step]) -> None:
        """`steps` is filled as they happen, for whoever keeps them elsewhere too."""
        self._path = path
        self._file = path.open("w", encoding="ascii")
        self._observation_bytes = observation_bytes
        self._redactor = redactor
        self.steps = steps
        self.size = 0  # characters held and written, to bound them

    def hold(self, command: str) -> str:
        """Returns a command as it will be kept, for a request that waits for its answer."""
        held = self._redactor.shortened(command, COMMAND_BYTES)
        self.size += len(held)
        return held

    def add(self, tool: str, command: str, observation: str) -> None:
        step = Step(
            step=len(self.steps) + 1,
            tool=self._redactor.shortened(tool, self._observation_bytes),
            command=self._redactor.shortened(command, COMMAND_BYTES),
            observation=self._redactor.shortened(observation, self._observation_bytes),
        )
        self.steps.append(step)
        self.size += self._file.write(encode_step(step) + "\n")
        self._file.flush()

    def rewrite(self) -> None:
        """Writes the file anew: the evaluator reads what was recorded, whatever the agent did to the file."""
        self._file.close()
        self._path.unlink(missing_ok=True)
        self._file = self._path.open("w", encoding="ascii")
        self._file.writelines(encode_step(step) + "\n" for step in self.steps)
        self._file.flush()

    def close(self) -> None:
        self._file.close()
