"""Another organization's ids as references: refused like ids that do not exist, so that nothing tells them apart."""

from collections.abc import Callable, Sequence
from typing import Any
from uuid import UUID, uuid4

import asyncpg
import pytest

from db import accounts, artifact_files, artifacts, atif_verdicts, rollouts, runs, trials, versions
from db.query import Query
from db.tenant import Tenant
from tests.db.populate import Contents, populate

Statement = tuple[Query[Any], Sequence[object]]

REFERENCES: dict[str, Callable[[Contents, Contents, Callable[[UUID], UUID]], Statement]] = {
    # Given our contents, the rival's own, and what to make of each of our ids.
    "environment": lambda a, b, id_of: (versions.PUBLISH, [id_of(a.environment_id), "e" * 64, "{}", None]),
    "version of a run": lambda a, b, id_of: (
        runs.CREATE,
        [id_of(a.version.id), b.configuration_id, "evaluation", None, 0, 1],
    ),
    "configuration of a run": lambda a, b, id_of: (
        runs.CREATE,
        [b.version.id, id_of(a.configuration_id), "evaluation", None, 0, 1],
    ),
    "run of a trial": lambda a, b, id_of: (trials.CREATE, [id_of(a.run.id), b.version.id, 0, 1]),
    "version of a trial": lambda a, b, id_of: (trials.CREATE, [b.bare_run.id, id_of(a.version.id), 0, 1]),
    "trial of an artifact": lambda a, b, id_of: (
        artifacts.CREATE,
        [id_of(a.queued_trial.id), 1, "trial-1-trajectory.json", '""', "[]", 0, None],
    ),
    "artifact of a file": lambda a, b, id_of: (
        artifact_files.CREATE,
        [id_of(a.artifact_id), ['"a"'], [1], [None], ["too large"]],
    ),
    "artifact of a verdict": lambda a, b, id_of: (
        atif_verdicts.CREATE,
        [id_of(a.artifact_id), True, None, [], True],
    ),
    "member of a session": lambda a, b, id_of: (
        accounts.CREATE_SESSION,
        [id_of(a.user_id), b"s" * 32, a.trial.created_at],
    ),
    "member of a sign-in link": lambda a, b, id_of: (
        accounts.CREATE_SIGN_IN_LINK,
        [id_of(a.user_id), b"s" * 32, a.trial.created_at],
    ),
}


async def refusal(tenant: Tenant, statement: Statement) -> tuple[type, str, str]:
    """How the server refuses the statement, its ids left out."""
    query, arguments = statement
    with pytest.raises(asyncpg.ForeignKeyViolationError) as raised:
        async with tenant.transaction() as transaction:
            await transaction.fetch(query, *arguments)
    detail = str(raised.value.detail)
    for argument in arguments:
        detail = detail.replace(str(argument), "...")
    return type(raised.value), str(raised.value), detail


@pytest.mark.parametrize("reference", REFERENCES)
async def test_a_foreign_id_is_refused_like_an_unknown_one(reference: str, ours: Contents, rival: Tenant) -> None:
    theirs = await populate(rival, "rival")
    foreign = REFERENCES[reference](ours, theirs, lambda theirs: theirs)
    unknown = REFERENCES[reference](ours, theirs, lambda _: uuid4())
    assert await refusal(rival, foreign) == await refusal(rival, unknown)


async def test_a_foreign_trial_becomes_no_rollout(ours: Contents, rival: Tenant) -> None:
    async with rival.transaction() as transaction:
        assert await transaction.fetch(rollouts.CREATE, ours.queued_trial.id) == []
        assert await transaction.fetch(rollouts.CREATE, uuid4()) == []


async def test_no_row_can_be_written_into_another_organization(ours: Contents, rival: Tenant) -> None:
    other = ours.tenant.organization_id
    for statement in (
        "insert into environments (organization_id, slug, name) values ($1, 'theirs', 'Theirs')",
        "insert into memberships (organization_id, user_id, role) select $1, uuidv7(), 'owner'",
        "insert into organizations (id, slug, name) values ($1, 'theirs', 'Theirs')",
        "insert into bundles (organization_id, sha256, content) values ($1, repeat('0', 64), 'x')",
    ):
        with pytest.raises(asyncpg.InsufficientPrivilegeError, match="row-level security"):
            async with rival.transaction() as transaction:
                await transaction.connection.execute(statement, other)
