"""Secrets over the graph: owners set and remove them, everybody sees names in configurations, nobody sees a value."""

import json
from typing import Any

import asyncpg
import pytest
from structlog.processors import format_exc_info
from structlog.testing import capture_logs

from db import secrets as rows
from db.accounts import Identity
from db.changes import Changes
from db.tenant import Tenant
from resolvers import secrets
from resolvers.context import Session
from schema.graph import graph
from tests.schema.asking import KEYS, SUBJECT, ask, nodes, refusals

VALUE = "a value that nobody sees"
ANSWER = "__typename ... on Problem { message } ... on InvalidInput { field }"
SET = f"""mutation($i: SetSecretInput!) {{ answer: setSecret(input: $i) {{
  {ANSWER} ... on Secret {{ id name createdAt updatedAt updatedBy }} }} }}"""
LIST = "secrets { totalCount edges { node { id name createdAt updatedAt updatedBy } } }"
REMOVE = f"""mutation($i: RemoveSecretInput!) {{ answer: removeSecret(input: $i) {{
  {ANSWER} ... on Organization {{ id {LIST} }} }} }}"""
CREATE = f"""mutation($i: CreateEvaluatorConfigurationInput!) {{ answer: createEvaluatorConfiguration(input: $i) {{
  {ANSWER} ... on EvaluatorConfiguration {{ name secrets }} }} }}"""
SECRETS = f"{{ viewer {{ organization {{ {LIST} }} }} }}"


async def answer(tenant: Tenant, text: str, role: str = "owner", **given: Any) -> Any:
    return (await ask(tenant, text, role, i=given))["answer"]


async def listed(tenant: Tenant) -> list[Any]:
    found = (await ask(tenant, SECRETS, "owner"))["viewer"]["organization"]["secrets"]
    assert found["totalCount"] == len(found["edges"])
    return nodes(found)


async def test_a_secret_is_set_listed_replaced_and_removed(acme: Tenant) -> None:
    made = await answer(acme, SET, name="API_KEY", value=VALUE)
    assert (made["__typename"], made["name"], made["updatedBy"]) == ("Secret", "API_KEY", str(SUBJECT))
    other = await answer(acme, SET, name="OTHER_KEY", value=VALUE)
    del made["__typename"], other["__typename"]
    assert await listed(acme) == [other, made]
    replaced = await answer(acme, SET, name="API_KEY", value="another value")
    assert (replaced["id"], replaced["createdAt"]) == (made["id"], made["createdAt"])
    assert replaced["updatedAt"] > made["updatedAt"]
    assert await secrets.read_secrets(acme, KEYS, ["API_KEY"]) == {"API_KEY": "another value"}
    removed = await answer(acme, REMOVE, name="API_KEY")
    assert nodes(removed["secrets"]) == [other]
    again = await answer(acme, REMOVE, name="API_KEY")
    assert again == {"__typename": "NotFound", "message": "There is no such secret."}


async def test_only_owners_see_and_change_them(acme: Tenant) -> None:
    await answer(acme, SET, name="API_KEY", value=VALUE)
    for role in ("member", "viewer"):
        for text, given in ((SET, {"name": "API_KEY", "value": "another value"}), (REMOVE, {"name": "API_KEY"})):
            assert (await answer(acme, text, role, **given))["__typename"] == "Forbidden"
    (refused,) = await refusals(acme, SECRETS)
    assert (refused["message"], refused["extensions"]["code"]) == ("Only an owner may see the secrets.", "FORBIDDEN")
    assert await secrets.read_secrets(acme, KEYS, ["API_KEY"]) == {"API_KEY": VALUE}


async def test_another_organization_s_secrets(acme: Tenant, rival: Tenant) -> None:
    await answer(acme, SET, name="API_KEY", value=VALUE)
    assert await listed(rival) == []
    assert (await answer(rival, REMOVE, name="API_KEY"))["__typename"] == "NotFound"
    configuration: dict[str, Any] = {"name": "c", "attemptCount": 1, "agentCommand": ["agent"], "secrets": ["API_KEY"]}
    assert (await answer(rival, CREATE, **configuration))["field"] == ["input", "secrets", "0"]
    await answer(rival, SET, name="API_KEY", value="another value")
    assert (await answer(rival, REMOVE, name="API_KEY"))["__typename"] == "Organization"
    assert await secrets.read_secrets(acme, KEYS, ["API_KEY"]) == {"API_KEY": VALUE}


