"""One statement for each edge of the graph, however wide the answer: by name, so that none can hide."""

from typing import Any

import pytest

from tests.schema.asking import ask, nodes
from tests.schema.world import Outcome, World, add_run

WIDE = """{ environments(first: 5) { edges { node { versions(first: 10) { edges { node {
runs(first: 10) { edges { node { trials { stages { name } trajectory { log steps(first: 2) { edges { node { step } } } }
rollout { id } } } } } } } } } } } }"""

ONE_FOR_EACH_EDGE = [
    "artifacts.by_ids",
    "artifacts.steps",
    "environments.page",
    "rollouts.by_trials",
    "runs.page_of_versions",
    "trials.by_runs",
    "versions.page_of_environments",
]

VERSIONS = "query($id: ID!) { environmentVersion(id: $id) { environment { versions { edges { node { %s } } } } } }"
TO_VERSIONS = ["versions.by_ids", "environments.by_ids", "versions.page_of_environments"]

REPORTS_OF_VERSIONS = {
    "capabilityGaps { trials gaps { latestTrial { id } } }": ["reports.capability_gaps_of_versions", "trials.by_ids"],
    "partialRewards { mean }": ["reports.partial_rewards_of_versions"],
    "passAtK { estimate }": ["versions.pass_at_k"],
    "preference { preferred { id } rejected { id } }": ["rollouts.preferences_of_versions", "rollouts.by_ids"],
    "environment { latestVersion { id } }": ["versions.latest_of_environments"],
    "exports { url }": [],
    "runs { totalCount }": ["runs.page_of_versions", "runs.count_of_versions"],
    "trials(first: 1) { edges { node { id } } }": ["trials.page_of_versions"],
    "trials { totalCount }": ["trials.page_of_versions", "trials.count_of_versions"],
    "a: runs(first: 1) { edges { node { id } } } b: runs(first: 2) { edges { node { id } } }": [
        "runs.page_of_versions",
        "runs.page_of_versions",
    ],
}

LISTS = {
    "environments": ("environments.page", "environments.count"),
    "evaluatorConfigurations": ("configurations.page", "configurations.count"),
    "evaluationRuns": ("runs.page_newest", "runs.count"),
    "evaluationTrials": ("trials.page_newest", "trials.count"),
    "rollouts": ("rollouts.page", "rollouts.count"),
}

FROM_ROLLOUTS = """{ rollouts { edges { node {
  trial { attempt } environmentVersion { version } evaluationRun { evaluatorConfiguration { name } }
} } } }"""


async def test_each_edge_costs_one_statement(world: World, statements: list[str]) -> None:
    statements.clear()
    environments = nodes((await ask(world.tenant, WIDE))["environments"])
    assert sorted(statements) == ONE_FOR_EACH_EDGE
    runs = [run for one in environments for version in nodes(one["versions"]) for run in nodes(version["runs"])]
    assert len(runs) == len(world.runs)


async def test_a_wider_answer_costs_no_more_statements(world: World, statements: list[str]) -> None:
    for version in world.versions:
        for _ in range(5):
            await add_run(world, version, world.configurations[0], [Outcome(1.0), Outcome(0.0)])
    statements.clear()
    await ask(world.tenant, WIDE)
    assert sorted(statements) == ONE_FOR_EACH_EDGE


async def test_a_list_of_versions_costs_no_more_than_one(
    world: World, statements: list[str], subtests: pytest.Subtests
) -> None:
    for field, expected in REPORTS_OF_VERSIONS.items():
        with subtests.test(field):
            statements.clear()
            answered = await ask(world.tenant, VERSIONS % field, id=str(world.versions[0].id))
            assert sorted(statements) == sorted(TO_VERSIONS + expected)
            assert len(nodes(answered["environmentVersion"]["environment"]["versions"])) == 3


async def test_a_count_is_made_only_when_asked_for(
    world: World, statements: list[str], subtests: pytest.Subtests
) -> None:
    for name, (page, count) in LISTS.items():
        with subtests.test(name):
            statements.clear()
            await ask(world.tenant, f"{{ {name} {{ edges {{ node {{ id }} }} pageInfo {{ endCursor }} }} }}")
            assert statements == [page]
            statements.clear()
            await ask(world.tenant, f"{{ {name} {{ totalCount edges {{ node {{ id }} }} }} }}")
            assert statements == [page, count]


