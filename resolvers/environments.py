"""Environments: listing and creating."""

from db import environments
from db.environments import Environment
from db.errors import ConflictError
from db.tenant import Tenant
from resolvers.names import check_name, check_slug
from resolvers.pages import Page, decode_id_cursor, encode_cursor, page, page_size

LISTING = "environments newest"


def cursor(row: Environment) -> str:
    return encode_cursor(LISTING, str(row.id))


async def newest(tenant: Tenant, first: int | None, after: str | None) -> Page[Environment]:
    size = page_size(first)
    rows = await tenant.fetch(environments.PAGE, decode_id_cursor(LISTING, after), size + 1)

    async def count() -> int:
        (total,) = await tenant.fetch(environments.COUNT)
        return total.total

    return page(rows, size, after, cursor, count)


async def create(tenant: Tenant, slug: str, name: str) -> Environment:
    """Raises InvalidInputError, or ConflictError when the slug is taken."""
    check_slug(slug)
    check_name(name)
    async with tenant.transaction() as transaction:
        environment = await transaction.fetch_one(environments.CREATE, slug, name)
    if environment is None:
        raise ConflictError(f"There is an environment {slug!r} already.")
    return environment
