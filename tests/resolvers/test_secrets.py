"""Secrets at rest: what is stored, who can read it with which key, and what is refused."""

import pytest
from cryptography.fernet import Fernet

from db import secrets as rows
from db.errors import ConflictError, InvalidInputError, NotFoundError
from db.tenant import Tenant
from resolvers import configurations, secrets
from resolvers.context import NO_KEYS
from resolvers.secret_keys import SecretKeys, UnreadableSecretError
from tests.db.conftest import Connection

VALUE = "a value, \u00fc and all\n"
OLD, NEW = SecretKeys.new(), SecretKeys.new()
KEYS = SecretKeys([OLD])


async def stored(tenant: Tenant, name: str = "API_KEY") -> bytes:
    (sealed,) = await tenant.fetch(rows.SEALED, [name])
    return sealed.ciphertext


async def read(tenant: Tenant, keys: SecretKeys, name: str = "API_KEY") -> str:
    return (await secrets.read_secrets(tenant, keys, [name]))[name]


async def test_a_value_comes_back_and_is_stored_encrypted(acme: Tenant) -> None:
    first = await secrets.set_secret(acme, KEYS, "API_KEY", VALUE)
    ciphertext = await stored(acme)
    assert VALUE.encode() not in ciphertext
    assert "value" in Fernet(OLD).decrypt(ciphertext).decode()
    assert await read(acme, KEYS) == VALUE
    second = await secrets.set_secret(acme, KEYS, "API_KEY", "another value", first.id)
    assert (second.id, second.created_at, second.updated_by) == (first.id, first.created_at, first.id)
    assert second.updated_at > first.updated_at
    assert await read(acme, KEYS) == "another value"
    assert await secrets.read_secrets(acme, NO_KEYS, []) == {}


async def test_without_a_key_nothing_is_stored_and_the_remedy_is_told(acme: Tenant) -> None:
    with pytest.raises(ConflictError, match="`agentforge secret key` makes one; set AGENTFORGE_SECRET_KEYS to it"):
        await secrets.set_secret(acme, NO_KEYS, "API_KEY", VALUE)
    assert await secrets.in_order(acme) == []


async def test_another_key_reads_nothing(acme: Tenant) -> None:
    await secrets.set_secret(acme, KEYS, "API_KEY", VALUE)
    with pytest.raises(UnreadableSecretError, match="decrypts the secret API_KEY"):
        await read(acme, SecretKeys([NEW]))
    with pytest.raises(ConflictError, match="There is no key"):
        await read(acme, NO_KEYS)


async def test_keys_are_rotated_until_the_old_one_is_needed_no_more(acme: Tenant, rival: Tenant) -> None:
    for tenant in (acme, rival):
        for name in ("API_KEY", "OTHER_KEY"):
            await secrets.set_secret(tenant, KEYS, name, f"{VALUE} {name}")
    both = SecretKeys([NEW, OLD])
    assert await read(acme, both) == f"{VALUE} API_KEY"
    before = await secrets.in_order(acme)
    assert await secrets.rotate(acme, both) == 2
    assert await read(acme, SecretKeys([NEW]), "OTHER_KEY") == f"{VALUE} OTHER_KEY"
    assert await secrets.in_order(acme) == before
    assert await read(rival, KEYS) == f"{VALUE} API_KEY"
    found = await secrets.organizations_with_secrets(acme.pool)
    assert {one.organization_id for one in found} == {acme.organization_id, rival.organization_id}


async def test_what_cannot_be_read_stops_the_rotation_of_all(acme: Tenant) -> None:
    await secrets.set_secret(acme, KEYS, "API_KEY", VALUE)
    await secrets.set_secret(acme, SecretKeys([SecretKeys.new()]), "OTHER_KEY", VALUE)
    with pytest.raises(UnreadableSecretError, match="OTHER_KEY"):
        await secrets.rotate(acme, SecretKeys([NEW, OLD]))
    assert await read(acme, KEYS) == VALUE


async def test_a_ciphertext_that_was_moved_is_refused(acme: Tenant, rival: Tenant, administrator: Connection) -> None:
    await secrets.set_secret(acme, KEYS, "API_KEY", VALUE)
    for tenant, name in ((acme, "OTHER_KEY"), (rival, "API_KEY")):
        await secrets.set_secret(tenant, KEYS, name, "another value")
        moved = await stored(acme)
        await administrator.execute(
            "update secrets set ciphertext = $1 where organization_id = $2 and name = $3",
            moved,
            tenant.organization_id,
            name,
        )
        assert await stored(tenant, name) == moved
        with pytest.raises(
            UnreadableSecretError, match=f"What is stored as the secret {name} was encrypted as another"
        ):
            await read(tenant, KEYS, name)


