"""What mutations refuse, and whom: each expected failure is a typed problem with the path of the field at fault."""

from typing import Any

import pytest
from graphql import GraphQLUnionType, get_named_type

from db.tenant import Tenant
from schema.change import ChangeField
from tests.factory import MANIFEST
from tests.schema.asking import UNKNOWN, ask
from tests.schema.everything import fields_of, mutation, valid_inputs
from tests.schema.world import World, small_world

PROBLEM = "__typename ... on Problem { message } ... on InvalidInput { field }"
CREATE_ENVIRONMENT = f"mutation($i: CreateEnvironmentInput!) {{ answer: createEnvironment(input: $i) {{ {PROBLEM} }} }}"
CREATE_CONFIGURATION = f"""mutation($i: CreateEvaluatorConfigurationInput!) {{
  answer: createEvaluatorConfiguration(input: $i) {{ {PROBLEM} ... on EvaluatorConfiguration {{ attemptCount }} }} }}"""
PUBLISH = f"""mutation($i: PublishEnvironmentVersionInput!) {{
  answer: publishEnvironmentVersion(input: $i) {{ {PROBLEM} ... on EnvironmentVersion {{ id version manifest }} }} }}"""
START = f"mutation($i: StartEvaluationInput!) {{ answer: startEvaluation(input: $i) {{ {PROBLEM} }} }}"
RESET = f"mutation($i: ResetEnvironmentInput!) {{ answer: resetEnvironment(input: $i) {{ {PROBLEM} }} }}"
CANCEL = f"mutation($i: CancelEvaluationRunInput!) {{ answer: cancelEvaluationRun(input: $i) {{ {PROBLEM} }} }}"

ADD = f"mutation($i: AddAttemptsInput!) {{ answer: addAttempts(input: $i) {{ {PROBLEM} }} }}"
RERUN = f"mutation($i: RerunUnscoredInput!) {{ answer: rerunUnscored(input: $i) {{ {PROBLEM} }} }}"


async def answer(tenant: Tenant, text: str, **given: Any) -> Any:
    return (await ask(tenant, text, i=given))["answer"]


async def field_at_fault(tenant: Tenant, text: str, **given: Any) -> list[str]:
    problem = await answer(tenant, text, **given)
    assert problem["__typename"] == "InvalidInput"
    assert problem["message"]
    field: list[str] = problem["field"]
    return field


EDITORS, OWNERS = ("owner", "member"), ("owner",)
ALLOWED = {
    "createEnvironment": EDITORS,
    "publishEnvironmentVersion": EDITORS,
    "createEvaluatorConfiguration": EDITORS,
    "startEvaluation": EDITORS,
    "resetEnvironment": EDITORS,
    "cancelEvaluationRun": EDITORS,
    "addAttempts": EDITORS,
    "rerunUnscored": EDITORS,
    "addMember": OWNERS,
    "removeMember": OWNERS,
    "createApiToken": OWNERS,
    "revokeApiToken": OWNERS,
    "setSecret": OWNERS,
    "removeSecret": OWNERS,
}


def test_each_mutation_declares_who_may_ask_for_it() -> None:
    # A mutation added later must say it, and be reviewed here.
    declared = {}
    for name, definition in fields_of("Mutation").items():
        field = definition.extensions["strawberry-definition"]
        (change,) = [one for one in field.extensions if isinstance(one, ChangeField)]
        declared[name] = tuple(role.value for role in change.allowed)
        union = get_named_type(definition.type)
        assert isinstance(union, GraphQLUnionType)
        assert {"InvalidInput", "Conflict", "Forbidden"} <= {kind.name for kind in union.types}
    assert declared == ALLOWED