async def test_versions_are_counted_once_for_all_environments(world: World, statements: list[str]) -> None:
    statements.clear()
    await ask(world.tenant, "{ environments { edges { node { versions { totalCount } latestVersion { id } } } } }")
    assert sorted(statements) == [
        "environments.page",
        "versions.count_of_environments",
        "versions.latest_of_environments",
        "versions.page_of_environments",
    ]


async def test_back_from_rollouts(world: World, statements: list[str]) -> None:
    statements.clear()
    await ask(world.tenant, FROM_ROLLOUTS)
    assert sorted(statements) == [
        "configurations.by_ids",
        "rollouts.page",
        "runs.by_ids",
        "trials.by_ids",
        "versions.by_ids",
    ]


async def test_asking_thrice_for_one_thing_costs_one_statement(world: World, statements: list[str]) -> None:
    statements.clear()
    text = "query($id: ID!) { a: evaluationRun(id: $id) { id } b: evaluationRun(id: $id) { trials { run { id } } } }"
    await ask(world.tenant, text, id=str(world.runs[0].row.id))
    assert statements == ["runs.by_ids", "trials.by_runs"]


async def test_each_request_reads_anew(world: World, statements: list[str]) -> None:
    statements.clear()
    for _ in range(2):
        await ask(world.tenant, "query($id: ID!) { evaluationRun(id: $id) { id } }", id=str(world.runs[0].row.id))
    assert statements == ["runs.by_ids"] * 2


PUBLISH = """mutation($id: ID!, $manifest: JSON!) {
  publishEnvironmentVersion(input: { environmentId: $id, manifest: $manifest }) { __typename }
}"""
START = """mutation($id: ID!, $by: ID!) {
  startEvaluation(input: { environmentVersionId: $id, evaluatorConfigurationId: $by }) {
    ... on EvaluationRun { id trials { id } }
  }
}"""
RESET = """mutation($id: ID!) {
  resetEnvironment(input: { environmentVersionId: $id, mode: NEW_WORLD }) { __typename }
}"""
CANCEL = "mutation($id: ID!) { cancelEvaluationRun(input: { evaluationRunId: $id }) { __typename } }"
ADD = "mutation($id: ID!) { addAttempts(input: { evaluationRunId: $id, count: 1 }) { __typename } }"
RERUN = "mutation($id: ID!) { rerunUnscored(input: { evaluationRunId: $id }) { __typename } }"
ENQUEUED = ["runs.create", "trials.create", "runs.set_job"]


async def test_what_mutations_say_to_the_database(world: World, statements: list[str]) -> None:
    async def said(text: str, **variables: Any) -> list[str]:
        statements.clear()
        await ask(world.tenant, text, **variables)
        return list(statements)

    manifest = {"task": "t", "world": {"command": ["w"]}, "evaluator": {"command": ["e"]}}
    environment, version = str(world.environments[0].id), str(world.versions[0].id)
    publish = ["environments.by_ids", "environments.lock", "versions.by_digest"]
    assert await said(PUBLISH, id=environment, manifest=manifest) == [*publish, "versions.publish"]
    assert await said(PUBLISH, id=environment, manifest=manifest) == publish
    start = ["versions.by_ids", "configurations.by_ids", *ENQUEUED, "trials.by_runs"]
    assert await said(START, id=version, by=str(world.configurations[0].id)) == start
    reset = ["versions.by_ids", "runs.newest_of_version", "configurations.by_ids", *ENQUEUED]
    assert await said(RESET, id=version) == reset
    (queued,) = [run for run in world.runs if run.row.status == "queued"]
    assert await said(ADD, id=str(queued.row.id)) == ["runs.lock", "trials.add", "runs.reopen"]
    assert await said(CANCEL, id=str(queued.row.id)) == ["runs.lock", "trials.end_open", "runs.finish"]
    rerun = ["runs.lock", "trials.by_runs", "trials.rerun", "rollouts.supersede", "runs.reopen"]
    assert await said(RERUN, id=str(queued.row.id)) == rerun
    assert await said(RERUN, id=str(queued.row.id)) == ["runs.lock"]
    text = 'mutation { createEnvironment(input: { slug: "new", name: "New" }) { __typename } }'
    assert await said(text) == ["environments.create"]
    text = """mutation { createEvaluatorConfiguration(
      input: { name: "new", attemptCount: 1, agentCommand: ["agent"] }) { __typename } }"""
    assert await said(text) == ["configurations.create"]
