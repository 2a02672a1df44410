"""Evaluator configurations: which agent to run, and how often."""

from collections.abc import Sequence

from db import configurations
from db.configurations import EvaluatorConfiguration
from db.errors import ConflictError, InvalidInputError
from db.tenant import Tenant
from resolvers.names import check_name, check_text
from resolvers.pages import Listing, newest_first
from resolvers.secrets import check_named

MOST_ATTEMPTS = 8


def newest(first: int | None = None, after: str | None = None) -> Listing[EvaluatorConfiguration]:
    return newest_first("configurations newest", configurations.PAGE, configurations.COUNT, (), first, after)


def _check(name: str, attempt_count: int, agent_command: Sequence[str]) -> None:
    check_name(name)
    if not 1 <= attempt_count <= MOST_ATTEMPTS:
        raise InvalidInputError(
            f"attemptCount is {attempt_count}; a run has 1 to {MOST_ATTEMPTS} attempts.", ["attemptCount"]
        )
    if not agent_command or not agent_command[0]:
        raise InvalidInputError("The first part of agentCommand is the program to run.", ["agentCommand"])
    for index, part in enumerate(agent_command):
        check_text(part, "agentCommand", str(index))


async def create(
    tenant: Tenant, name: str, attempt_count: int, agent_command: Sequence[str], secrets: Sequence[str] = ()
) -> EvaluatorConfiguration:
    """`secrets` are names. Raises InvalidInputError, or ConflictError when the name is taken."""
    _check(name, attempt_count, agent_command)
    async with tenant.transaction() as transaction:
        await check_named(transaction, secrets)
        configuration = await transaction.fetch_one(
            configurations.CREATE, name, attempt_count, list(agent_command), list(secrets)
        )
    if configuration is None:
        raise ConflictError(f"There is an evaluator configuration {name!r} already.")
    return configuration
