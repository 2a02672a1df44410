"""One organization's rows beside another's: neither sees, touches, references or is told of the other's."""

from collections.abc import Sequence
from typing import Any

import asyncpg
import pytest

from db import (
    accounts,
    artifact_files,
    artifacts,
    atif_verdicts,
    bundles,
    configurations,
    environments,
    executions,
    export_audits,
    exports,
    members,
    nodes,
    reports,
    rollouts,
    runs,
    secrets,
    trials,
    versions,
)
from db.embedded import DatabaseUrls
from db.query import Query
from db.tenant import Tenant
from tests.db.conftest import Connection, Pool
from tests.db.expected import TENANT_TABLES, WALLED_TABLES
from tests.db.populate import BUNDLE_SHA256, Contents, populate

Statement = tuple[Query[Any], Sequence[object]]


@pytest.fixture
async def all_privileges(administrator: Connection) -> None:
    """Leaves row-level security as the only thing between the service and the rows of this test's database."""
    await administrator.execute("grant all on all tables in schema public to agentforge_app")


async def rows_of(administrator: Connection, contents: Contents) -> dict[str, list[str]]:
    """Every row of an organization and of its people, as text."""
    conditions = {
        "organizations": "id = $1",
        "users": "id in (select user_id from memberships where organization_id = $1)",
    }
    found = {}
    for table in sorted(WALLED_TABLES):
        condition = conditions.get(table, "organization_id = $1")
        rows = await administrator.fetch(
            f"select row.*::text from {table} row where {condition} order by 1", contents.tenant.organization_id
        )
        assert rows, f"no test fills {table}"
        found[table] = [row[0] for row in rows]
    return found


async def counts(tenant: Tenant) -> dict[str, int]:
    async with tenant.transaction("read only") as transaction:
        return {
            table: await transaction.connection.fetchval(f"select count(*) from {table}")
            for table in sorted(WALLED_TABLES)
        }


@pytest.mark.usefixtures("all_privileges", "ours")
async def test_without_an_organization_no_table_has_rows(pool: Pool) -> None:
    for table in WALLED_TABLES:
        assert await pool.fetchval(f"select count(*) from {table}") == 0, table
        # "" is what an organization leaves behind once it was set for a transaction of the connection.
        async with pool.acquire() as connection, connection.transaction():
            await connection.execute("set local agentforge.organization_id = ''")
            assert await connection.fetchval(f"select count(*) from {table}") == 0, table


@pytest.mark.usefixtures("all_privileges")
async def test_another_organization_sees_its_own_rows_only(ours: Contents, rival: Tenant) -> None:
    assert await counts(rival) == dict.fromkeys(sorted(WALLED_TABLES), 0) | {"organizations": 1}
    before = await counts(ours.tenant)
    await populate(rival, "rival")
    assert await counts(rival) == await counts(ours.tenant) == before
    async with rival.transaction() as transaction:
        for table in TENANT_TABLES:
            seen = await transaction.connection.fetch(f"select distinct organization_id from {table}")
            assert [row[0] for row in seen] == [rival.organization_id], table


@pytest.mark.usefixtures("all_privileges")
async def test_another_organization_changes_and_deletes_nothing(
    ours: Contents, rival: Tenant, administrator: Connection
) -> None:
    before = await rows_of(administrator, ours)
    for table in sorted(TENANT_TABLES):
        async with rival.transaction() as transaction:
            column = await transaction.connection.fetchval(
                "select attname from pg_attribute where attrelid = $1::text::regclass and attnum = 2", table
            )
            for statement in (f"update {table} set {column} = {column}", f"delete from {table}"):
                assert (await transaction.connection.execute(statement)).endswith(" 0"), statement
    async with rival.transaction() as transaction:
        assert await transaction.connection.execute("update users set email = email") == "UPDATE 0"
        assert await transaction.connection.execute("delete from users") == "DELETE 0"
    assert await rows_of(administrator, ours) == before


async def test_the_same_names_and_contents_fit_into_both_organizations(
    ours: Contents, rival: Tenant, administrator: Connection
) -> None:
    before = await rows_of(administrator, ours)
    theirs = await populate(rival, "rival")
    assert theirs.version.digest == ours.version.digest
    assert theirs.version.bundle_sha256 == ours.version.bundle_sha256
    assert (theirs.version.version, theirs.trial.attempt) == (ours.version.version, ours.trial.attempt)
    assert await rows_of(administrator, ours) == before


async def test_another_organization_s_runs_and_trials_are_out_of_reach(
    ours: Contents, rival: Tenant, administrator: Connection
) -> None:
    before = await rows_of(administrator, ours)
    open_run, queued, running, claimed = ours.open_run.id, ours.queued_trial, ours.running_trial, ours.trial
    attempts: list[Statement] = [
        (runs.LOCK, [open_run]),
        (runs.START, [open_run]),
        (runs.SET_JOB, [open_run, 1]),
        (runs.FINISH, [open_run, "cancelled", "[]", 0, None]),
        (trials.CLAIM, [queued.id, queued.execution, "worker", None]),
        (runs.REOPEN, [ours.run.id, 1]),
        (trials.RERUN, [ours.run.id, 1]),
        (rollouts.SUPERSEDE, [[claimed.id]]),
        (trials.FINISH, [queued.id, queued.execution, "completed", 1.0, None, None, "[]", None, None, 0]),
        (trials.INTERRUPT, [queued.id, queued.execution, None]),
        (trials.ATTACH, [claimed.id, claimed.execution, None, 0]),
        (trials.END_OPEN, [open_run, "cancelled", "cancelled", None]),
        (executions.RECORD, [running.id, running.execution, 2, 1, "[]"]),
        (accounts.REVOKE_TOKEN, [ours.token_id]),
        (secrets.SEAL_AGAIN, [ours.secret_id, b"another"]),
        (export_audits.FINISH, [ours.audit_id, "completed", 0, 0]),
    ]
    for query, arguments in attempts:
        async with rival.transaction() as transaction:
            assert await transaction.fetch(query, *arguments) == [], query.name
    async with rival.transaction() as transaction:
        assert await transaction.fetch_one(accounts.SET_PASSWORD, ours.user_id, "a hash") == accounts.Changed(False)
    assert await rows_of(administrator, ours) == before


