"""Settings of every process: AGENTFORGE_* environment variables."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Field, SecretStr
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

if TYPE_CHECKING:
    from resolvers.secret_keys import SecretKeys

SandboxMode = Literal["auto", "bubblewrap", "none"]
SandboxPart = Literal["agent", "world", "evaluator"]
LogLevel = Literal["debug", "info", "warning", "error", "critical"]


def _web_address(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.netloc or parts.query or parts.fragment:
        raise ValueError("must be a web address such as https://forge.example.com")
    return url.rstrip("/")


def _secret_keys(keys: SecretStr) -> SecretStr:
    from resolvers.secret_keys import SecretKeys

    SecretKeys.parse(keys.get_secret_value())
    return keys


def _lower(value: object) -> object:
    return value.lower() if isinstance(value, str) else value


def _split(separator: str) -> BeforeValidator:
    def split(value: object) -> object:
        return [part.strip() for part in value.split(separator) if part.strip()] if isinstance(value, str) else value

    return BeforeValidator(split)


class Settings(BaseSettings):
    """Read from AGENTFORGE_<NAME>; an empty variable counts as unset. The repr leaves databases and keys out.

    Raises pydantic.ValidationError, without the offending values, which may be secrets.
    """

    model_config = SettingsConfigDict(
        env_prefix="AGENTFORGE_", env_ignore_empty=True, frozen=True, hide_input_in_errors=True
    )

    data_dir: Path = Field(
        default=Path(".agentforge"), description="Folder of the embedded database and of caches; made when missing."
    )
    database_url: str | None = Field(
        default=None,
        repr=False,
        description="PostgreSQL 18 server that API and workers connect to, as the role agentforge_app; "
        "unset: the embedded server of the data folder.",
    )
    owner_database_url: str | None = Field(
        default=None,
        repr=False,
        description="The same database as its owner, for `agentforge migrate` and `agentforge up` only.",
    )
    organization: str = Field(default="demo", description="Organization that commands act for when none is named.")
    host: str = Field(default="127.0.0.1", description="Address that the API listens on.")
    port: int = Field(default=8000, ge=0, le=65535, description="Port that the API listens on; 0 takes a free one.")
    public_url: Annotated[str, AfterValidator(_web_address)] | None = Field(
        default=None,
        description="Address that people use, where a proxy makes it another; https makes cookies Secure.",
    )
    session_days: int = Field(default=14, ge=1, le=365, description="Days until a person has to sign in again.")
    statement_seconds: float = Field(
        default=15.0,
        ge=0.001,
        le=86_400,
        description="Seconds that a statement of the API may take; exports and workers have no such limit.",
    )
    log_level: Annotated[LogLevel, BeforeValidator(_lower)] = Field(
        default="info", description="Least severe level that is logged."
    )
    metrics_token: SecretStr | None = Field(
        default=None,
        min_length=16,
        repr=False,
        description="What Prometheus sends as a bearer token to read /metrics; unset: there is no /metrics.",
    )
    concurrency: int = Field(
        default_factory=lambda: os.cpu_count() or 1,
        ge=1,
        description="Trials that one worker executes at a time; unset: one for each processor.",
    )
    lease_seconds: float = Field(
        default=30.0,
        gt=0,
        allow_inf_nan=False,
        description="Seconds after which the runs of a silent worker go to another one.",
    )
    secret_keys: Annotated[SecretStr, AfterValidator(_secret_keys)] | None = Field(
        default=None,
        repr=False,
        description="Keys for the secrets of agents, separated by commas: the first encrypts, all decrypt.",
    )
    sandbox: Annotated[SandboxMode, BeforeValidator(_lower)] = Field(
        default="none",
        description="Isolation of agents, worlds and evaluators: bubblewrap, auto (bubblewrap where it works) or none.",
    )
    sandbox_network: Annotated[tuple[SandboxPart, ...] | None, NoDecode, _split(",")] = Field(
        default=None,
        description="Which of agent, world and evaluator keep the network in the sandbox, separated by commas.",
    )
    sandbox_paths: Annotated[tuple[Path, ...] | None, NoDecode, _split(os.pathsep)] = Field(
        default=None,
        description="Absolute paths that agents may read in the sandbox besides, separated by colons.",
    )

    def encryption_keys(self) -> "SecretKeys":
        """For the secrets of agents; none where none is set."""
        from resolvers.secret_keys import SecretKeys

        return SecretKeys.parse(None if self.secret_keys is None else self.secret_keys.get_secret_value())

    stop_seconds: float = Field(
        default=5.0,
        ge=0,
        le=86_400,
        description="Seconds that attempts have to end when their worker is told to stop, before they are handed back.",
    )
