"""The compiled executor answers as Strawberry's does, or leaves the operation to it."""

import asyncio
import json
import re
from datetime import UTC
from itertools import product
from typing import Any

import orjson
import pytest
from graphql import IntValueNode, StringValueNode, ValueNode, build_schema
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st
from hypothesis_graphql import queries

from db.embedded import DatabaseUrls
from db.tenant import Tenant
from schema.compiled.documents import MOST_PLANS, Documents
from schema.graph import graph
from tests.schema.asking import ask, execute, session
from tests.schema.test_errors import break_database
from tests.schema.test_statements import FROM_ROLLOUTS, ONE_FOR_EACH_EDGE, WIDE
from tests.schema.world import World


async def compiled(tenant: Tenant, text: str, operation: str | None = None, **variables: Any) -> Any:
    """What the compiled executor answers, or None."""
    data = await graph.compiled(text, variables, operation, session(tenant).context())
    return None if data is None else json.loads(orjson.dumps(data))


async def assert_equal(tenant: Tenant, text: str, **variables: Any) -> None:
    answer = await compiled(tenant, text, **variables)
    assert answer is not None, "left to Strawberry's executor"
    assert answer == json.loads(json.dumps(await ask(tenant, text, **variables)))


TRIAL = "id attempt seed status reward failureCategory failureDetail metrics execution startedAt finishedAt __typename"

OPERATIONS = [
    "{ environments { edges { node { id slug name createdAt __typename } cursor } "
    "pageInfo { endCursor hasNextPage } } }",
    "{ a: environments(first: 1) { totalCount } __typename b: environments { edges { __typename } totalCount } }",
    f"{{ evaluationTrials {{ edges {{ cursor node {{ {TRIAL} stages {{ name value }} }} }} totalCount }} }}",
    "{ evaluationTrials(orderBy: REWARD_LOWEST, first: 3) { edges { cursor node { reward } } pageInfo { "
    "startCursor endCursor hasNextPage hasPreviousPage __typename } } }",
    "{ evaluationTrials { edges { node { stages { value name } a: stages { v: value __typename } } } } }",
    "{ evaluationTrials { edges { node { trajectory { artifactId artifactUrl agentTrajectoryUrl log "
    "stepCount atif { valid version errors url } files { path bytes sha256 url omitted } } } } } }",
    "{ evaluationTrials { edges { node { rollout { id reward } run { id trials { attempt } } } } } }",
    "{ evaluationRuns { edges { node { id trigger resetMode seed attemptCount status unscoredAttempts failureDetail "
    "passAtK { k estimate passHatK } environmentVersion { id } evaluatorConfiguration { agentCommand name } } } } }",
    "{ evaluationRuns(orderBy: OLDEST) { edges { node { passAtK { passHatK n: k } } } } }",
    "{ environments { edges { node { latestVersion { digest manifest bundleSha256 exports { kind url filename } "
    "passAtK { k estimate passHatK } capabilityGaps { trials categorized gaps { failureCategory trials "
    "latestTrial { id attempt } } } partialRewards { stage trials mean min max full } "
    "preference { preferredReward rejectedReward preferred { id } rejected { id } } } } } } }",
    "{ environments { edges { node { versions(first: 9) { totalCount edges { node { version runs(first: 2) { "
    "totalCount pageInfo { hasNextPage endCursor } edges { cursor node { id trials { id } } } } trials { totalCount "
    "edges { node { attempt } } } } } } } } } }",
    "{ rollouts(kind: RECOVERY) { edges { node { id seed reward stages { name } trial { id } } } } }",
    '{ environment(slug: "admin") { id } b: environment(slug: "no such") { id } }',
    "fragment F on EvaluationTrial { attempt ...G } fragment G on Node { id ... on EvaluationTrial { seed } "
    "... on Rollout { reward } } { evaluationTrials { edges { node { ...F ... { status } ... on Node { id } } } } }",
    FROM_ROLLOUTS,
    WIDE.replace("steps(first: 2) { edges { node { step } } }", "stepCount"),
]


