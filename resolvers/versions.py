"""Environment versions: paging and publishing."""

import hashlib
import json
from uuid import UUID

from pydantic import ValidationError

from db import bundles, environments, versions
from db.errors import ExpectedError, InvalidInputError, NotFoundError
from db.query import Json
from db.tenant import Tenant, Transaction
from db.versions import EnvironmentVersion
from resolvers.context import Context
from resolvers.ids import parse_id
from resolvers.loaders import VERSION_COUNT_OF_ENVIRONMENT, VERSIONS_OF_ENVIRONMENT
from resolvers.manifest import Manifest, parse_manifest
from resolvers.pages import Page, decode_id_cursor, encode_cursor, page, page_size


def cursor(row: EnvironmentVersion) -> str:
    return encode_cursor("newest", str(row.id))


async def of_environment(
    context: Context, environment_id: UUID, first: int | None, after: str | None
) -> Page[EnvironmentVersion]:
    size = page_size(first)
    rows = await context.load(VERSIONS_OF_ENVIRONMENT, environment_id, decode_id_cursor("newest", after), size + 1)

    async def count() -> int:
        total = await context.load(VERSION_COUNT_OF_ENVIRONMENT, environment_id)
        return total.total if total else 0

    return page(rows, size, after, cursor, count)


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


async def _check_bundle(transaction: Transaction, manifest: Manifest, bundle_sha256: str | None) -> None:
    field = ["bundleSha256"]
    if bundle_sha256 is not None:
        if not await transaction.fetch_one(bundles.EXISTS, bundle_sha256[:64]):
            raise InvalidInputError(
                f"No bundle {bundle_sha256[:64]} was uploaded; first PUT it to /api/v1/bundles/<its SHA-256>.",
                field,
            )
    elif any("{bundle}" in part for part in (*manifest.world.command, *manifest.evaluator.command)):
        raise InvalidInputError("The manifest uses {bundle}, and no bundle is given.", field)


async def publish(
    tenant: Tenant, environment_id: str, manifest: object, bundle_sha256: str | None
) -> EnvironmentVersion:
    """The next version of an environment; the version that is there already when manifest and bundle are the same.

    Raises NotFoundError for an unknown environment, InvalidInputError for a manifest or bundle that cannot be used.
    """
    parsed = check_manifest(manifest)
    try:
        version_digest, text = digest(manifest, bundle_sha256), Json(json.dumps(manifest, allow_nan=False))
    except ValueError:
        raise InvalidInputError("NaN and infinities are not JSON.", ["manifest"]) from None
    async with tenant.transaction() as transaction:
        key = parse_id(environment_id)
        if key is None or not await transaction.fetch(environments.BY_IDS, [key]):
            raise NotFoundError("There is no such environment.")
        await _check_bundle(transaction, parsed, bundle_sha256)
        await transaction.fetch(environments.LOCK, key)
        version = await transaction.fetch_one(versions.BY_DIGEST, key, version_digest)
        if version is None:
            version = await transaction.fetch_one(versions.PUBLISH, key, version_digest, text, bundle_sha256)
    if version is None:
        raise ExpectedError("The version was not stored.")
    return version
