"""Runs from start to end over HTTP: every attempt kept, and every figure computed again from the trials."""

import math
from fractions import Fraction
from typing import Any

import pytest

from agentforge.demo import AGENT
from tests.contract.conftest import Practice
from tests.contract.documents import (
    CREATE_CONFIGURATION,
    CREATE_ENVIRONMENT,
    PUBLISH,
    RUN_BY_ID,
    RUNS,
    START,
    UNKNOWN_ID,
    ended_run,
    made,
    pages,
)
from tests.service import Client, Service, eventually

RESET = """mutation($version: ID!, $mode: ResetMode!, $configuration: ID) { result: resetEnvironment(
    input: { environmentVersionId: $version, mode: $mode, evaluatorConfigurationId: $configuration }
  ) { __typename ... on EvaluationRun { id status trigger resetMode seed environmentVersion { id digest } }
      ... on Problem { message } ... on InvalidInput { field } } }"""

CANCEL = """mutation($run: ID!) { result: cancelEvaluationRun(input: { evaluationRunId: $run }) {
  __typename ... on EvaluationRun { id status finishedAt } ... on Problem { message } } }"""

REPORTS = """capabilityGaps%s { trials categorized
    gaps { failureCategory trials latestTrial { id failureCategory } } }
  partialRewards%s { stage trials mean min max full }"""

OPEN = ("QUEUED", "RUNNING")


def check_estimates(run: Any) -> None:
    """pass@k and pass^k of the attempts, computed with whole numbers."""
    n, c = run["attemptCount"], sum(trial["reward"] == 1 for trial in run["trials"])
    if run["status"] != "COMPLETED":
        assert [(one["estimate"], one["passHatK"]) for one in run["passAtK"]] == [(None, None)] * n
        return
    assert [one["k"] for one in run["passAtK"]] == list(range(1, n + 1))
    for one in run["passAtK"]:
        drawn = math.comb(n, one["k"])
        assert one["estimate"] == pytest.approx(float(1 - Fraction(math.comb(n - c, one["k"]), drawn)), abs=1e-12)
        assert one["passHatK"] == pytest.approx(float(Fraction(math.comb(c, one["k"]), drawn)), abs=1e-12)


def check_run(run: Any) -> None:
    """What must hold of every run that has ended."""
    trials = run["trials"]
    assert [trial["attempt"] for trial in trials] == list(range(1, run["attemptCount"] + 1))
    assert len({trial["id"] for trial in trials}) == len(trials)
    assert not [trial for trial in trials if trial["status"] in OPEN or trial["finishedAt"] is None]
    check_estimates(run)
    for trial in trials:
        assert all(stage["name"].startswith("stage_") for stage in trial["stages"])
        if trial["rollout"]:
            assert (trial["rollout"]["reward"], trial["rollout"]["seed"]) == (trial["reward"], trial["seed"])
        if trial["reward"] == 1 and trial["status"] == "COMPLETED":
            assert trial["failureCategory"] is None


def expected_reports(trials: list[Any]) -> tuple[dict[str, int], dict[str, list[float]]]:
    """The categories of the trials with their counts, and the values of each stage."""
    counts: dict[str, int] = {}
    values: dict[str, list[float]] = {}
    for trial in trials:
        if category := trial["failureCategory"]:
            counts[category] = counts.get(category, 0) + 1
        for stage in trial["stages"]:
            values.setdefault(stage["name"], []).append(stage["value"])
    return counts, values


def check_reports(reports: Any, trials: list[Any]) -> None:
    """Gaps and partial rewards are counted from these trials, all of which have ended."""
    counts, values = expected_reports(trials)
    gaps = reports["capabilityGaps"]
    assert (gaps["trials"], gaps["categorized"]) == (len(trials), sum(counts.values()))
    assert {gap["failureCategory"]: gap["trials"] for gap in gaps["gaps"]} == counts
    by_id = {trial["id"]: trial for trial in trials}
    for gap in gaps["gaps"]:
        assert by_id[gap["latestTrial"]["id"]]["failureCategory"] == gap["failureCategory"]
    rewards = {one["stage"]: one for one in reports["partialRewards"]}
    assert rewards.keys() == values.keys()
    for stage, found in values.items():
        one = rewards[stage]
        assert (one["trials"], one["min"], one["max"]) == (len(found), min(found), max(found))
        assert one["mean"] == pytest.approx(sum(found) / len(found))
        assert one["full"] == found.count(1)


