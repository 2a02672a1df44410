"""What is no id is like an id that nothing has, wherever the schema takes one."""

from typing import Any

import pytest
from graphql import get_named_type
from structlog.testing import capture_logs

from db.tenant import Tenant
from tests.schema.asking import UNKNOWN, execute
from tests.schema.everything import fields_of, id_arguments, id_inputs, mutation, selection, valid_inputs
from tests.schema.serving import WAYS, served
from tests.schema.world import World

#: As they come in JSON; GraphQL takes integers for ids as well.
MALFORMED: dict[str, Any] = {
    "empty": "",
    "a word": "nope",
    "NUL": UNKNOWN[:-1] + "\0",
    "a lone surrogate": "\ud800",
    "braces": f"{{{UNKNOWN}}}",
    "no dashes": UNKNOWN.replace("-", ""),
    "a space": f" {UNKNOWN}",
    "a line break": f"{UNKNOWN}\n",
    "one digit too many": f"{UNKNOWN}0",
    "no hex digit": UNKNOWN[:-1] + "g",
    "foreign digits": UNKNOWN.replace("0", "\u0660"),
    "an URN": f"urn:uuid:{UNKNOWN}",
    "SQL": "' or true --",
    "long": "0" * 100_000,
    "zero": 0,
    "a large number": 10**40,
    "negative": -1,
}


async def told(tenant: Tenant, text: str, **variables: Any) -> tuple[Any, list[Any]]:
    result = await execute(tenant, text, "owner", **variables)
    return result.data, [(error.message, error.extensions) for error in result.errors or ()]


@pytest.mark.parametrize("malformed", MALFORMED.values(), ids=MALFORMED)
async def test_as_an_argument_of_a_query_it_finds_nothing(
    malformed: Any, acme: Tenant, statements: list[str], subtests: pytest.Subtests
) -> None:
    fields = list(id_arguments("Query"))
    assert len(fields) >= 5
    statements.clear()
    for field, argument in fields:
        with subtests.test(field):
            selected = selection(get_named_type(fields_of("Query")[field].type), 0)
            text = f"query($id: ID!) {{ {field}({argument}: $id) {selected} }}"
            assert await told(acme, text, id=malformed) == ({field: None}, [])
    assert statements == []


@pytest.mark.parametrize("malformed", MALFORMED.values(), ids=MALFORMED)
async def test_in_a_filter_it_is_named(malformed: Any, acme: Tenant, subtests: pytest.Subtests) -> None:
    for field, argument, member in id_inputs("Query"):
        query = fields_of("Query")[field]
        text = (
            f"query($filter: {query.args[argument].type}) "
            f"{{ {field}({argument}: $filter) {selection(get_named_type(query.type), 1)} }}"
        )
        with subtests.test(f"{field} {member}"):
            data, errors = await told(acme, text, filter={member: malformed})
            assert data is None
            assert [extensions for _, extensions in errors] == [{"code": "INVALID_INPUT", "field": ["filter", member]}]


@pytest.mark.parametrize("malformed", MALFORMED.values(), ids=MALFORMED)
async def test_in_a_mutation_it_is_not_found(malformed: Any, world: World, subtests: pytest.Subtests) -> None:
    valid = valid_inputs(world)
    for field, _, member in id_inputs("Mutation"):
        with subtests.test(f"{field} {member}"):
            text, variables = mutation(field, valid | {member: malformed})
            data, errors = await told(world.tenant, text, **variables)
            assert (data[field]["__typename"], errors) == ("NotFound", [])


async def test_every_way_answers_so(acme: Tenant, subtests: pytest.Subtests) -> None:
    asked = "query($id: ID!) { node(id: $id) { id } }", "query($id: ID!) { evaluationRun(id: $id) { id } }"
    watched = "subscription($id: ID!) { evaluationRunUpdated(id: $id) { id } }"
    with capture_logs() as logs:
        async with served(acme) as service:
            for way, ask in WAYS.items():
                for why, malformed in MALFORMED.items():
                    with subtests.test(f"{way} {why}"):
                        for text in asked:
                            (found,) = (await ask(service, text, {"id": malformed}))["data"].values()
                            assert found is None
                        if way != "post":
                            (error,) = (await ask(service, watched, {"id": malformed}))["errors"]
                            assert error["extensions"] == {"code": "NOT_FOUND"}
    assert not [entry for entry in logs if entry["log_level"] == "error"]
