"""The compiled executor answers as Strawberry's does, or leaves the operation to it."""

import json
from typing import Any

import orjson
import pytest

from db.tenant import Tenant
from schema.graph import graph
from tests.schema.asking import ask, session
from tests.schema.test_statements import FROM_ROLLOUTS, WIDE
from tests.schema.world import World


async def compiled(tenant: Tenant, text: str, operation: str | None = None, **variables: Any) -> Any:
    """What the compiled executor answers, or None."""
    data = await graph.compiled(text, variables, operation, session(tenant).context())
    return None if data is None else orjson.loads(orjson.dumps(data))


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
    "stepCount } } } } }",
    "{ evaluationTrials { edges { node { rollout { id reward } run { id trials { attempt } } } } } }",
    "{ evaluationRuns { edges { node { id trigger resetMode seed attemptCount status unscoredAttempts failureDetail "
    "passAtK { k estimate passHatK } environmentVersion { id } evaluatorConfiguration { agentCommand name } } } } }",
    "{ evaluationRuns(orderBy: OLDEST) { edges { node { passAtK { passHatK n: k } } } } }",
    "{ environments { edges { node { latestVersion { digest manifest bundleSha256 exports { kind url filename } "
    "passAtK { k estimate passHatK } capabilityGaps { trials categorized gaps { failureCategory trials "
    "latestTrial { id attempt } } } partialRewards { stage trials mean min max full } "
    "preference { preferredReward rejectedReward preferred { id } rejected { id } } } } } } }",
    "{ environments { edges { node { versions { totalCount edges { node { version runs(first: 2) { totalCount "
    "pageInfo { hasNextPage endCursor } edges { cursor node { id trials { id } } } } trials { totalCount "
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
