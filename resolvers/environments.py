"""Environments: listing and creating."""

from db import environments
from db.environments import Environment
from db.errors import ConflictError
from db.tenant import Tenant
from resolvers.names import check_name, check_slug
from resolvers.pages import Listing, newest_first


def newest(first: int | None = None, after: str | None = None) -> Listing[Environment]:
    return newest_first("environments newest", environments.PAGE, environments.COUNT, (), first, after)


async def create(tenant: Tenant, slug: str, name: str) -> Environment:
    """Raises InvalidInputError, or ConflictError when the slug is taken."""
    check_slug(slug)
    check_name(name)
    async with tenant.transaction() as transaction:
        environment = await transaction.fetch_one(environments.CREATE, slug, name)
    if environment is None:
        raise ConflictError(f"There is an environment {slug!r} already.")
    return environment
