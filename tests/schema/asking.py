"""Asks the graph as a member of an organization, in this process."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from uuid import UUID

from strawberry.types import ExecutionResult

from db.accounts import Identity
from db.changes import Changes
from db.tenant import Tenant
from resolvers.context import Session
from resolvers.secret_keys import SecretKeys
from schema.encoding import encode_json
from schema.graph import graph

SUBJECT = UUID(int=7)
KEYS = SecretKeys([SecretKeys.new()])
UNKNOWN = "01890a5d-ac96-774b-bcce-b302099a8057"


def session(tenant: Tenant, role: str = "member", changes: Changes | None = None) -> Session:
    identity = Identity(tenant.organization_id, SUBJECT, "ada@example.org", role)
    return Session(changes or Changes(), tenant, identity, keys=KEYS)


async def execute(tenant: Tenant, text: str, role: str = "member", **variables: Any) -> ExecutionResult:
    result = await graph.execute(text, variable_values=variables, context_value=session(tenant, role))
    # As a client reads it: JSON text that is passed on is a value there.
    result.data = json.loads(encode_json(result.data))
    return result


async def ask(tenant: Tenant, text: str, role: str = "member", **variables: Any) -> Any:
    """The data of an answer that has no errors."""
    result = await execute(tenant, text, role, **variables)
    assert result.errors is None
    return result.data


async def refusals(tenant: Tenant, text: str, **variables: Any) -> list[dict[str, Any]]:
    """The errors of an answer that must have some, as a client reads them."""
    result = await execute(tenant, text, **variables)
    assert result.errors
    return [dict(error.formatted) for error in result.errors]


def nodes(connection: Any) -> list[Any]:
    return [edge["node"] for edge in connection["edges"]]


@asynccontextmanager
async def subscribed(
    tenant: Tenant, changes: Changes, text: str, **variables: Any
) -> AsyncIterator[AsyncIterator[Any]]:
    """The results of a subscription, which ends with the block."""
    results: Any = await graph.subscribe(
        text, variable_values=variables, context_value=session(tenant, changes=changes)
    )
    try:
        yield results
    finally:
        await results.aclose()
