"""To one organization, another's ids are like ids that never were, wherever an id can be given."""

import itertools
from typing import Any

import pytest
from graphql import get_named_type, is_leaf_type

from db.tenant import Tenant
from tests.schema.asking import UNKNOWN, ask, execute
from tests.schema.everything import fields_of, id_arguments, id_inputs, mutation, selection, valid_inputs
from tests.schema.world import World, build_world


@pytest.fixture
async def other(rival: Tenant) -> World:
    """The other organization's, as full as the first."""
    return await build_world(rival)


async def answer_of(tenant: Tenant, text: str, **variables: Any) -> tuple[Any, list[Any]]:
    result = await execute(tenant, text, "owner", **variables)
    return result.data, [(error.message, error.extensions) for error in result.errors or ()]


def ids_of(world: World) -> set[str]:
    of_rows = [
        [row.id for row in world.environments],
        [row.id for row in world.versions],
        [row.id for row in world.configurations],
        [run.row.id for run in world.runs],
        [trial.row.id for trial in world.trials],
        [row.id for row in world.rollouts],
        [trial.row.trajectory_artifact_id for trial in world.trials if trial.row.trajectory_artifact_id],
        [world.tenant.organization_id],
        [row.id for row in world.members],
        [row.id for row in world.tokens],
    ]
    return {str(key) for keys in of_rows for key in keys}


async def test_by_id(world: World, other: World, subtests: pytest.Subtests) -> None:
    arguments = list(id_arguments("Query"))
    assert ("node", "id") in arguments
    for (field, argument), (kind, key) in itertools.product(arguments, world.ids().items()):
        selected = selection(get_named_type(fields_of("Query")[field].type), 0)
        text = f"query($id: ID!) {{ {field}({argument}: $id) {selected} }}"
        with subtests.test(f"{field} {kind}"):
            unknown = await answer_of(other.tenant, text, id=UNKNOWN)
            assert unknown == ({field: None}, [])
            assert await answer_of(other.tenant, text, id=str(key)) == unknown


async def test_own_ids_are_found(world: World) -> None:
    found = set()
    for (field, argument), key in itertools.product(id_arguments("Query"), world.ids().values()):
        if (await ask(world.tenant, f"query($id: ID!) {{ {field}({argument}: $id) {{ id }} }}", id=str(key)))[field]:
            found.add(field)
    assert found == {field for field, _ in id_arguments("Query")}


async def test_in_filters(world: World, other: World, subtests: pytest.Subtests) -> None:
    members = list(id_inputs("Query"))
    assert len(members) >= 12
    for (field, argument, member), key in itertools.product(members, world.ids().values()):
        query = fields_of("Query")[field]
        kind, selected = query.args[argument].type, selection(get_named_type(query.type), 2)
        text = f"query($filter: {kind}) {{ {field}({argument}: $filter) {selected} }}"
        with subtests.test(f"{field} {member}"):
            unknown = await answer_of(other.tenant, text, filter={member: UNKNOWN})
            assert unknown[1] == []
            assert await answer_of(other.tenant, text, filter={member: str(key)}) == unknown


async def test_no_query_tells_anything_of_another_organization(world: World, other: World) -> None:
    theirs = ids_of(world)
    assert len(theirs) > 50
    for field, definition in fields_of("Query").items():
        if any(get_named_type(argument.type).name == "ID" for argument in definition.args.values()):
            continue
        if is_leaf_type(get_named_type(definition.type)):
            continue  # of the service, not of anybody in it
        given = '(slug: "admin-console")' if "slug" in definition.args else ""
        text = f"{{ {field}{given} {selection(get_named_type(definition.type), 4)} }}"
        answered = await ask(other.tenant, text, "owner")
        told = str(answered)
        assert not [key for key in theirs if key in told]
        if field != "partialRewards":
            assert [key for key in ids_of(other) if key in told]


async def test_in_mutations(world: World, other: World, statements: list[str], subtests: pytest.Subtests) -> None:
    valid = valid_inputs(other)
    before = await everything(world.tenant)
    statements.clear()
    theirs = world.ids() | {"Member": world.members[0].id, "ApiToken": world.tokens[0].id}
    for field, _, member in id_inputs("Mutation"):
        for kind, key in theirs.items():
            with subtests.test(f"{field} {member} {kind}"):
                text, variables = mutation(field, valid | {member: UNKNOWN})
                unknown = await answer_of(other.tenant, text, **variables)
                assert unknown[0][field]["__typename"] == "NotFound"
                text, variables = mutation(field, valid | {member: str(key)})
                assert await answer_of(other.tenant, text, **variables) == unknown
    writing = {"runs.create", "trials.create", "trials.add", "trials.rerun", "runs.reopen", "runs.finish"}
    assert not (writing | {"versions.publish"}) & set(statements)
    assert await everything(world.tenant) == before


async def everything(tenant: Tenant) -> Any:
    lists = ("viewer", "environments", "evaluatorConfigurations", "evaluationRuns", "evaluationTrials", "rollouts")
    asked = " ".join(f"{name} {selection(get_named_type(fields_of('Query')[name].type), 3)}" for name in lists)
    return await ask(tenant, f"{{ {asked} }}", "owner")


async def test_the_same_slugs_and_names_are_free_for_each(world: World, other: World) -> None:
    assert {row.slug for row in world.environments} == {row.slug for row in other.environments}
    text = """mutation { createEnvironment(input: { slug: "only-here", name: "n" }) { __typename } }"""
    assert (await ask(world.tenant, text))["createEnvironment"] == {"__typename": "Environment"}
    assert (await ask(other.tenant, text))["createEnvironment"] == {"__typename": "Environment"}
    assert (await ask(other.tenant, text))["createEnvironment"] == {"__typename": "Conflict"}
