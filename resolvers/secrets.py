"""Secrets of agents: values that are set and removed, handed to agents, and never shown."""

import re
from collections.abc import Sequence
from typing import Final
from uuid import UUID

from db import secrets
from db.errors import InvalidInputError, NotFoundError
from db.secrets import Secret
from db.tenant import Pool, Tenant, Transaction, fetch_before_organization
from resolvers.names import check_text
from resolvers.pages import Listing, newest_first
from resolvers.secret_keys import SecretKeys

#: Characters; a shorter value could not be told from ordinary text where it is to be redacted.
SHORTEST_VALUE: Final = 8
#: Bytes of UTF-8.
LONGEST_VALUE: Final = 16_384
MOST_OF_A_CONFIGURATION: Final = 32

_NAME: Final = re.compile(r"[A-Z_][A-Z0-9_]{0,127}", re.ASCII)
#: Variables by which a process is found, started or told of its attempt.
_RESERVED: Final = frozenset(
    [
        "PATH",
        "HOME",
        "LANG",
        "TMPDIR",
        "PWD",
        "SHELL",
        "IFS",
        "ENV",
        "BASH_ENV",
        "PYTHONPATH",
        "PYTHONHOME",
        "NODE_OPTIONS",
    ]
)
_RESERVED_PREFIXES: Final = ("AGENTFORGE_", "LD_", "DYLD_", "LC_")


def newest(first: int | None = None, after: str | None = None) -> Listing[Secret]:
    return newest_first("secrets newest", secrets.PAGE, secrets.COUNT, (), first, after)


async def in_order(tenant: Tenant) -> list[Secret]:
    """All of the organization, by name."""
    return await tenant.fetch(secrets.IN_ORDER)


def check_secret_name(name: str, *field: str) -> str:
    """Raises InvalidInputError unless a variable of an agent may be called so."""
    if not _NAME.fullmatch(name):
        raise InvalidInputError(
            f"{name[:128]!r} is not the name of a secret: like API_KEY, 1 to 128 of A-Z, 0-9 and '_', "
            "not beginning with a digit.",
            field,
        )
    if name in _RESERVED or name.startswith(_RESERVED_PREFIXES):
        raise InvalidInputError(f"{name} has a meaning of its own for processes; give the secret another name.", field)
    return name


def _check_value(value: str) -> str:
    check_text(value, "value")
    if len(value.strip()) < SHORTEST_VALUE:
        raise InvalidInputError(
            f"A secret has at least {SHORTEST_VALUE} characters that are no white space; a shorter one could not be "
            "told from ordinary text to redact it.",
            ["value"],
        )
    if len(value.encode()) > LONGEST_VALUE:
        raise InvalidInputError(f"A secret has at most {LONGEST_VALUE} bytes.", ["value"])
    return value


async def set_secret(tenant: Tenant, keys: SecretKeys, name: str, value: str, by: UUID | None = None) -> Secret:
    """A new secret, or another value of one that is there; `by` is the person or token, None for an operator.

    Raises InvalidInputError, and ConflictError when there is no key to encrypt with.
    """
    check_secret_name(name, "name")
    ciphertext = keys.seal(tenant.organization_id, name, _check_value(value))
    async with tenant.transaction() as transaction:
        (secret,) = await transaction.fetch(secrets.PUT, name, ciphertext, by)
    return secret


async def remove_secret(tenant: Tenant, name: str) -> None:
    """Configurations that name it stay, and runs of theirs fail. Raises NotFoundError."""
    async with tenant.transaction() as transaction:
        if not _NAME.fullmatch(name) or not await transaction.fetch(secrets.REMOVE, name):
            raise NotFoundError("There is no such secret.")


async def check_named(transaction: Transaction, names: Sequence[str]) -> None:
    """Raises InvalidInputError for a name that stands twice or that no secret has."""
    if len(names) > MOST_OF_A_CONFIGURATION:
        raise InvalidInputError(f"A configuration names at most {MOST_OF_A_CONFIGURATION} secrets.", ["secrets"])
    for index, name in enumerate(names):
        check_secret_name(name, "secrets", str(index))
        if name in names[:index]:
            raise InvalidInputError(f"The secret {name} is named twice.", ["secrets", str(index)])
    known = {secret.name for secret in await transaction.fetch(secrets.BY_NAMES, list(names))} if names else set()
    for index, name in enumerate(names):
        if name not in known:
            raise InvalidInputError(
                f"There is no secret {name}; an owner sets it, with setSecret or `agentforge secret set`.",
                ["secrets", str(index)],
            )


async def read_secrets(tenant: Tenant, keys: SecretKeys, names: Sequence[str]) -> dict[str, str]:
    """The values by name, for an agent. Raises NotFoundError where one was removed, ConflictError without its key."""
    if not names:
        return {}
    sealed = {one.name: one.ciphertext for one in await tenant.fetch(secrets.SEALED, list(names))}
    for name in names:
        if name not in sealed:
            raise NotFoundError(f"The configuration names the secret {name}, which is there no more.")
    return {name: keys.open(tenant.organization_id, name, sealed[name]) for name in names}


async def organizations_with_secrets(pool: Pool) -> list[Tenant]:
    found = await fetch_before_organization(pool, secrets.ORGANIZATIONS)
    return [Tenant(pool, one.organization_id) for one in found if one.organization_id is not None]


async def rotate(tenant: Tenant, keys: SecretKeys) -> int:
    """Encrypts every value of the organization anew, with the first key; how many there are.

    Raises ConflictError when one cannot be read; then all of them stay as they are.
    """
    async with tenant.transaction() as transaction:
        sealed = await transaction.fetch(secrets.LOCK_SEALED)
        for one in sealed:
            value = keys.open(tenant.organization_id, one.name, one.ciphertext)
            await transaction.fetch(secrets.SEAL_AGAIN, one.id, keys.seal(tenant.organization_id, one.name, value))
    return len(sealed)
