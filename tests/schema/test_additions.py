"""Adding attempts to a run and doing unscored ones again, as the graph tells it."""

import asyncio
from typing import Any
from uuid import UUID

import pytest

from db import rollouts
from db.embedded import DatabaseUrls
from db.jobs import RunJob
from db.tenant import Tenant
from tests.factory import step
from tests.schema.asking import ask
from tests.schema.test_idempotency import asked
from tests.schema.test_starting_runs import queued_jobs, superuser_rows
from tests.schema.world import Outcome, Run, World, add_run, small_world

SHOWN = """
  id status attemptCount seed passAtK { k estimate } unscoredAttempts failureDetail finishedAt
  trials { id attempt seed status execution reward failureCategory failureDetail stages { name } metrics redactions
    startedAt finishedAt rollout { id } trajectory { artifactId }
    executions { execution status reward failureCategory stages { name value } trajectory { log stepCount } } }"""
RUN = f"__typename ... on Problem {{ message }} ... on InvalidInput {{ field }} ... on EvaluationRun {{ {SHOWN} }}"
ADD = f"mutation($i: AddAttemptsInput!) {{ answer: addAttempts(input: $i) {{ {RUN} }} }}"
RERUN = f"mutation($i: RerunUnscoredInput!) {{ answer: rerunUnscored(input: $i) {{ {RUN} }} }}"
CANCEL = f"mutation($i: CancelEvaluationRunInput!) {{ answer: cancelEvaluationRun(input: $i) {{ {RUN} }} }}"

MIXED = [
    Outcome(1.0, stages={"stage_a": 1}, steps=[step(1)]),
    Outcome(
        None, "errored", "agent_crashed", {"stage_a": 0.5}, [step(1)], "crashed", detail="code 3", metrics={"m": 1}
    ),
    Outcome(None, "timed_out", "agent_timeout"),
    Outcome(None, "completed", "no_data"),
    Outcome(None, "interrupted", "worker_lost"),
    Outcome(0.0),
]
CLEARED = ("reward", "failureCategory", "failureDetail", "metrics", "startedAt", "finishedAt", "rollout", "trajectory")
FRESH = dict.fromkeys(CLEARED) | {"status": "QUEUED", "stages": [], "redactions": 0}


@pytest.fixture
async def small(acme: Tenant) -> World:
    return await small_world(acme)


async def a_run(world: World, outcomes: list[Outcome], status: str = "completed", **more: Any) -> Run:
    return await add_run(world, world.versions[0], world.configurations[0], outcomes, status=status, **more)


async def add(world: World, run: Run, count: int) -> Any:
    return (await ask(world.tenant, ADD, i={"evaluationRunId": str(run.row.id), "count": count}))["answer"]


async def rerun(world: World, run: Run) -> Any:
    return (await ask(world.tenant, RERUN, i={"evaluationRunId": str(run.row.id)}))["answer"]


async def cancel(world: World, run: Run) -> Any:
    return (await ask(world.tenant, CANCEL, i={"evaluationRunId": str(run.row.id)}))["answer"]


async def trials_of(tenant: Tenant, run: Run) -> Any:
    text = f"query($id: ID!) {{ answer: evaluationRun(id: $id) {{ {SHOWN} }} }}"
    return (await ask(tenant, text, id=str(run.row.id)))["answer"]["trials"]


@pytest.mark.parametrize(("status", "then"), [("queued", "QUEUED"), ("running", "RUNNING"), ("completed", "QUEUED")])
async def test_attempts_are_added_beside_those_there(
    status: str, then: str, small: World, database: DatabaseUrls
) -> None:
    outcomes = [Outcome(None, "queued")] * 2 if status == "queued" else [Outcome(1.0), Outcome(None, "errored", "x")]
    run = await a_run(small, outcomes, status, seed=2**53 + 1)
    before = await trials_of(small.tenant, run)
    added = await add(small, run, 3)
    assert (added["id"], added["status"], added["attemptCount"]) == (str(run.row.id), then, 5)
    assert (added["passAtK"], added["unscoredAttempts"], added["finishedAt"]) == ([], None, None)
    assert added["trials"][:2] == before
    for number, trial in enumerate(added["trials"][2:], 3):
        shown = {"attempt": number, "seed": str(2**53 + 1), "execution": 0, "executions": []}
        assert trial == FRESH | shown | {"id": trial["id"]}
    (job,) = await queued_jobs(database)
    assert RunJob.decode(job["payload"]) == RunJob(small.tenant.organization_id, run.row.id)
    of_jobs = await superuser_rows(database, "select attempt, job_id from evaluation_trials where job_id is not null")
    assert {row["attempt"]: row["job_id"] for row in of_jobs} == dict.fromkeys((3, 4, 5), job["id"])