async def test_the_role_decides_before_any_statement(
    world: World, statements: list[str], subtests: pytest.Subtests
) -> None:
    valid = valid_inputs(world)
    for name, allowed in ALLOWED.items():
        text, variables = mutation(name, valid)
        for role in ("viewer", "worker", "nobody-knows", *({"member"} - set(allowed))):
            with subtests.test(f"{name} by {role}"):
                statements.clear()
                refused = (await ask(world.tenant, text, role=role, **variables))[name]
                message = f"A {role} may not do this; it takes {' or '.join(allowed)}."
                assert refused == {"__typename": "Forbidden", "message": message}
                assert statements == []
        for role in allowed:
            with subtests.test(f"{name} by {role}"):
                answered = (await ask(world.tenant, text, role=role, **variables))[name]
                # What the owner has made or ended, the member finds so.
                assert answered["__typename"] not in {"Forbidden", "NotFound", "InvalidInput"}


async def test_environments(acme: Tenant) -> None:
    for slug in ("", "-a", "a-", "A", "a b", "a" * 64, "é", "a\n", "\0"):
        assert await field_at_fault(acme, CREATE_ENVIRONMENT, slug=slug, name="n") == ["input", "slug"]
    for name in ("", " ", "n" * 201, "a\0", "\ud800"):
        assert await field_at_fault(acme, CREATE_ENVIRONMENT, slug="a", name=name) == ["input", "name"]
    for slug in ("a", "a" * 63, "0-9"):
        created = await answer(acme, CREATE_ENVIRONMENT, slug=slug, name="é" * 200)
        assert created == {"__typename": "Environment"}
    again = await answer(acme, CREATE_ENVIRONMENT, slug="a", name="other")
    assert again == {"__typename": "Conflict", "message": "There is an environment 'a' already."}


async def test_configurations(acme: Tenant) -> None:
    valid = {"name": "c", "attemptCount": 8, "agentCommand": ["agent", "", "{task}"]}
    for count in (0, 9, -1, 2**31 - 1):
        refused = await field_at_fault(acme, CREATE_CONFIGURATION, **valid | {"attemptCount": count})
        assert refused == ["input", "attemptCount"]
    for command in ([], [""]):
        refused = await field_at_fault(acme, CREATE_CONFIGURATION, **valid | {"agentCommand": command})
        assert refused == ["input", "agentCommand"]
    for part in ("\0", "\udfff"):
        refused = await field_at_fault(acme, CREATE_CONFIGURATION, **valid | {"agentCommand": ["agent", part]})
        assert refused == ["input", "agentCommand", "1"]
    assert await field_at_fault(acme, CREATE_CONFIGURATION, **valid | {"name": ""}) == ["input", "name"]
    assert await answer(acme, CREATE_CONFIGURATION, **valid) == {
        "__typename": "EvaluatorConfiguration",
        "attemptCount": 8,
    }
    again = await answer(acme, CREATE_CONFIGURATION, **valid)
    assert again == {"__typename": "Conflict", "message": "There is an evaluator configuration 'c' already."}


WRONG_MANIFESTS: list[tuple[Any, list[str]]] = [
    ("text", []),
    ([], []),
    ({}, ["task"]),
    (MANIFEST | {"task": ""}, ["task"]),
    (MANIFEST | {"task": "\0"}, ["task"]),
    (MANIFEST | {"world": {"command": []}}, ["world", "command"]),
    (MANIFEST | {"world": {"command": ["w", 5]}}, ["world", "command", "1"]),
    (MANIFEST | {"stages": ["checkout"]}, ["stages", "0"]),
    (MANIFEST | {"surprise": 1}, ["surprise"]),
    (MANIFEST | {"limits": {"seconds": float("nan")}}, ["limits", "seconds"]),
    (MANIFEST | {"limits": {"seconds": float("inf")}}, ["limits", "seconds"]),
    (MANIFEST | {"limits": {"seconds": 2**70}}, ["limits", "seconds"]),
    (MANIFEST | {"limits": {"steps": 2**70}}, ["limits", "steps"]),
    (MANIFEST | {"limits": {"steps": 10**5000}}, ["limits", "steps"]),
    (MANIFEST | {"limits": {"steps": 1.5}}, ["limits", "steps"]),
]