@pytest.mark.parametrize("text", OPERATIONS)
async def test_it_answers_as_strawberry_does(world: World, text: str) -> None:
    await assert_equal(world.tenant, text)


#: Root fields that are compiled.
COMPILED = [
    *("environments", "environment", "environmentVersion", "evaluatorConfigurations", "evaluationRun"),
    *("evaluationRuns", "evaluationTrial", "evaluationTrials", "rollout", "rollouts"),
]


def operations(world: World) -> st.SearchStrategy[str]:
    """Queries of any compiled fields with any arguments, whose ids and page sizes are mostly real ones."""
    ids = st.sampled_from([str(one) for one in world.ids().values()])
    literals: dict[str, st.SearchStrategy[ValueNode]] = {
        "RealId": (ids | st.uuids().map(str)).map(lambda value: StringValueNode(value=value)),
        "First": st.integers(1, 60).map(lambda value: IntValueNode(value=str(value))),
        "DateTime": st.datetimes(timezones=st.just(UTC)).map(lambda value: StringValueNode(value=value.isoformat())),
    }
    # What arguments may be is told apart by scalars of their own; a made-up cursor is always refused.
    text = re.sub(r"\b(id|\w+Id): ID(!?)(?=[) =])", r"\1: RealId\2", graph.as_str())
    text = re.sub(r"^  (\w+Id): ID = null$", r"  \1: RealId = null", text, flags=re.MULTILINE)
    text = re.sub(r",? ?after: String = null", "", text).replace("first: Int", "first: First")
    text = re.sub(r'^(?:  """\n.*\n  """\n)?  (steps|document)\b.*\n', "", text, flags=re.MULTILINE)
    schema = build_schema(text + "\nscalar RealId\nscalar First\n", assume_valid=True)
    return queries(schema, fields=COMPILED, custom_scalars=literals)


@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(data=st.data())
async def test_it_answers_any_operation_as_strawberry_does(world: World, data: st.DataObject) -> None:
    text = data.draw(operations(world))
    expected = await execute(world.tenant, text)
    answer = await compiled(world.tenant, text)
    event("refused" if expected.errors else "compiled")
    if expected.errors:
        assert answer is None
    else:
        assert answer == json.loads(json.dumps(expected.data))


VARIABLES = """query Trials(
  $first: Int = 2, $order: EvaluationTrialOrder, $filter: EvaluationTrialFilter, $more: Boolean!
) {
  evaluationTrials(first: $first, orderBy: $order, filter: $filter) {
    edges { node { attempt ... @include(if: $more) { status } reward @skip(if: $more) } }
  }
}"""


@pytest.mark.parametrize("more", [True, False])
@pytest.mark.parametrize(
    "given",
    [
        {},
        {"first": 5, "order": "REWARD_HIGHEST"},
        {"first": None, "filter": None},
        {"filter": {"scored": True, "status": ["COMPLETED", "TIMED_OUT"], "rewardAtLeast": 0}},
    ],
)
async def test_variables_defaults_and_directives(world: World, given: dict[str, Any], more: bool) -> None:
    await assert_equal(world.tenant, VARIABLES, **given, more=more)


TWO = "query A { environments { totalCount } } query B($id: ID!) { evaluationRun(id: $id) { id } }"


async def test_the_operation_is_taken_by_its_name(world: World) -> None:
    run = world.ids()["EvaluationRun"]
    assert await compiled(world.tenant, TWO, "B", id=str(run)) == {"evaluationRun": {"id": str(run)}}
    assert await compiled(world.tenant, TWO, "A") == {"environments": {"totalCount": len(world.environments)}}
    for name in (None, "", "C"):
        assert await compiled(world.tenant, TWO, name, id=str(run)) is None


