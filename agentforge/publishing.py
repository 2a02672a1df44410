"""From a folder to an environment version, and from an agent's command line to a configuration."""

import asyncio
import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

from db import bundles, configurations, environments, versions
from db.configurations import EvaluatorConfiguration
from db.environments import Environment
from db.errors import ConflictError, InvalidInputError, NotFoundError
from db.tenant import Tenant
from db.versions import EnvironmentVersion
from resolvers import configurations as configuration_operations
from resolvers import environments as environment_operations
from resolvers import versions as version_operations
from resolvers.bundles import BundleError, pack_bundle
from resolvers.names import check_text

MANIFEST = "environment.json"


def read_manifest(directory: Path) -> object:
    """The manifest of an environment's folder. Raises InvalidInputError."""
    path = directory / MANIFEST
    try:
        return json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        raise InvalidInputError(f"There is no {path}; an environment's folder has one.", ["directory"]) from None
    except ValueError as error:
        raise InvalidInputError(f"{path} is not JSON: {error}.", ["directory"]) from None


async def ensure_environment(tenant: Tenant, slug: str, name: str) -> Environment:
    """The environment named `slug`, made when missing."""
    found = await tenant.fetch(environments.BY_SLUGS, [slug])
    if found:
        return found[0]
    try:
        return await environment_operations.create(tenant, slug, name)
    except ConflictError:
        (made_by_another,) = await tenant.fetch(environments.BY_SLUGS, [slug])
        return made_by_another


async def publish_directory(tenant: Tenant, directory: Path, slug: str, name: str) -> EnvironmentVersion:
    """Pack a folder and publish it: the next version, or the one that has this very content.

    Raises InvalidInputError for a folder that cannot be packed or a manifest that cannot be used.
    """
    manifest = read_manifest(directory)
    version_operations.check_manifest(manifest)
    try:
        bundle = await asyncio.to_thread(pack_bundle, directory)
    except BundleError as error:
        raise InvalidInputError(str(error), ["directory"]) from None
    environment = await ensure_environment(tenant, slug, name)
    async with tenant.transaction() as transaction:
        await transaction.fetch(bundles.PUT, bundle.sha256, bundle.content)
    return await version_operations.publish(tenant, str(environment.id), manifest, bundle.sha256)


async def latest_version(tenant: Tenant, slug: str) -> EnvironmentVersion:
    """The newest version of the environment named `slug`. Raises NotFoundError."""
    found = await tenant.fetch(environments.BY_SLUGS, [slug])
    newest = await tenant.fetch(versions.LATEST_OF_ENVIRONMENTS, [found[0].id]) if found else []
    if not newest:
        raise NotFoundError(
            f"No version of an environment {slug!r} is published; see `agentforge environment publish`."
        )
    return newest[0]


async def named_configuration(tenant: Tenant, name: str) -> EvaluatorConfiguration:
    """Raises NotFoundError."""
    found = await tenant.fetch_one(configurations.BY_NAME, check_text(name, "configuration"))
    if found is None:
        raise NotFoundError(f"There is no configuration {name!r}; see `agentforge configuration create`.")
    return found


def configuration_name(agent_command: Sequence[str], attempts: int) -> str:
    """Tells a command line apart by its program and a hash, so that the same one gives the same configuration."""
    digest = hashlib.sha256(json.dumps(list(agent_command)).encode()).hexdigest()[:8]
    return f"{Path(agent_command[0]).name.strip('{}')} {digest} x {attempts}"


async def ensure_configuration(tenant: Tenant, agent_command: Sequence[str], attempts: int) -> EvaluatorConfiguration:
    """The configuration of this command line and number of attempts, made when missing. Raises InvalidInputError."""
    name = configuration_name(agent_command, attempts)
    found = await tenant.fetch_one(configurations.BY_NAME, name)
    return found or await configuration_operations.create(tenant, name, attempts, agent_command)