@pytest.mark.parametrize(
    ("there", "count", "room"),
    [(6, 0, "1 to 2"), (6, -1, "1 to 2"), (6, 3, "1 to 2"), (7, 2, "1"), (8, 1, "none"), (1, 2**31 - 1, "1 to 7")],
)
async def test_a_run_has_room_for_eight(there: int, count: int, room: str, small: World) -> None:
    run = await a_run(small, [Outcome(1.0)] * there)
    assert await add(small, run, count) == {
        "__typename": "InvalidInput",
        "message": f"count is {count}; the run has {there} of at most 8 attempts, so {room} may be added.",
        "field": ["input", "count"],
    }
    assert len(await trials_of(small.tenant, run)) == there


async def test_room_is_counted_with_what_was_added(small: World) -> None:
    run = await a_run(small, [Outcome(1.0)] * 5)
    answers = await asyncio.gather(*(add(small, run, 2) for _ in range(3)))
    assert sorted(one["__typename"] for one in answers) == ["EvaluationRun", "InvalidInput", "InvalidInput"]
    assert [trial["attempt"] for trial in await trials_of(small.tenant, run)] == list(range(1, 8))


async def test_what_cannot_be_added_to_or_rerun(small: World, statements: list[str]) -> None:
    crashed = [Outcome(None, "errored", "x")]
    for run, addition, again in (
        (await a_run(small, crashed, "cancelled"), "The run is cancelled; rerun its unscored attempts first.", None),
        (await a_run(small, crashed, "failed"), "The run is failed; rerun its unscored attempts first.", None),
        (await a_run(small, [Outcome(None, "queued")], "queued"), None, "The run has not ended: queued."),
        (await a_run(small, [Outcome(None, "running")], "running"), None, "The run has not ended: running."),
        (
            await a_run(small, [Outcome(1.0), Outcome(0.0)]),
            None,
            "Every one of the run's 2 attempts has a score; none is to be rerun.",
        ),
        (
            await a_run(small, crashed, trigger="import"),
            "The run was imported; what was executed elsewhere is not continued here.",
            "The run was imported; what was executed elsewhere is not continued here.",
        ),
    ):
        before = await trials_of(small.tenant, run)
        statements.clear()
        if addition:
            assert await add(small, run, 1) == {"__typename": "Conflict", "message": addition}
        if again:
            assert await rerun(small, run) == {"__typename": "Conflict", "message": again}
        assert not {"trials.add", "trials.rerun", "runs.reopen"} & set(statements)
        assert await trials_of(small.tenant, run) == before


@pytest.mark.parametrize("status", ["completed", "failed", "cancelled"])
async def test_unscored_attempts_are_queued_again_with_their_history(
    status: str, small: World, database: DatabaseUrls
) -> None:
    run = await a_run(small, MIXED, status)
    before = await trials_of(small.tenant, run)
    again = await rerun(small, run)
    assert (again["id"], again["status"], again["attemptCount"]) == (str(run.row.id), "QUEUED", 6)
    assert (again["passAtK"], again["unscoredAttempts"], again["finishedAt"]) == ([], None, None)
    assert again["failureDetail"] is None
    for index, trial in enumerate(again["trials"]):
        scored = MIXED[index].reward is not None
        assert trial == (before[index] if scored else before[index] | FRESH)
    (job,) = await queued_jobs(database)
    assert RunJob.decode(job["payload"]).evaluation_run_id == run.row.id


async def test_a_cancelled_run_is_resumed(small: World) -> None:
    run = await a_run(small, [Outcome(1.0), Outcome(None, "queued"), Outcome(None, "queued")], "running")
    await cancel(small, run)
    again = await rerun(small, run)
    assert [trial["status"] for trial in again["trials"]] == ["COMPLETED", "QUEUED", "QUEUED"]


async def test_cancelling_takes_every_job_out_of_the_queue(small: World, database: DatabaseUrls) -> None:
    start = """mutation($version: ID!, $by: ID!) { answer: startEvaluation(
      input: { environmentVersionId: $version, evaluatorConfigurationId: $by }) { ... on EvaluationRun { id } } }"""
    run = await a_run(small, [Outcome(1.0)])
    await add(small, run, 2)
    await add(small, run, 1)
    version, by = str(small.versions[0].id), str(small.configurations[0].id)
    other = (await ask(small.tenant, start, version=version, by=by))["answer"]
    assert len(await queued_jobs(database)) == 3
    cancelled = await cancel(small, run)
    assert [trial["status"] for trial in cancelled["trials"]] == ["COMPLETED", "CANCELLED", "CANCELLED", "CANCELLED"]
    assert [one["k"] for one in cancelled["passAtK"]] == [1, 2, 3, 4]
    (left,) = await queued_jobs(database)
    assert RunJob.decode(left["payload"]).evaluation_run_id == UUID(other["id"])