async def test_one_organization_neither_sees_nor_touches_another_s(acme: Tenant, rival: Tenant) -> None:
    await secrets.set_secret(acme, KEYS, "API_KEY", VALUE)
    assert await secrets.in_order(rival) == []
    with pytest.raises(NotFoundError):
        await secrets.remove_secret(rival, "API_KEY")
    with pytest.raises(NotFoundError):
        await read(rival, KEYS)
    await secrets.set_secret(rival, KEYS, "API_KEY", "another value")
    assert (await read(acme, KEYS), await read(rival, KEYS)) == (VALUE, "another value")
    assert await secrets.rotate(rival, SecretKeys([NEW, OLD])) == 1
    assert await read(acme, KEYS) == VALUE


MALFORMED = ["", "api_key", "1KEY", "A-B", "A B", "A\n", "\u00c4", "A" * 129, "\0", "\ud800"]
RESERVED = ["PATH", "HOME", "LANG", "TMPDIR", "LD_PRELOAD", "DYLD_LIBRARY_PATH", "PYTHONPATH", "AGENTFORGE_SECRET_KEYS"]


@pytest.mark.parametrize("name", [*MALFORMED, *RESERVED])
async def test_names_that_no_secret_has(acme: Tenant, name: str) -> None:
    with pytest.raises(InvalidInputError) as refused:
        await secrets.set_secret(acme, KEYS, name, VALUE)
    assert refused.value.field == ("name",)
    with pytest.raises(NotFoundError):
        await secrets.remove_secret(acme, name)
    with pytest.raises(InvalidInputError) as refused:
        await configurations.create(acme, "c", 1, ["agent"], [name])
    assert refused.value.field == ("secrets", "0")


@pytest.mark.parametrize("name", ["A", "_", "_1", "A" * 128, "PATHS", "PYTHON_TOKEN"])
async def test_names_that_a_secret_may_have(acme: Tenant, name: str) -> None:
    assert (await secrets.set_secret(acme, KEYS, name, VALUE)).name == name


@pytest.mark.parametrize(
    "value", ["", "1234567", "1234567\n\n", "\0" + "x" * 9, "\ud800" * 9, "x" * 16_385, "é" * 8193]
)
async def test_values_that_cannot_be(acme: Tenant, value: str) -> None:
    with pytest.raises(InvalidInputError) as refused:
        await secrets.set_secret(acme, KEYS, "API_KEY", value)
    assert refused.value.field == ("value",)
    assert not value or value not in str(refused.value)


async def test_a_configuration_names_secrets_that_are_there(acme: Tenant, rival: Tenant) -> None:
    await secrets.set_secret(acme, KEYS, "API_KEY", VALUE)
    await secrets.set_secret(rival, KEYS, "OTHER_KEY", VALUE)
    made = await configurations.create(acme, "c", 1, ["agent"], ["API_KEY"])
    assert made.secrets == ["API_KEY"]
    for names, field in (
        (["API_KEY", "OTHER_KEY"], ("secrets", "1")),
        (["API_KEY", "API_KEY"], ("secrets", "1")),
        ([f"KEY_{number}" for number in range(33)], ("secrets",)),
    ):
        with pytest.raises(InvalidInputError) as refused:
            await configurations.create(acme, "d", 1, ["agent"], names)
        assert refused.value.field == field


def test_keys_are_checked_and_never_shown() -> None:
    for text, number in (("", 1), (OLD[:-2], 1), (f"{OLD},", 2), (f"{OLD},nonsense", 2)):
        with pytest.raises(ValueError, match=f"key {number} of") as refused:
            SecretKeys.parse(text)
        assert "nonsense" not in str(refused.value)
        assert OLD[:20] not in str(refused.value)
    keys = SecretKeys.parse(f"{NEW}, {OLD}")
    assert OLD not in repr(keys)


def test_a_fingerprint_tells_equal_values_to_those_with_the_key() -> None:
    assert KEYS.fingerprint("a") == SecretKeys([OLD]).fingerprint("a")
    assert len({KEYS.fingerprint("a"), KEYS.fingerprint("b"), SecretKeys([NEW]).fingerprint("a")}) == 3
    with pytest.raises(ConflictError):
        NO_KEYS.fingerprint("a")