LEFT = [
    "{ viewer { id } }",
    '{ node(id: "x") { id } }',
    "{ __schema { types { name } } }",
    "{ environments(first: 0) { totalCount } }",
    "{ environments { edges { node { versions(first: 501) { totalCount } } } } }",
    '{ evaluationTrials(after: "x") { totalCount } }',
    "{ nope }",
    "{",
    "{ a: environments { e: edges { cursor } f: edges { cursor } } }",
    'mutation { createEnvironment(input: { slug: "new", name: "New" }) { __typename } }',
    "subscription { evaluationTrialFinished { id } }",
    "query($n: Int!) { environments(first: $n) { totalCount } }",
]


@pytest.mark.parametrize("text", LEFT)
async def test_the_rest_is_left_to_strawberry_and_changes_nothing(world: World, text: str) -> None:
    assert await compiled(world.tenant, text) is None
    assert (await ask(world.tenant, "{ environments { totalCount } }"))["environments"]["totalCount"] == len(
        world.environments
    )


async def test_a_null_that_may_not_be_is_left_to_strawberry(world: World, database: DatabaseUrls) -> None:
    """Strawberry's executor then says where, and what becomes null because of it."""
    text = "{ evaluationRuns(first: 1) { edges { node { id evaluatorConfiguration { id } } } } }"
    await assert_equal(world.tenant, text)
    await break_database(
        database,
        "drop policy tenant on evaluator_configurations",
        "create policy tenant on evaluator_configurations to agentforge_app using (false)",
    )
    assert await compiled(world.tenant, text) is None
    assert (await execute(world.tenant, text)).errors


async def test_a_plan_is_shared_by_organizations_and_data_is_not(world: World, rival: Tenant) -> None:
    for kind, field in (("EvaluationTrial", "evaluationTrial"), ("EnvironmentVersion", "environmentVersion")):
        text = f"query($id: ID!) {{ {field}(id: $id) {{ id }} }}"
        identifier = str(world.ids()[kind])
        ours, theirs = await asyncio.gather(
            compiled(world.tenant, text, id=identifier), compiled(rival, text, id=identifier)
        )
        assert (ours, theirs) == ({field: {"id": identifier}}, {field: None})
    for text in OPERATIONS:
        await assert_equal(rival, text)


async def test_each_edge_costs_one_statement(world: World, statements: list[str]) -> None:
    text = WIDE.replace("steps(first: 2) { edges { node { step } } }", "stepCount")
    statements.clear()
    assert await compiled(world.tenant, text) is not None
    assert sorted(statements) == [name for name in ONE_FOR_EACH_EDGE if name != "artifacts.steps"]


async def test_the_count_and_the_rows_are_looked_up_only_when_asked_for(world: World, statements: list[str]) -> None:
    for text, names in (
        ("{ evaluationTrials { edges { cursor } } }", ["trials.page_newest"]),
        ("{ evaluationTrials { totalCount } }", ["trials.count"]),
        ("{ evaluationTrials { __typename } }", []),
    ):
        statements.clear()
        assert await compiled(world.tenant, text) is not None
        assert statements == names


def test_documents_are_forgotten_when_there_are_too_many() -> None:
    documents = Documents(graph, 200)
    texts = [f"{{ environments(first: {number}) {{ totalCount }} }}" for number in range(1, 20)]
    for text in texts:
        assert documents.find(text).operation(None) is not None
    assert list(documents.known) == texts[-len(documents.known) :]
    assert 2 < len(documents.known) < 6
    assert documents.known.size == sum(map(len, documents.known)) <= 200
    documents.find("{ " + "#" * 200 + "\nenvironments { totalCount } }")
    assert list(documents.known) == texts[-len(documents.known) :]


async def test_plans_of_one_operation_are_bounded(world: World) -> None:
    names = [f"v{number}" for number in range(5)]
    declared = ", ".join(f"${name}: Boolean!" for name in names)
    text = (
        f"query({declared}) {{ environments {{ "
        + " ".join(f"{name}: totalCount @include(if: ${name})" for name in names)
        + " } }"
    )
    for combination in product([True, False], repeat=5):
        await assert_equal(world.tenant, text, **dict(zip(names, combination, strict=True)))
    operation = graph.documents.find(text).operation(None)
    assert operation is not None
    assert len(operation.plans) == MOST_PLANS