async def test_both_at_once_and_each_twice(small: World, database: DatabaseUrls) -> None:
    run = await a_run(small, MIXED[:4])
    answers = await asyncio.gather(add(small, run, 1), rerun(small, run), add(small, run, 1), rerun(small, run))
    added = [answers[0]["__typename"], answers[2]["__typename"]]
    again = [answers[1]["__typename"], answers[3]["__typename"]]
    assert added == ["EvaluationRun"] * 2
    # Whoever comes when the run is open again is told so.
    assert sorted(again) in (["Conflict", "EvaluationRun"], ["Conflict", "Conflict"])
    shown = await trials_of(small.tenant, run)
    assert [trial["attempt"] for trial in shown] == [1, 2, 3, 4, 5, 6]
    jobs = await queued_jobs(database)
    assert len(jobs) == 2 + again.count("EvaluationRun")


async def test_a_key_makes_each_once(small: World) -> None:
    run = await a_run(small, MIXED)
    given: dict[str, Any] = {"evaluationRunId": str(run.row.id), "clientMutationId": "k"}
    again = await asked(small.tenant, RERUN, given)
    # Without the key it would be a conflict: the run has not ended.
    assert await asked(small.tenant, RERUN, given) == again
    given |= {"count": 1, "clientMutationId": "a"}
    answers = await asyncio.gather(*(asked(small.tenant, ADD, given) for _ in range(5)))
    assert [one["attemptCount"] for one in answers] == [7] * 5
    assert (await asked(small.tenant, ADD, given | {"count": 2}))["__typename"] == "Conflict"


REPORTS = """query($id: ID!) { environmentVersion(id: $id) {
  passAtK { k estimate } capabilityGaps { trials categorized gaps { failureCategory trials } }
  partialRewards { stage trials mean } preference { preferredReward rejectedReward } rollouts: exports { kind } } }"""


async def test_reports_see_the_latest_execution_only(small: World) -> None:
    run = await a_run(small, MIXED)
    version = str(small.versions[0].id)
    before = (await ask(small.tenant, REPORTS, id=version))["environmentVersion"]
    assert before["capabilityGaps"]["trials"] == 6
    assert before["partialRewards"] == [{"stage": "stage_a", "trials": 2, "mean": 0.75}]
    await rerun(small, run)
    after = (await ask(small.tenant, REPORTS, id=version))["environmentVersion"]
    assert after["capabilityGaps"] == {"trials": 2, "categorized": 0, "gaps": []}
    assert after["partialRewards"] == [{"stage": "stage_a", "trials": 1, "mean": 1}]
    assert after["passAtK"] == []
    assert after["preference"] == before["preference"] == {"preferredReward": 1, "rejectedReward": 0}


ROLLOUT = """query($id: ID!) {
  rollout(id: $id) { ...shown } node(id: $id) { __typename ... on Rollout { ...shown } }
  rollouts { totalCount edges { node { id superseded } } }
} fragment shown on Rollout { id superseded reward stages { value } trial { id rollout { id } } }"""


async def test_a_superseded_rollout_is_found_by_its_id_and_says_so(small: World, rival: Tenant) -> None:
    run = await a_run(small, MIXED[:2])
    crashed = run.trials[1]
    assert crashed.rollout is not None
    key, trial = str(crashed.rollout.id), str(crashed.row.id)
    shown = {"id": key, "superseded": False, "reward": None, "stages": [{"value": 0.5}]}
    answered = await ask(small.tenant, ROLLOUT, id=key)
    assert answered["rollout"] == shown | {"trial": {"id": trial, "rollout": {"id": key}}}
    await rerun(small, run)
    answered = await ask(small.tenant, ROLLOUT, id=key)
    assert answered["rollout"] == shown | {"superseded": True, "trial": {"id": trial, "rollout": None}}
    assert answered["node"] == answered["rollout"] | {"__typename": "Rollout"}
    assert answered["rollouts"]["totalCount"] == len(answered["rollouts"]["edges"]) == 1
    assert [row.superseded for row in await small.tenant.fetch(rollouts.BY_IDS, [crashed.rollout.id])] == [True]
    assert (await ask(rival, ROLLOUT, id=key))["rollout"] is None


async def test_a_trial_that_is_queued_again_is_compared_as_one_without_steps(small: World) -> None:
    run = await a_run(small, MIXED[:2])
    await rerun(small, run)
    text = """query($ids: [ID!]!) { compareTrials(ids: $ids) {
      trials { stepCount durationSeconds } stages { name values } firstDivergence { step } } }"""
    compared = (await ask(small.tenant, text, ids=[str(trial.row.id) for trial in run.trials]))["compareTrials"]
    assert [one["stepCount"] for one in compared["trials"]] == [1, 0]
    assert compared["trials"][1]["durationSeconds"] is None
    assert compared["stages"] == [{"name": "stage_a", "values": [1, None]}]
    assert compared["firstDivergence"] == {"step": 1}