def reads(ours: Contents) -> list[Statement]:
    """Statements that ask for our rows by what only we should know."""
    run, trial, version = ours.run.id, ours.trial.id, ours.version
    any_trial = [None] * 12
    return [
        (environments.BY_IDS, [[ours.environment_id]]),
        (environments.BY_SLUGS, [["shop"]]),
        (environments.PAGE, [None, 10]),
        (versions.BY_IDS, [[version.id]]),
        (versions.BY_DIGEST, [ours.environment_id, version.digest]),
        (versions.LATEST_OF_ENVIRONMENTS, [[ours.environment_id]]),
        (versions.PAGE_OF_ENVIRONMENTS, [None, 10, [ours.environment_id]]),
        (versions.COUNT_OF_ENVIRONMENTS, [[ours.environment_id]]),
        (versions.PASS_AT_K, [[version.id]]),
        (bundles.CONTENT, [BUNDLE_SHA256]),
        (bundles.EXISTS, [BUNDLE_SHA256]),
        (configurations.BY_IDS, [[ours.configuration_id]]),
        (configurations.BY_NAME, ["scripted"]),
        (runs.BY_IDS, [[run]]),
        (runs.PAGE_NEWEST, [None] * 7 + [10]),
        (runs.NEWEST_OF_VERSION, [version.id]),
        (runs.PAGE_OF_VERSIONS, [None] * 7 + [10, [version.id]]),
        (trials.BY_IDS, [[trial]]),
        (trials.BY_RUNS, [[run]]),
        (trials.PAGE_NEWEST, [*any_trial, None, None, 10]),
        (trials.PAGE_NEWEST, [*[None] * 11, "initialize", None, None, 10]),
        (trials.PAGE_REWARD_HIGHEST, [*any_trial, None, None, 10]),
        (trials.PAGE_OF_VERSIONS, [*any_trial, None, 10, [version.id]]),
        (trials.COUNT_OF_VERSIONS, [*any_trial, [version.id]]),
        (executions.BY_TRIALS, [[trial]]),
        (executions.STEPS, [1, 1, 1, [ours.running_trial.id]]),
        (rollouts.BY_TRIALS, [[trial]]),
        (rollouts.PAGE, [None] * 6 + [10]),
        (artifacts.BY_IDS, [[ours.trial.trajectory_artifact_id]]),
        (artifacts.STEPS, [101, 150, [ours.trial.trajectory_artifact_id]]),
        (artifacts.FILE, [ours.trial.trajectory_artifact_id]),
        (artifact_files.OF_ARTIFACTS, [[ours.trial.trajectory_artifact_id]]),
        (artifact_files.CONTENT, [ours.trial.trajectory_artifact_id, ours.file_id]),
        (atif_verdicts.OF_ARTIFACTS, [[ours.trial.trajectory_artifact_id]]),
        (export_audits.PAGE, [None, 10]),
        (exports.ROLLOUTS, [*[None] * 6, "all"]),
        (exports.ATIF, [*[None] * 6, "all"]),
        (exports.RECORDED, [*[None] * 6, "all"]),
        (members.BY_EMAIL, ["person@acme.example"]),
        (members.BY_IDS, [[ours.user_id]]),
        (members.PAGE, [None, 10]),
        (accounts.PAGE_OF_TOKENS, [None, 10]),
        (accounts.TOKENS, []),
        (accounts.TOKENS_BY_IDS, [[ours.token_id]]),
        (accounts.ORGANIZATIONS_BY_IDS, [[ours.tenant.organization_id]]),
        (secrets.BY_IDS, [[ours.secret_id]]),
        (secrets.BY_NAMES, [["API_KEY"]]),
        (secrets.IN_ORDER, []),
        (secrets.PAGE, [None, 10]),
        (secrets.SEALED, [["API_KEY"]]),
        (reports.CAPABILITY_GAPS, [None] * 5),
        (reports.PARTIAL_REWARDS, [None] * 5),
        (reports.PARTIAL_REWARDS_OF_VERSIONS, [[version.id]]),
        (nodes.FIND, [[ours.tenant.organization_id, ours.environment_id, version.id, run, trial]]),
    ]


async def test_asking_by_another_organization_s_ids_finds_nothing(ours: Contents, rival: Tenant) -> None:
    for query, arguments in reads(ours):
        assert await ours.tenant.fetch(query, *arguments), f"{query.name} should find our own"
        assert await rival.fetch(query, *arguments) == [], query.name


async def test_what_runs_before_the_organization_is_known_tells_one_thing_only(
    ours: Contents, database: DatabaseUrls
) -> None:
    connection = await asyncpg.connect(database.app)
    try:
        for statement in (
            "select password_hash from users",
            "select secret_sha256 from sessions",
            "select secret_sha256 from api_tokens",
            "select from sign_in_links",
        ):
            with pytest.raises(asyncpg.InsufficientPrivilegeError, match="permission denied"):
                await connection.execute(statement)
    finally:
        await connection.close()
