"""agentforge secret, as processes on a real database."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from cryptography.fernet import Fernet

from db import secrets as rows
from db.embedded import DatabaseUrls
from db.tenant import Tenant
from resolvers import secrets
from resolvers.secret_keys import SecretKeys
from tests.agentforge.test_commands_accounts import Ended, agentforge

VALUE = "a value\nof two lines, \u00fc"
Run = Callable[..., Any]


@pytest.fixture
def key() -> str:
    return SecretKeys.new()


@pytest.fixture
def secret(database: DatabaseUrls, acme: Tenant, key: str) -> Run:
    """Runs `agentforge secret ...` on this test's database, for acme unless told otherwise."""

    async def run(*arguments: str, keys: str | None = key, acme: bool = True, stdin: bytes = b"") -> Ended:
        variables = {"AGENTFORGE_DATABASE_URL": database.app} | (
            {} if keys is None else {"AGENTFORGE_SECRET_KEYS": keys}
        )
        options = ("--organization", "acme") if acme else ()
        return await agentforge("secret", *arguments, *options, stdin=stdin, **variables)

    return run


async def test_a_secret_is_set_from_standard_input_listed_and_removed(acme: Tenant, secret: Run, key: str) -> None:
    made = await secret("set", "API_KEY", "--json", stdin=f"{VALUE}\n".encode())
    assert list(made.json()) == ["id", "name", "createdAt", "updatedAt", "updatedBy"]
    assert await secrets.read_secrets(acme, SecretKeys([key]), ["API_KEY"]) == {"API_KEY": VALUE}
    (shown,) = (await secret("list", "--json", keys=None)).json()
    assert shown == made.json()
    for told in (made, await secret("list"), await secret("set", "API_KEY", stdin=b"another value\r\n")):
        assert told.code == 0
        assert "API_KEY" in told.out
        assert "value" not in told.out
    assert await secrets.read_secrets(acme, SecretKeys([key]), ["API_KEY"]) == {"API_KEY": "another value"}
    assert (await secret("remove", "API_KEY")).out == "The secret API_KEY of acme is removed.\n"
    gone = await secret("remove", "API_KEY")
    assert (gone.code, gone.err) == (1, "Error: There is no such secret.\n")


@pytest.mark.parametrize(
    ("stdin", "name", "reason"),
    [
        (b"short", "API_KEY", "A secret has at least 8 characters"),
        (b"\xff" * 9, "API_KEY", "The value on standard input is not UTF-8."),
        (b"x" * 20_000, "API_KEY", "A secret has at most 16384 bytes."),
        (b"a good value", "PATH", "PATH has a meaning of its own"),
    ],
)
async def test_what_cannot_be_set(secret: Run, stdin: bytes, name: str, reason: str) -> None:
    refused = await secret("set", name, stdin=stdin)
    assert refused.code == 2
    assert refused.err.startswith(f"Error: {reason}")


async def test_without_a_key_the_remedy_is_told(acme: Tenant, secret: Run) -> None:
    refused = await secret("set", "API_KEY", stdin=VALUE.encode(), keys=None)
    assert refused.code == 1
    assert "`agentforge secret key` makes one" in refused.err
    new = (await secret("key", acme=False, keys=None)).out.strip()
    assert (await secret("set", "API_KEY", stdin=VALUE.encode(), keys=new)).code == 0
    assert await secrets.read_secrets(acme, SecretKeys([new]), ["API_KEY"]) == {"API_KEY": VALUE}
    assert Fernet((await secret("key", "--json", acme=False)).json()["key"])


async def test_a_key_that_is_none_is_told_of_and_not_shown(secret: Run) -> None:
    refused = await secret("list", keys="hunter2hunter2")
    assert refused.code == 2
    assert "AGENTFORGE_SECRET_KEYS" in refused.err
    assert "key 1 of 1 is not 32 bytes in URL-safe base64; `agentforge secret key` makes one" in refused.err
    assert "hunter2" not in refused.err + refused.out


async def test_keys_are_rotated_in_one_organization_or_in_all(
    acme: Tenant, rival: Tenant, secret: Run, key: str
) -> None:
    for tenant in (acme, rival):
        await secrets.set_secret(tenant, SecretKeys([key]), "API_KEY", VALUE)
    new = SecretKeys.new()
    assert (await secret("rotate", "--json", keys=f"{new},{key}")).json() == {"rotated": 1}
    assert await secrets.read_secrets(acme, SecretKeys([new]), ["API_KEY"]) == {"API_KEY": VALUE}
    assert await secrets.read_secrets(rival, SecretKeys([key]), ["API_KEY"]) == {"API_KEY": VALUE}
    assert (
        await secret("rotate", acme=False, keys=f"{new},{key}")
    ).out == "2 secrets are encrypted with the first key.\n"
    assert await secrets.read_secrets(rival, SecretKeys([new]), ["API_KEY"]) == {"API_KEY": VALUE}
    before = await acme.fetch(rows.SEALED, ["API_KEY"])
    refused = await secret("rotate", keys=key)
    assert (refused.code, "decrypts the secret API_KEY" in refused.err) == (1, True)
    assert await acme.fetch(rows.SEALED, ["API_KEY"]) == before


async def test_a_configuration_is_given_its_secrets(database: DatabaseUrls, acme: Tenant, key: str) -> None:
    variables: dict[str, Any] = {"AGENTFORGE_DATABASE_URL": database.app, "AGENTFORGE_ORGANIZATION": "acme"}
    create = ("configuration", "create", "keyed", "--agent", "agent", "--secret", "API_KEY", "--json")
    refused = await agentforge(*create, **variables)
    assert (refused.code, refused.out) == (2, "")
    assert "There is no secret API_KEY" in refused.err
    await secrets.set_secret(acme, SecretKeys([key]), "API_KEY", VALUE)
    assert json.loads((await agentforge(*create, **variables)).out)["secrets"] == ["API_KEY"]
