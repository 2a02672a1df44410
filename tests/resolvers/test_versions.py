"""Publishing: the same content is the same version, and numbers have no gaps."""

import asyncio
import hashlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from db import environments
from db.environments import Environment
from db.tenant import Tenant
from resolvers import versions
from tests.factory import MANIFEST


@pytest.fixture
async def environment(acme: Tenant) -> Environment:
    async with acme.transaction() as transaction:
        row = await transaction.fetch_one(environments.CREATE, "shop", "Shop")
    assert row is not None
    return row


async def test_the_same_content_is_the_same_version(acme: Tenant, environment: Environment) -> None:
    first = await versions.publish(acme, str(environment.id), MANIFEST, None)
    reordered = dict(reversed(MANIFEST.items()))
    assert await versions.publish(acme, str(environment.id), reordered, None) == first
    other = await versions.publish(acme, str(environment.id), MANIFEST | {"task": "other"}, None)
    assert (first.version, other.version) == (1, 2)
    assert await versions.publish(acme, str(environment.id), MANIFEST, None) == first


async def test_twenty_publishers_at_once_draw_twenty_numbers(acme: Tenant, environment: Environment) -> None:
    manifests = [MANIFEST | {"task": f"task {number}"} for number in range(20)]
    published = await asyncio.gather(
        *(versions.publish(acme, str(environment.id), manifest, None) for manifest in manifests)
    )
    by_number = sorted(published, key=lambda version: version.version)
    assert [version.version for version in by_number] == list(range(1, 21))
    # Lists go by id: what was numbered later must also have the later id.
    assert by_number == sorted(published, key=lambda version: version.id)
    assert {json.loads(version.manifest)["task"] for version in published} == {f"task {n}" for n in range(20)}


async def test_twenty_publishers_of_one_content_make_one_version(acme: Tenant, environment: Environment) -> None:
    published = await asyncio.gather(*(versions.publish(acme, str(environment.id), MANIFEST, None) for _ in range(20)))
    assert {version.id for version in published} == {published[0].id}
    assert published[0].version == 1


MANIFESTS: list[dict[str, Any]] = [
    {"evaluator": {"command": ["e"]}, "world": {"command": ["w"]}, "task": "keys in an order of their own"},
    MANIFEST | {"task": 'é 数据 🐘 \u2028 \x1b[0m \\u0041 "quoted" \n'},
    MANIFEST | {"limits": {"seconds": 0.30000000000000004, "steps": 7}},
    MANIFEST | {"limits": {"seconds": 300.0}},
    MANIFEST | {"limits": {"seconds": 300}},
    MANIFEST | {"world": {"command": ["w", ""], "env": {"NAME": "värde"}}, "stages": []},
]


async def test_a_manifest_is_stored_as_given(acme: Tenant, environment: Environment) -> None:
    for manifest in MANIFESTS:
        version = await versions.publish(acme, str(environment.id), manifest, None)
        assert version.manifest == json.dumps(manifest)
        assert version.digest == versions.digest(manifest, None)


def test_the_digest_covers_manifest_and_bundle_as_documented() -> None:
    bundle = "0" * 64
    assert versions.digest({"b": 1, "a": "é"}, None) == hashlib.sha256(b'{"a":"\\u00e9","b":1}\n').hexdigest()
    assert versions.digest({}, bundle) == hashlib.sha256(f"{{}}\n{bundle}".encode()).hexdigest()
    assert versions.digest({"n": 1}, None) != versions.digest({"n": 1.0}, None)


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


@given(st.dictionaries(st.text(), JSON_VALUES, max_size=4))
def test_canonical_manifests_lose_nothing_and_are_one_line_of_ascii(manifest: dict[str, Any]) -> None:
    canonical = versions.canonical_manifest(manifest)
    assert json.loads(canonical) == manifest
    assert canonical.isascii()
    assert "\n" not in canonical
    assert versions.canonical_manifest(json.loads(canonical)) == canonical