async def test_a_configuration_shows_the_names_to_everybody(acme: Tenant) -> None:
    configuration: dict[str, Any] = {"name": "c", "attemptCount": 1, "agentCommand": ["agent"], "secrets": ["API_KEY"]}
    refused = await answer(acme, CREATE, "member", **configuration)
    assert refused == {
        "__typename": "InvalidInput",
        "message": "There is no secret API_KEY; an owner sets it, with setSecret or `agentforge secret set`.",
        "field": ["input", "secrets", "0"],
    }
    await answer(acme, SET, name="API_KEY", value=VALUE)
    made = await answer(acme, CREATE, "member", **configuration)
    assert made == {"__typename": "EvaluatorConfiguration", "name": "c", "secrets": ["API_KEY"]}
    without = await answer(acme, CREATE, name="d", attemptCount=1, agentCommand=["agent"], secrets=None)
    assert without["secrets"] == []
    shown = await ask(acme, "{ evaluatorConfigurations { edges { node { secrets } } } }", "viewer")
    assert nodes(shown["evaluatorConfigurations"]) == [{"secrets": []}, {"secrets": ["API_KEY"]}]


async def test_what_cannot_be_set(acme: Tenant) -> None:
    for given, field in (({"name": "path"}, "name"), ({"name": "PATH"}, "name"), ({"value": "short"}, "value")):
        refused = await answer(acme, SET, **{"name": "API_KEY", "value": VALUE} | given)
        assert (refused["__typename"], refused["field"]) == ("InvalidInput", ["input", field])
    assert await listed(acme) == []


async def test_without_a_key_nothing_is_set(acme: Tenant) -> None:
    identity = Identity(acme.organization_id, SUBJECT, None, "owner")
    for key in (None, "again"):
        given = {"name": "API_KEY", "value": VALUE, "clientMutationId": key}
        session = Session(Changes(), acme, identity)
        result = await graph.execute(SET, variable_values={"i": given}, context_value=session)
        assert result.data is not None
        assert result.data["answer"]["__typename"] == "Conflict"
        assert "`agentforge secret key` makes one" in result.data["answer"]["message"]


async def test_asked_again_with_its_key_it_is_set_once(
    acme: Tenant, administrator: "asyncpg.Connection[asyncpg.Record]"
) -> None:
    first = await answer(acme, SET, name="API_KEY", value=VALUE, clientMutationId="k")
    (before,) = await acme.fetch(rows.SEALED, ["API_KEY"])
    assert await answer(acme, SET, name="API_KEY", value=VALUE, clientMutationId="k") == first
    assert await acme.fetch(rows.SEALED, ["API_KEY"]) == [before]
    other = await answer(acme, SET, name="API_KEY", value="another value", clientMutationId="k")
    assert other["__typename"] == "Conflict"
    removed = await answer(acme, REMOVE, name="API_KEY", clientMutationId="r")
    assert await answer(acme, REMOVE, name="API_KEY", clientMutationId="r") == removed
    # What is stored is no digest that the value could be guessed from.
    keys = [dict(row) for row in await administrator.fetch("select * from idempotency_keys")]
    digests = {row["request_sha256"] for row in keys}
    assert len(digests) == 2
    assert VALUE not in str(keys)


async def test_no_log_tells_a_value(acme: Tenant, monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail(*_: object, **__: object) -> None:
        raise RuntimeError("the database is on fire")

    monkeypatch.setattr(secrets, "set_secret", fail)
    asked: tuple[tuple[str, dict[str, Any]], ...] = (
        (SET, {"i": {"name": "API_KEY", "value": VALUE}}),
        # Also where the value stands in the document itself, which errors point into.
        (f"mutation {{ answer: setSecret(input: {json.dumps(VALUE)}) {{ __typename }} }}", {}),
        (f'mutation {{ answer: setSecret(input: {{ name: "A", value: "{VALUE}" }}) {{ __typename }} }}', {}),
    )
    identity = Identity(acme.organization_id, SUBJECT, None, "owner")
    # As the service's logs format failures: by their frames, without what stood in them.
    with capture_logs(processors=[format_exc_info]) as logged:
        for text, variables in asked:
            session = Session(Changes(), acme, identity, keys=KEYS)
            result = await graph.execute(text, variable_values=variables, context_value=session)
            assert result.errors
    assert len([event for event in logged if "on fire" in event["exception"]]) == 2
    assert VALUE not in repr(logged)
