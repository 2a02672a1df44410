"""What the contract's tests ask of the graph, and how they wait for a run."""

from collections.abc import Iterator
from typing import Any

from tests.service import Client, eventually

UNKNOWN_ID = "00000000-0000-7000-8000-000000000000"

TRIAL = """id attempt seed status reward failureCategory failureDetail finishedAt stages { name value }
  rollout { id seed reward } trajectory { artifactId }"""

RUN = (
    """id status trigger resetMode seed attemptCount unscoredAttempts finishedAt passAtK { k estimate passHatK }
  environmentVersion { id digest } evaluatorConfiguration { id } trials { """
    + TRIAL
    + " }"
)

RUN_BY_ID = "query($id: ID!) { evaluationRun(id: $id) { " + RUN + " } }"

RUNS = (
    "query($after: String) { page: evaluationRuns(first: 20, after: $after) "
    "{ pageInfo { hasNextPage endCursor } edges { node { " + RUN + " } } } }"
)

START = """mutation($version: ID!, $configuration: ID!, $seed: BigInt) {
  result: startEvaluation(
    input: { environmentVersionId: $version, evaluatorConfigurationId: $configuration, seed: $seed }
  ) { __typename ... on EvaluationRun { id } ... on Problem { message } } }"""

CREATE_ENVIRONMENT = """mutation($slug: String!) { result: createEnvironment(input: { slug: $slug, name: $slug }) {
  __typename ... on Environment { id slug } ... on Problem { message } ... on InvalidInput { field } } }"""

CREATE_CONFIGURATION = """mutation($name: String!, $attempts: Int!, $command: [String!]!) {
  result: createEvaluatorConfiguration(input: { name: $name, attemptCount: $attempts, agentCommand: $command }) {
    __typename ... on EvaluatorConfiguration { id attemptCount } ... on Problem { message }
    ... on InvalidInput { field } } }"""

PUBLISH = """mutation($environment: ID!, $manifest: JSON!, $bundle: String) {
  result: publishEnvironmentVersion(
    input: { environmentId: $environment, manifest: $manifest, bundleSha256: $bundle }
  ) { __typename ... on EnvironmentVersion { id version digest } ... on Problem { message }
      ... on InvalidInput { field } } }"""


def pages(client: Client, document: str, **variables: object) -> Iterator[Any]:
    """Every node of the connection that `document` calls `page`."""
    after = None
    while True:
        page = client.graph(document, after=after, **variables)["page"]
        yield from (edge["node"] for edge in page["edges"])
        if not page["pageInfo"]["hasNextPage"]:
            return
        after = page["pageInfo"]["endCursor"]


def made(client: Client, document: str, **variables: object) -> str:
    """The id of what a mutation made."""
    result = client.graph(document, **variables)["result"]
    assert "id" in result, result
    return str(result["id"])


def ended_run(client: Client, run_id: str) -> Any:
    """The run, once it and each of its attempts have ended."""

    def ended() -> Any:
        run = client.graph(RUN_BY_ID, id=run_id)["evaluationRun"]
        return run["status"] not in ("QUEUED", "RUNNING") and all(t["finishedAt"] for t in run["trials"]) and run

    return eventually(ended)
