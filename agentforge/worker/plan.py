"""What a job asks for: its trials, its manifest, its agent and the unpacked files of its environment."""

import asyncio
import json
from dataclasses import dataclass, field
from pathlib import Path
from uuid import UUID

from pydantic import ValidationError

from agentforge.worker.records import of_job
from db import bundles, configurations, runs, trials, versions
from db.configurations import EvaluatorConfiguration
from db.errors import ConflictError, NotFoundError
from db.patience import Patience
from db.tenant import Tenant
from db.trials import EvaluationTrial
from db.versions import EnvironmentVersion
from resolvers.bundles import BundleError, unpack_bundle, unpacked_bundle
from resolvers.manifest import Manifest, parse_manifest
from resolvers.secret_keys import SecretKeys
from resolvers.secrets import read_secrets


class CannotRunError(RuntimeError):
    """The run itself cannot be carried out, whatever its agent would do; the message says why."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything that executing a job's attempts needs; `secrets` are variables of its agents."""

    trials: list[EvaluationTrial]
    manifest: Manifest
    agent_command: tuple[str, ...]
    bundle: Path | None
    secrets: dict[str, str] = field(repr=False)


async def start_run(
    tenant: Tenant, run_id: UUID, job_id: int, cache: Path, keys: SecretKeys, patiently: Patience
) -> Plan | None:
    """Mark the run as running and read what this job of it needs; None when the run is unknown or has ended.

    Raises CannotRunError.
    """
    asked = await patiently(lambda: _ask(tenant, run_id, job_id))
    if asked is None:
        return None
    version, configuration, attempts = asked
    try:
        manifest = parse_manifest(json.loads(version.manifest))
    except ValidationError as error:
        raise CannotRunError(f"the manifest cannot be executed: {error.errors()[0]['msg']}") from error
    try:
        secrets = await patiently(lambda: read_secrets(tenant, keys, configuration.secrets))
    except (NotFoundError, ConflictError) as error:
        raise CannotRunError(error.message) from error
    bundle = await _unpack(tenant, version.bundle_sha256, cache, patiently) if version.bundle_sha256 else None
    return Plan(attempts, manifest, tuple(configuration.agent_command), bundle, secrets)


async def _ask(
    tenant: Tenant, run_id: UUID, job_id: int
) -> tuple[EnvironmentVersion, EvaluatorConfiguration, list[EvaluationTrial]] | None:
    async with tenant.transaction() as transaction:
        run = await transaction.fetch_one(runs.START, run_id)
        if run is None:
            return None
        (version,) = await transaction.fetch(versions.BY_IDS, [run.environment_version_id])
        (configuration,) = await transaction.fetch(configurations.BY_IDS, [run.evaluator_configuration_id])
        attempts = await transaction.fetch(trials.BY_RUNS, [run.id])
        return version, configuration, of_job(run, attempts, job_id)


async def _unpack(tenant: Tenant, sha256: str, cache: Path, patiently: Patience) -> Path:
    if (unpacked := await asyncio.to_thread(unpacked_bundle, cache, sha256)) is not None:
        return unpacked
    stored = await patiently(lambda: tenant.fetch_one(bundles.CONTENT, sha256))
    if stored is None:
        raise CannotRunError(f"bundle {sha256} is missing")
    try:
        return await asyncio.to_thread(unpack_bundle, stored.content, cache, sha256)
    except BundleError as error:
        raise CannotRunError(f"bundle {sha256} cannot be unpacked: {error}") from error
