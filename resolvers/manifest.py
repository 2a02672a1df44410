"""The manifest of an environment version: what an `environment.json` may say."""

import re
from typing import Annotated, Final

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

# The longest argument that Linux gives a process is 128 KiB; four bytes a character is UTF-8's worst.
_TASK_CHARACTERS: Final = 32_000
_UNREPRESENTABLE: Final = re.compile("[\0\ud800-\udfff]")


def _for_a_process(text: str) -> str:
    if _UNREPRESENTABLE.search(text):
        raise ValueError("a process cannot be given NUL or a lone surrogate")
    return text


def _variable_name(name: str) -> str:
    if not name or "=" in name:
        raise ValueError("the name of an environment variable is not empty and holds no '='")
    return name


def _unique(names: tuple[str, ...]) -> tuple[str, ...]:
    if len(set(names)) != len(names):
        raise ValueError("stages must be unique")
    return names


def _file_pattern(pattern: str) -> str:
    names = pattern.split("/")
    if {"", ".", ".."} & set(names):
        raise ValueError("a pattern is relative to the workspace, as in 'out/**/*.log': no leading '/', no '.' or '..'")
    if any("**" in name and name != "**" for name in names):
        raise ValueError("'**' stands for whole folders, as in 'out/**/*.log'")
    return pattern


ProcessText = Annotated[str, AfterValidator(_for_a_process)]
VariableName = Annotated[ProcessText, AfterValidator(_variable_name)]
CommandLine = Annotated[tuple[ProcessText, ...], Field(min_length=1, max_length=1024)]
FilePattern = Annotated[ProcessText, Field(max_length=500), AfterValidator(_file_pattern)]
StageName = Annotated[str, Field(pattern=r"^stage_[a-z0-9_]+$", max_length=128)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Command(_Part):
    """A command line, started without a shell, and variables added to its environment."""

    command: CommandLine
    env: dict[VariableName, ProcessText] = {}


class Limits(_Part):
    """Bounds of one attempt: wall time in seconds, requests of the agent, bytes of UTF-8 and of kept files.

    Those of memory, processes and disk hold for each of its three process trees: agent, world and evaluator.
    """

    seconds: float = Field(default=300, gt=0, le=86_400, allow_inf_nan=False)
    steps: int = Field(default=200, ge=1, le=100_000)
    log_bytes: int = Field(default=65_536, ge=256, le=16 * 1024 * 1024)
    observation_bytes: int = Field(default=16_384, ge=256, le=1024 * 1024)
    artifact_bytes: int = Field(default=16 * 1024 * 1024, ge=0, le=64 * 1024 * 1024)
    memory_bytes: int = Field(default=4 * 1024**3, ge=64 * 1024**2, le=1024**4)
    processes: int = Field(default=256, ge=1, le=100_000)
    disk_bytes: int = Field(default=1024**3, ge=1024**2, le=1024**4)


class Manifest(_Part):
    """What makes an environment version: the task, the world, its evaluator, stages and limits.

    `artifacts` are patterns of the files in the agent's workspace that are kept.
    """

    task: Annotated[ProcessText, Field(min_length=1, max_length=_TASK_CHARACTERS)]
    world: Command
    evaluator: Command
    stages: Annotated[tuple[StageName, ...], AfterValidator(_unique)] = ()
    artifacts: Annotated[tuple[FilePattern, ...], Field(max_length=32)] = ()
    limits: Limits = Limits()


def parse_manifest(value: object) -> Manifest:
    """Checks the parsed JSON of an `environment.json`.

    Raises pydantic.ValidationError, whose errors name each wrong field.
    """
    return Manifest.model_validate(value)