def test_the_demo_keeps_every_attempt_with_its_outcome(service: Service) -> None:
    runs = [run for run in pages(service.client, RUNS) if run["attemptCount"] == 8 and run["trigger"] == "EVALUATION"]
    demo = ended_run(service.client, runs[-1]["id"])
    check_run(demo)
    assert (demo["status"], demo["seed"], demo["unscoredAttempts"]) == ("COMPLETED", "0", 1)
    rewards = [trial["reward"] for trial in demo["trials"]]
    assert rewards.count(1) == 2
    assert rewards.count(None) == 1
    assert len({trial["failureCategory"] for trial in demo["trials"]}) == 7
    version = service.client.graph(
        "query($id: ID!) { environmentVersion(id: $id) { passAtK { k estimate passHatK }"
        " exports { kind url filename formats { url filename } }"
        f" {REPORTS % ('', '')} }} }}",
        id=demo["environmentVersion"]["id"],
    )["environmentVersion"]
    document = RUNS.replace("first: 20", 'first: 20, filter: { environmentVersionId: "%s" }')
    of_version = list(pages(service.client, document % demo["environmentVersion"]["id"]))
    check_reports(version, [trial for run in of_version for trial in run["trials"]])
    for export in [shape for one in version["exports"] for shape in (one, *one["formats"])]:
        answer = service.client.get(export["url"])
        assert (answer.status_code, export["filename"] in answer.headers["Content-Disposition"]) == (200, True)
    kinds = [export["kind"] for export in version["exports"]]
    assert kinds == ["ALL", "SUCCESSFUL", "FAILED", "RECOVERY", "PREFERENCE"]


@pytest.mark.parametrize("organization", ["service", "other"])
def test_every_run_and_every_report_adds_up(organization: str, service: Service, other: Client) -> None:
    client = service.client if organization == "service" else other
    runs = [ended_run(client, run["id"]) for run in pages(client, RUNS)]
    assert runs
    for run in runs:
        check_run(run)
    check_reports(client.graph(f"{{ {REPORTS % ('', '')} }}"), [trial for run in runs for trial in run["trials"]])


def test_a_reset_is_a_new_run_on_the_same_version(own: Practice) -> None:
    client = own.client
    seed = str(2**63 - 1)
    first = ended_run(client, made(client, START, version=own.version, configuration=own.configuration, seed=seed))
    resets = {}
    for mode in ("NEW_WORKSPACE", "NEW_WORLD"):
        reset = client.graph(RESET, version=own.version, mode=mode)["result"]
        assert (reset["__typename"], reset["trigger"], reset["resetMode"]) == ("EvaluationRun", "RESET", mode)
        assert reset["environmentVersion"] == first["environmentVersion"]
        resets[mode] = ended_run(client, reset["id"])
    for run in (first, *resets.values()):
        assert run["status"] == "COMPLETED"
        assert run["evaluatorConfiguration"]["id"] == own.configuration
        check_run(run)
    assert [run["seed"] for run in (first, resets["NEW_WORKSPACE"])] == [seed, seed]
    assert resets["NEW_WORLD"]["seed"] != seed
    # The scripted agent depends on seed and attempt alone, so the same world gives the same outcomes.
    outcomes = [[(trial["reward"], trial["stages"]) for trial in run["trials"]] for run in (first, *resets.values())]
    assert outcomes[0] == outcomes[1]
    assert client.graph(RUN_BY_ID, id=first["id"])["evaluationRun"] == first, "earlier runs stay as they are"
    version = client.graph(
        "query($id: ID!) { environmentVersion(id: $id) { passAtK { k estimate passHatK } "
        f"runs {{ totalCount edges {{ node {{ id }} }} }} {REPORTS % ('', '')} }} }}",
        id=own.version,
    )["environmentVersion"]
    newest_first = [resets["NEW_WORLD"], resets["NEW_WORKSPACE"], first]
    assert [edge["node"]["id"] for edge in version["runs"]["edges"]] == [run["id"] for run in newest_first]
    for k, one in enumerate(version["passAtK"]):
        mean = sum(run["passAtK"][k]["estimate"] for run in newest_first) / 3
        assert one["estimate"] == pytest.approx(mean), "the mean of the runs' own estimates, not of pooled attempts"
    check_reports(version, [trial for run in newest_first for trial in run["trials"]])