async def test_manifests_are_refused_by_the_path_of_what_is_wrong(
    acme: Tenant, statements: list[str], subtests: pytest.Subtests
) -> None:
    statements.clear()
    for manifest, path in WRONG_MANIFESTS:
        with subtests.test(".".join(path) or f"{manifest}"):
            given = {"environmentId": UNKNOWN, "manifest": manifest}
            assert await field_at_fault(acme, PUBLISH, **given) == ["input", "manifest", *path]
    assert statements == []


async def test_bundles_that_are_not_there(acme: Tenant) -> None:
    world = await small_world(acme)
    valid = {"environmentId": str(world.environments[0].id), "manifest": MANIFEST | {"task": "other"}}
    for sha256 in ("", "a" * 63, "A" * 64, "a" * 64 + "\n", "\0", "\ud800", "a" * 64):
        refused = await field_at_fault(acme, PUBLISH, **valid | {"bundleSha256": sha256})
        assert refused == ["input", "bundleSha256"]
    needing = MANIFEST | {"world": {"command": ["{bundle}/world"]}}
    assert await field_at_fault(acme, PUBLISH, **valid | {"manifest": needing}) == ["input", "bundleSha256"]


async def test_what_is_not_found(acme: Tenant, subtests: pytest.Subtests) -> None:
    world = await small_world(acme)
    version, by = str(world.versions[0].id), str(world.configurations[0].id)
    for wrong in (UNKNOWN, "", "nope", "\0", "\ud800"):
        cases: list[tuple[str, str, dict[str, Any]]] = [
            (PUBLISH, "environment", {"environmentId": wrong, "manifest": MANIFEST}),
            (START, "environment version", {"environmentVersionId": wrong, "evaluatorConfigurationId": by}),
            (START, "evaluator configuration", {"environmentVersionId": version, "evaluatorConfigurationId": wrong}),
            (RESET, "environment version", {"environmentVersionId": wrong, "mode": "NEW_WORLD"}),
            (
                RESET,
                "evaluator configuration",
                {"environmentVersionId": version, "mode": "NEW_WORLD", "evaluatorConfigurationId": wrong},
            ),
            (CANCEL, "evaluation run", {"evaluationRunId": wrong}),
            (ADD, "evaluation run", {"evaluationRunId": wrong, "count": 1}),
            (RERUN, "evaluation run", {"evaluationRunId": wrong}),
        ]
        for text, noun, given in cases:
            with subtests.test(f"{noun} {wrong!r}"):
                problem = await answer(acme, text, **given)
                assert problem == {"__typename": "NotFound", "message": f"There is no such {noun}."}


async def test_a_reset_without_a_configuration_to_fall_back_on(acme: Tenant) -> None:
    world = await small_world(acme)
    for given in ({}, {"evaluatorConfigurationId": None}):
        refused = await field_at_fault(
            acme, RESET, environmentVersionId=str(world.versions[0].id), mode="NEW_WORKSPACE", **given
        )
        assert refused == ["input", "evaluatorConfigurationId"]


async def test_each_mutation_of_a_document_shows_what_is_there_after_it(acme: Tenant) -> None:
    world = await small_world(acme)
    environment = str(world.environments[0].id)
    shown = (
        "{ ... on EnvironmentVersion { version environment { latestVersion { version } versions { totalCount } } } }"
    )
    text = f"""mutation($id: ID!, $one: JSON!, $two: JSON!) {{
      one: publishEnvironmentVersion(input: {{ environmentId: $id, manifest: $one }}) {shown}
      two: publishEnvironmentVersion(input: {{ environmentId: $id, manifest: $two }}) {shown}
    }}"""
    answered = await ask(acme, text, id=environment, one=MANIFEST | {"task": "1"}, two=MANIFEST | {"task": "2"})
    for name, number in (("one", 2), ("two", 3)):
        assert answered[name] == {
            "version": number,
            "environment": {"latestVersion": {"version": number}, "versions": {"totalCount": number}},
        }
