"""The audit of exports over the graph: for owners, of their organization, page by page."""

import json
from typing import Any
from uuid import UUID

import pytest

from db.accounts import Identity
from db.export_audits import ExportOutcome
from db.tenant import Tenant
from resolvers.export_audits import Audit, start
from tests.schema.asking import SUBJECT, ask, execute, nodes, refusals

FIELDS = (
    """id actorId actor actorRole isToken kind format filters { name value } startedAt endedAt outcome lines bytes"""
)
AUDITS = f"""query($first: Int, $after: String) {{ viewer {{ organization {{
  exportAudits(first: $first, after: $after) {{
  totalCount pageInfo {{ hasNextPage endCursor }} edges {{ cursor node {{ {FIELDS} }} }} }} }} }} }}"""
WITHOUT_COUNT = "{ viewer { organization { exportAudits { edges { node { id } } } } } }"


async def begin(tenant: Tenant, kind: str = "all", **filters: str) -> Audit:
    identity = Identity(tenant.organization_id, SUBJECT, "olga@example.org", "owner")
    return await start(tenant, identity, kind, "atif-shaped", filters)


async def listed(tenant: Tenant, **variables: Any) -> Any:
    return (await ask(tenant, AUDITS, "owner", **variables))["viewer"]["organization"]["exportAudits"]


async def test_owners_see_each_export(acme: Tenant) -> None:
    ended, lost = await begin(acme, "recovery", limit="5"), await begin(acme)
    await ended.finish(ExportOutcome.COMPLETED, 2**40, 2**53 + 1)
    found = await listed(acme)
    newest, oldest = nodes(found)
    assert (newest["id"], newest["outcome"], newest["endedAt"]) == (str(lost.id), "STARTED", None)
    assert oldest["startedAt"] < oldest["endedAt"]
    assert {name: oldest[name] for name in oldest if not name.endswith("At")} == {
        "id": str(ended.id),
        "actorId": str(SUBJECT),
        "actor": "olga@example.org",
        "actorRole": "OWNER",
        "isToken": False,
        "kind": "RECOVERY",
        "format": "atif-shaped",
        "filters": [{"name": "limit", "value": "5"}],
        "outcome": "COMPLETED",
        "lines": str(2**40),
        "bytes": str(2**53 + 1),
    }
    assert found["totalCount"] == 2


async def test_pages_stay_as_they_were_while_exports_begin(acme: Tenant) -> None:
    made = [str((await begin(acme)).id) for _ in range(5)][::-1]
    seen, after = [], None
    for _ in range(3):
        page = await listed(acme, first=2, after=after)
        seen += [one["id"] for one in nodes(page)]
        after = page["pageInfo"]["endCursor"]
        await begin(acme)
    assert seen == made
    assert not page["pageInfo"]["hasNextPage"]
    errors = (await execute(acme, AUDITS, "owner", after="bad")).errors
    assert errors
    (refused,) = errors
    assert refused.extensions == {"code": "INVALID_INPUT", "field": ["after"]}


@pytest.mark.parametrize("role", ["member", "viewer"])
async def test_nobody_else_sees_any(acme: Tenant, role: str) -> None:
    await begin(acme)
    result = await execute(acme, AUDITS, role)
    assert result.errors
    (refused,) = result.errors
    assert refused.message == "Only an owner may see who exported what."
    assert refused.extensions == {"code": "FORBIDDEN"}
    assert "olga" not in json.dumps(result.data)
    assert len(await refusals(acme, WITHOUT_COUNT)) == 1


async def test_another_organization_s(acme: Tenant, rival: Tenant) -> None:
    mine = await begin(acme)
    cursor = (await listed(acme))["edges"][0]["cursor"]
    assert (await listed(rival))["totalCount"] == 0
    assert nodes(await listed(rival, after=cursor)) == []
    await Audit(rival, mine.id).finish(ExportOutcome.FAILED, 0, 0)
    (theirs, ours) = await begin(rival), await listed(acme)
    assert [one["id"] for one in nodes(await listed(rival))] == [str(theirs.id)]
    assert [(UUID(one["id"]), one["outcome"]) for one in nodes(ours)] == [(mine.id, "STARTED")]


async def test_what_it_costs(acme: Tenant, statements: list[str]) -> None:
    for _ in range(3):
        await begin(acme)
    statements.clear()
    await ask(acme, WITHOUT_COUNT, "owner")
    assert statements == ["accounts.organizations_by_ids", "export_audits.page"]
    statements.clear()
    await listed(acme)
    assert statements == ["accounts.organizations_by_ids", "export_audits.page", "export_audits.count"]
