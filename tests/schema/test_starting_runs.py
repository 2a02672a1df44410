"""Starting, resetting and cancelling runs, down to the queue."""

from typing import Any
from uuid import UUID

import asyncpg
from structlog.testing import capture_logs

from db import runs
from db.embedded import DatabaseUrls
from db.jobs import RunJob
from db.runs import RUN_ENDED
from db.tenant import Tenant
from tests.schema.asking import ask, execute
from tests.schema.world import Outcome, World, add_run, small_world

RUN = """... on EvaluationRun {
  id trigger resetMode seed status attemptCount passAtK { k estimate passHatK } environmentVersion { id }
  evaluatorConfiguration { id } trials { attempt seed status execution } finishedAt unscoredAttempts
}"""
START = f"""mutation($version: ID!, $by: ID!, $seed: BigInt) {{ answer: startEvaluation(
  input: {{ environmentVersionId: $version, evaluatorConfigurationId: $by, seed: $seed }}) {{ __typename {RUN} }} }}"""
RESET = f"""mutation($version: ID!, $mode: ResetMode!, $by: ID) {{ answer: resetEnvironment(
  input: {{ environmentVersionId: $version, mode: $mode, evaluatorConfigurationId: $by }}) {{ __typename {RUN} }} }}"""
CANCEL = f"""mutation($id: ID!) {{ answer: cancelEvaluationRun(input: {{ evaluationRunId: $id }}) {{
  __typename {RUN} ... on Problem {{ message }} }} }}"""


async def superuser_rows(database: DatabaseUrls, statement: str) -> list[dict[str, Any]]:
    connection = await asyncpg.connect(database.owner.replace("agentforge_owner@", "postgres@"))
    try:
        return [dict(record) for record in await connection.fetch(statement)]
    finally:
        await connection.close()


async def queued_jobs(database: DatabaseUrls) -> list[dict[str, Any]]:
    return await superuser_rows(
        database, "select id, entrypoint, payload, status::text, xmin::text from queue.pgqueuer order by id"
    )


async def test_a_run_is_its_row_a_trial_for_each_attempt_and_one_job(acme: Tenant, database: DatabaseUrls) -> None:
    world = await small_world(acme)
    version, by = str(world.versions[0].id), str(world.configurations[0].id)
    run = (await ask(acme, START, version=version, by=by, seed=5))["answer"]
    assert (run["trigger"], run["resetMode"], run["status"], run["seed"]) == ("EVALUATION", None, "QUEUED", "5")
    assert run["passAtK"] == []
    assert run["environmentVersion"] == {"id": version}
    assert run["trials"] == [
        {"attempt": attempt, "seed": "5", "status": "QUEUED", "execution": 0} for attempt in range(1, 9)
    ]
    (job,) = await queued_jobs(database)
    assert (job["entrypoint"], job["status"]) == ("evaluation_run", "queued")
    assert RunJob.decode(job["payload"]) == RunJob(acme.organization_id, UUID(run["id"]))
    (row,) = await superuser_rows(database, "select id, job_id, xmin::text from evaluation_runs")
    # Both written by one transaction: neither is ever there without the other.
    assert row == {"id": UUID(run["id"]), "job_id": job["id"], "xmin": job["xmin"]}


async def test_a_run_that_cannot_be_stored_leaves_no_job(acme: Tenant, database: DatabaseUrls) -> None:
    world = await small_world(acme)
    await superuser_rows(database, "alter table evaluation_runs add constraint never check (job_id is null)")
    with capture_logs():
        result = await execute(
            acme, START, version=str(world.versions[0].id), by=str(world.configurations[0].id), seed=None
        )
    assert result.errors
    assert await queued_jobs(database) == []
    assert (
        await superuser_rows(database, "select id from evaluation_runs union all select id from evaluation_trials")
        == []
    )


async def started(world: World, seed: int = 41) -> Any:
    version, by = str(world.versions[0].id), str(world.configurations[0].id)
    return (await ask(world.tenant, START, version=version, by=by, seed=seed))["answer"]


