"""Secrets from where they are stored to an agent, and nowhere in the database when its run has ended."""

import json
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import asyncpg
import pytest
from structlog.testing import capture_logs

from agentforge.publishing import publish_directory
from db.embedded import DatabaseUrls
from db.tenant import Tenant
from db.versions import EnvironmentVersion
from resolvers import configurations, runs, secrets
from resolvers.context import NO_KEYS
from resolvers.secret_keys import SecretKeys
from tests.factory import MANIFEST
from tests.worker.conftest import AGENT_PRELUDE
from tests.worker.test_job import drained, run_and_trials
from tests.worker.test_secrets import TELLING_AGENT, TELLING_EVALUATOR, TELLING_WORLD, TOKEN, VALUE, cores

KEYS = SecretKeys([SecretKeys.new()])
AGENT = ("{python}", "{bundle}/agent.py", "{mcp_config}")


@pytest.fixture
async def version(acme: Tenant, tmp_path: Path) -> EnvironmentVersion:
    folder = tmp_path / "environment"
    folder.mkdir()
    (folder / "world.py").write_text(TELLING_WORLD)
    (folder / "score.py").write_text(TELLING_EVALUATOR)
    agent = AGENT_PRELUDE.format(folder=str(folder)) + textwrap.dedent(TELLING_AGENT)
    (folder / "agent.py").write_text(agent)
    manifest = MANIFEST | {
        "world": {"command": ["{python}", "-m", "world"]},
        "evaluator": {"command": ["{python}", "-m", "score"]},
    }
    (folder / "environment.json").write_text(json.dumps(manifest))
    return await publish_directory(acme, folder, "telling", "Telling")


async def start(tenant: Tenant, version: EnvironmentVersion, *names: str) -> Any:
    made = await configurations.create(tenant, " ".join(["telling", *names]), 1, AGENT, names)
    return (await runs.start(tenant, str(version.id), str(made.id), 0)).id


async def everything(administrator: "asyncpg.Connection[asyncpg.Record]") -> Iterator[str]:
    """Each value of each row of each table, the queue's too."""
    tables = await administrator.fetch(
        "select format('%I.%I', schemaname, tablename) as name from pg_tables "
        "where schemaname not in ('pg_catalog', 'information_schema')"
    )
    rows = [row for table in tables for row in await administrator.fetch(f"select * from {table['name']}")]
    assert len(tables) > 20
    return (_text(value) for row in rows for value in row.values())


def _text(value: object) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else str(value)


async def test_a_value_is_nowhere_after_a_run_that_told_it_everywhere(
    acme: Tenant,
    database: DatabaseUrls,
    version: EnvironmentVersion,
    administrator: "asyncpg.Connection[asyncpg.Record]",
    tmp_path: Path,
) -> None:
    await secrets.set_secret(acme, KEYS, "API_KEY", VALUE)
    run_id = await start(acme, version, "API_KEY")
    with capture_logs() as logged:
        await drained(database, tmp_path / "worker", KEYS)
    run, (trial,) = await run_and_trials(acme, run_id)
    assert (run.status, trial.status, trial.reward) == ("completed", "completed", 0.5)
    assert trial.redactions > 50
    assert trial.failure_detail.endswith("x[redacted]")
    stored = list(await everything(administrator))
    assert any("[redacted]" in one for one in stored)
    forms = [TOKEN, *cores(TOKEN)]
    assert [(form, one) for form in forms for one in stored if form in one] == []
    assert [form for form in forms if form in repr(logged)] == []


async def failure_of(acme: Tenant, database: DatabaseUrls, run_id: Any, folder: Path, keys: SecretKeys) -> str:
    await drained(database, folder, keys)
    run, (trial,) = await run_and_trials(acme, run_id)
    assert (run.status, trial.status, trial.reward) == ("failed", "errored", None)
    assert trial.failure_detail == run.failure_detail
    return str(run.failure_detail)


async def test_a_run_without_its_secret_fails_and_says_so(
    acme: Tenant, database: DatabaseUrls, version: EnvironmentVersion, tmp_path: Path
) -> None:
    await secrets.set_secret(acme, KEYS, "API_KEY", VALUE)
    run_id = await start(acme, version, "API_KEY")
    await secrets.remove_secret(acme, "API_KEY")
    told = await failure_of(acme, database, run_id, tmp_path / "worker", KEYS)
    assert told == "The configuration names the secret API_KEY, which is there no more."


@pytest.mark.parametrize(
    ("keys", "reason"),
    [
        (NO_KEYS, "There is no key to encrypt secrets with"),
        (SecretKeys([SecretKeys.new()]), "None of the keys in AGENTFORGE_SECRET_KEYS decrypts the secret API_KEY."),
    ],
)
async def test_a_worker_without_the_key_fails_the_run_and_says_so(
    acme: Tenant, database: DatabaseUrls, version: EnvironmentVersion, tmp_path: Path, keys: SecretKeys, reason: str
) -> None:
    await secrets.set_secret(acme, KEYS, "API_KEY", VALUE)
    run_id = await start(acme, version, "API_KEY")
    assert (await failure_of(acme, database, run_id, tmp_path / "worker", keys)).startswith(reason)


async def test_another_organization_s_secret_is_none_of_ours(
    acme: Tenant, rival: Tenant, database: DatabaseUrls, version: EnvironmentVersion, tmp_path: Path
) -> None:
    for tenant in (acme, rival):
        await secrets.set_secret(tenant, KEYS, "API_KEY", VALUE)
    run_id = await start(acme, version, "API_KEY")
    await secrets.remove_secret(acme, "API_KEY")
    told = await failure_of(acme, database, run_id, tmp_path / "worker", KEYS)
    assert told == "The configuration names the secret API_KEY, which is there no more."