def test_a_cancelled_run_ends_its_attempts(own: Practice) -> None:
    client = own.client
    sleeper = own.configure(2, "{python}", "-c", "import time; time.sleep(600)")
    run_id = made(client, START, version=own.version, configuration=sleeper)
    eventually(
        lambda: [t for t in client.graph(RUN_BY_ID, id=run_id)["evaluationRun"]["trials"] if t["status"] == "RUNNING"]
    )
    assert client.graph(CANCEL, run=run_id)["result"]["status"] == "CANCELLED"
    run = ended_run(client, run_id)
    check_run(run)
    assert run["status"] == "CANCELLED"
    assert [(t["status"], t["reward"], t["failureCategory"]) for t in run["trials"]] == [("CANCELLED", None, None)] * 2
    assert client.graph(CANCEL, run=run_id)["result"]["__typename"] == "Conflict"


def test_what_is_not_there_or_not_allowed_is_a_typed_problem(
    service: Service, own: Practice, tokens: dict[str, str]
) -> None:
    client, viewer = own.client, Client(service.url, tokens["viewer"])
    manifest = {"task": "x", "world": {"command": ["x"]}, "evaluator": {"command": ["x"]}}
    attempts, agent = ["input", "attemptCount"], ["input", "agentCommand"]
    expected: list[tuple[str, dict[str, object], str, list[str] | None]] = [
        (RESET, {"version": UNKNOWN_ID, "mode": "NEW_WORLD"}, "NotFound", None),
        (RESET, {"version": own.version, "mode": "NEW_WORLD"}, "InvalidInput", ["input", "evaluatorConfigurationId"]),
        (START, {"version": UNKNOWN_ID, "configuration": own.configuration}, "NotFound", None),
        (START, {"version": own.version, "configuration": UNKNOWN_ID}, "NotFound", None),
        (CANCEL, {"run": UNKNOWN_ID}, "NotFound", None),
        (CREATE_ENVIRONMENT, {"slug": "admin-console"}, "Conflict", None),
        (CREATE_ENVIRONMENT, {"slug": "Not A Slug"}, "InvalidInput", ["input", "slug"]),
        (CREATE_CONFIGURATION, {"name": "n", "attempts": 0, "command": ["x"]}, "InvalidInput", attempts),
        (CREATE_CONFIGURATION, {"name": "n", "attempts": 9, "command": ["x"]}, "InvalidInput", attempts),
        (CREATE_CONFIGURATION, {"name": "n", "attempts": 1, "command": []}, "InvalidInput", agent),
        (PUBLISH, {"environment": UNKNOWN_ID, "manifest": manifest}, "NotFound", None),
    ]
    for document, variables, problem, field in expected:
        result = client.graph(document, **variables)["result"]
        assert (result["__typename"], result.get("field")) == (problem, field), (document, result)
        assert result["message"]
        assert viewer.graph(document, **variables)["result"]["__typename"] == "Forbidden"


def test_the_same_content_is_the_same_version(own: Practice) -> None:
    given = own.client.graph(
        "query($id: ID!) { environmentVersion(id: $id) { digest version manifest bundleSha256 environment { id } } }",
        id=own.version,
    )["environmentVersion"]
    variables = {"environment": given["environment"]["id"], "bundle": given["bundleSha256"]}
    again = own.client.graph(PUBLISH, manifest=given["manifest"], **variables)["result"]
    assert (again["id"], again["digest"], again["version"]) == (own.version, given["digest"], 1)
    changed = own.client.graph(PUBLISH, manifest=given["manifest"] | {"task": "Another"}, **variables)["result"]
    assert changed["version"] == 2
    assert changed["digest"] != given["digest"]


def test_attempts_are_the_agents_own_command(own: Practice) -> None:
    document = "query($id: ID!) { node(id: $id) { ... on EvaluatorConfiguration { attemptCount agentCommand } } }"
    found = own.client.graph(document, id=own.configuration)["node"]
    assert found == {"attemptCount": 2, "agentCommand": list(AGENT)}


def test_an_evaluation_asked_for_again_is_the_same_run(own: Practice) -> None:
    # As a client does that lost the answer: the same request with the same key.
    query = {"query": START, "variables": {"version": own.version, "configuration": own.configuration}}
    headers = {"Idempotency-Key": f"again-{own.version}"}
    answers = [own.client.request("POST", "/graphql", json=query, headers=headers).json()["data"] for _ in range(2)]
    assert answers[0]["result"]["__typename"] == "EvaluationRun"
    assert answers[1]["result"]["id"] == answers[0]["result"]["id"]
