"""Environment versions: paging and publishing."""

import hashlib
import json
import re

from pydantic import ValidationError

from db import bundles, environments, versions
from db.errors import InvalidInputError, NotFoundError
from db.query import Json
from db.tenant import Tenant
from db.versions import EnvironmentVersion
from resolvers.ids import parse_id
from resolvers.loaders import VERSION_COUNT_OF_ENVIRONMENT, VERSIONS_OF_ENVIRONMENT
from resolvers.manifest import Manifest, parse_manifest
from resolvers.pages import Listing, newest_first

_SHA256 = re.compile(r"[0-9a-f]{64}", re.ASCII)


def of_environment(first: int | None = None, after: str | None = None) -> Listing[EnvironmentVersion]:
    return newest_first("versions newest", VERSIONS_OF_ENVIRONMENT, VERSION_COUNT_OF_ENVIRONMENT, (), first, after)


def canonical_manifest(manifest: object) -> str:
    """Canonical JSON: keys sorted, no white space, everything outside ASCII escaped. Raises ValueError for NaN."""
    return json.dumps(manifest, sort_keys=True, separators=(",", ":"), allow_nan=False)


def digest(manifest: object, bundle_sha256: str | None) -> str:
    """SHA-256 over the canonical manifest, a newline, and the bundle's SHA-256 (empty without one), in hex."""
    return hashlib.sha256(f"{canonical_manifest(manifest)}\n{bundle_sha256 or ''}".encode()).hexdigest()


def check_manifest(manifest: object) -> Manifest:
    """Raises InvalidInputError that names the first field at fault."""
    try:
        return parse_manifest(manifest)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        path = ["manifest", *map(str, first["loc"])]
        raise InvalidInputError(f"{'.'.join(path)}: {first['msg']}.", path) from None


def check_bundle_name(manifest: Manifest, bundle_sha256: str | None) -> None:
    """Raises InvalidInputError for what is no SHA-256, and for none where the manifest uses a bundle."""
    field = ["bundleSha256"]
    if bundle_sha256 is not None:
        if not _SHA256.fullmatch(bundle_sha256):
            raise InvalidInputError("A bundle is named by its SHA-256: 64 lower-case hex digits.", field)
    elif any("{bundle}" in part for part in (*manifest.world.command, *manifest.evaluator.command)):
        raise InvalidInputError("The manifest uses {bundle}, and no bundle is given.", field)


async def publish(
    tenant: Tenant, environment_id: str, manifest: object, bundle_sha256: str | None
) -> EnvironmentVersion:
    """The next version of an environment; the version that is there already when manifest and bundle are the same.

    Raises NotFoundError for an unknown environment, InvalidInputError for a manifest or bundle that cannot be used.
    """
    check_bundle_name(check_manifest(manifest), bundle_sha256)
    version_digest, text = digest(manifest, bundle_sha256), Json(json.dumps(manifest, allow_nan=False))
    async with tenant.transaction() as transaction:
        key = parse_id(environment_id)
        if key is None or not await transaction.fetch(environments.BY_IDS, [key]):
            raise NotFoundError("There is no such environment.")
        if bundle_sha256 is not None and not await transaction.fetch_one(bundles.EXISTS, bundle_sha256):
            raise InvalidInputError(
                f"No bundle {bundle_sha256} was uploaded; first PUT it to /api/v1/bundles/<its SHA-256>.",
                ["bundleSha256"],
            )
        await transaction.fetch(environments.LOCK, key)
        version = await transaction.fetch_one(versions.BY_DIGEST, key, version_digest)
        if version is None:
            version = await transaction.fetch_one(versions.PUBLISH, key, version_digest, text, bundle_sha256)
    assert version is not None
    return version