async def test_a_reset_is_a_new_run_of_the_same_version(acme: Tenant, database: DatabaseUrls) -> None:
    world = await small_world(acme)
    first = await started(world)
    versions = await superuser_rows(database, "select id, xmin::text from environment_versions")
    before = await acme.fetch(runs.BY_IDS, [UUID(first["id"])])
    seeds = []
    for mode in ("NEW_WORKSPACE", "NEW_WORLD", "NEW_WORKSPACE", "NEW_WORLD"):
        run = (await ask(acme, RESET, version=str(world.versions[0].id), mode=mode))["answer"]
        assert (run["trigger"], run["resetMode"], run["status"]) == ("RESET", mode, "QUEUED")
        assert run["environmentVersion"] == first["environmentVersion"]
        assert run["evaluatorConfiguration"] == first["evaluatorConfiguration"]
        assert {trial["seed"] for trial in run["trials"]} == {run["seed"]}
        assert len(run["trials"]) == 8
        seeds.append(int(run["seed"]))
    assert seeds[0] == 41
    assert seeds[1] == seeds[2]
    assert len({41, seeds[1], seeds[3]}) == 3
    assert all(0 <= seed < 2**53 for seed in seeds)
    assert await acme.fetch(runs.BY_IDS, [UUID(first["id"])]) == before
    assert await superuser_rows(database, "select id, xmin::text from environment_versions") == versions
    assert len(await queued_jobs(database)) == 5


async def test_a_reset_takes_the_configuration_given_or_the_newest_runs(world: World) -> None:
    version, (scripted, other) = str(world.versions[0].id), world.configurations
    # The newest run of this version is the other configuration's.
    run = (await ask(world.tenant, RESET, version=version, mode="NEW_WORKSPACE"))["answer"]
    assert (run["evaluatorConfiguration"], run["attemptCount"]) == ({"id": str(other.id)}, 2)
    assert run["seed"] == str(2**53 + 1)
    named = (await ask(world.tenant, RESET, version=version, mode="NEW_WORKSPACE", by=str(scripted.id)))["answer"]
    assert (named["evaluatorConfiguration"], named["attemptCount"]) == ({"id": str(scripted.id)}, 8)
    unused = str(world.versions[2].id)
    fresh = (await ask(world.tenant, RESET, version=unused, mode="NEW_WORKSPACE", by=str(other.id)))["answer"]
    assert (fresh["trigger"], fresh["seed"]) == ("RESET", "0")


async def test_cancelling_a_queued_run_takes_its_job_out_of_the_queue(acme: Tenant, database: DatabaseUrls) -> None:
    world = await small_world(acme)
    run = await started(world)
    other = await started(world)
    cancelled = (await ask(acme, CANCEL, id=run["id"]))["answer"]
    assert cancelled["status"] == "CANCELLED"
    assert cancelled["finishedAt"] is not None
    assert {trial["status"] for trial in cancelled["trials"]} == {"CANCELLED"}
    assert cancelled["passAtK"] == [{"k": k, "estimate": None, "passHatK": None} for k in range(1, 9)]
    (left,) = await queued_jobs(database)
    assert RunJob.decode(left["payload"]).evaluation_run_id == UUID(other["id"])


async def test_cancelling_a_running_run_keeps_the_trials_that_have_ended(acme: Tenant) -> None:
    world = await small_world(acme)
    outcomes = [
        Outcome(1.0),
        Outcome(None, "errored", "agent_crashed"),
        Outcome(None, "running"),
        Outcome(None, "queued"),
    ]
    run = await add_run(world, world.versions[0], world.configurations[0], outcomes, status="running")
    cancelled = (await ask(acme, CANCEL, id=str(run.row.id)))["answer"]
    assert [trial["status"] for trial in cancelled["trials"]] == ["COMPLETED", "ERRORED", "CANCELLED", "CANCELLED"]
    text = "query($id: ID!) { evaluationRun(id: $id) { trials { reward failureCategory } } }"
    trials = (await ask(acme, text, id=str(run.row.id)))["evaluationRun"]["trials"]
    assert [trial["reward"] for trial in trials] == [1.0, None, None, None]
    assert [trial["failureCategory"] for trial in trials] == [None, "agent_crashed", None, None]


async def test_a_run_that_has_ended_cannot_be_cancelled(acme: Tenant) -> None:
    world = await small_world(acme)
    for status in RUN_ENDED:
        run = await add_run(world, world.versions[0], world.configurations[0], [Outcome(1.0)], status=status)
        before = await acme.fetch(runs.BY_IDS, [run.row.id])
        refused = (await ask(acme, CANCEL, id=str(run.row.id)))["answer"]
        assert refused == {"__typename": "Conflict", "message": f"The run has ended already: {status}."}
        assert await acme.fetch(runs.BY_IDS, [run.row.id]) == before
