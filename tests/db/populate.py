"""Rows in every table of an organization, made through the service's own statements."""

import hashlib
import json
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from uuid import UUID

from db import accounts, bundles, environments, executions, export_audits, idempotency, runs, secrets, trials, versions
from db.runs import EvaluationRun
from db.tenant import Tenant, fetch_before_organization
from db.trials import EvaluationTrial
from db.versions import EnvironmentVersion
from tests.factory import Attempt, create_configuration, create_run, leave_files, step

BUNDLE = b"an archive"
BUNDLE_SHA256 = hashlib.sha256(BUNDLE).hexdigest()
DIGEST = "d" * 64
MANIFEST = '{"task": "Restock"}'


@dataclass(frozen=True)
class Contents:
    """What an organization was given."""

    tenant: Tenant
    user_id: UUID
    token_id: UUID
    secret_id: UUID
    environment_id: UUID
    version: EnvironmentVersion
    configuration_id: UUID
    run: EvaluationRun
    trial: EvaluationTrial
    file_id: UUID
    audit_id: UUID
    open_run: EvaluationRun
    queued_trial: EvaluationTrial
    running_trial: EvaluationTrial
    bare_run: EvaluationRun  # without trials

    @property
    def artifact_id(self) -> UUID:
        assert self.trial.trajectory_artifact_id
        return self.trial.trajectory_artifact_id


async def _accounts(tenant: Tenant, name: str) -> tuple[UUID, UUID]:
    (user,) = await fetch_before_organization(tenant.pool, accounts.USER_BY_EMAIL, f"Person@{name}.example")
    expires_at = datetime.now(UTC) + timedelta(days=1)
    async with tenant.transaction() as transaction:
        await transaction.fetch(accounts.PUT_MEMBERSHIP, user.user_id, "owner")
        secrets = [hashlib.sha256(f"{name} {kind}".encode()).digest() for kind in ("session", "link", "token")]
        await transaction.fetch(accounts.CREATE_SESSION, user.user_id, secrets[0], expires_at)
        await transaction.fetch(accounts.CREATE_SIGN_IN_LINK, user.user_id, secrets[1], expires_at)
        await transaction.fetch(idempotency.TAKE, user.user_id, "key", secrets[0])
        (token,) = await transaction.fetch(accounts.CREATE_TOKEN, "laptop", "member", secrets[2], expires_at)
    return user.user_id, token.id


async def _version(tenant: Tenant) -> EnvironmentVersion:
    async with tenant.transaction() as transaction:
        await transaction.fetch(bundles.PUT, BUNDLE_SHA256, BUNDLE)
        (environment,) = await transaction.fetch(environments.CREATE, "shop", "Shop")
        (version,) = await transaction.fetch(versions.PUBLISH, environment.id, DIGEST, MANIFEST, BUNDLE_SHA256)
    return version


async def populate(tenant: Tenant, name: str) -> Contents:
    """Fill every table; the same slug, digests and names for each organization, other secrets and people."""
    user_id, token_id = await _accounts(tenant, name)
    version = await _version(tenant)
    run, (trial,) = await create_run(
        tenant, version, [Attempt(0.5, stages={"stage_a": 1}, steps=list(map(step, range(1, 202))))]
    )
    open_run, (queued_trial, waiting) = await create_run(
        tenant, version, [Attempt(status="queued")] * 2, status="running"
    )
    configuration_id = await create_configuration(tenant)
    async with tenant.transaction() as transaction:
        assert trial.trajectory_artifact_id
        file_id, _ = await leave_files(transaction, trial.trajectory_artifact_id)
        (secret,) = await transaction.fetch(secrets.PUT, "API_KEY", name.encode(), user_id)
        who = (user_id, f"person@{name}.example", "owner")
        (audit,) = await transaction.fetch(export_audits.START, *who, "all", "atif-shaped", "[]")
    async with tenant.transaction() as transaction:
        (running_trial,) = await transaction.fetch(trials.CLAIM, waiting.id, 0, "worker", None)
        await transaction.fetch(executions.RECORD, waiting.id, 1, 1, 1, json.dumps([step(1)]))
        (bare_run,) = await transaction.fetch(runs.CREATE, version.id, configuration_id, "evaluation", None, 0, 1)
    return Contents(
        tenant=tenant,
        user_id=user_id,
        token_id=token_id,
        secret_id=secret.id,
        environment_id=version.environment_id,
        version=version,
        configuration_id=configuration_id,
        run=run,
        trial=trial,
        file_id=file_id,
        audit_id=audit.id,
        open_run=open_run,
        queued_trial=queued_trial,
        running_trial=running_trial,
        bare_run=bare_run,
    )
