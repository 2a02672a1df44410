"""Artifacts and bundles."""

import asyncio
import hashlib
import json
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote
from uuid import UUID

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from structlog.testing import capture_logs

from db import artifacts, bundles, trials
from db.tenant import Tenant
from resolvers.bundles import MAX_PACKED_BYTES, Bundle, pack_bundle
from streaming.routes import attachment_of
from tests.factory import Attempt, create_run, create_version, leave_files, step
from tests.streaming.web import Client, application, serve

UNKNOWN = "00000000-0000-7000-8000-000000000000"
ROLES = ("owner", "member", "viewer", "worker")


async def create_artifact(tenant: Tenant, steps: list[Any], log: str, **changes: Any) -> UUID:
    """Of a new trial; `changes` are `name`, `agent_trajectory` and the environment's `slug`."""
    version = await create_version(tenant, changes.get("slug", "shop"))
    _, (trial,) = await create_run(tenant, version, [Attempt(status="queued")], status="queued")
    async with tenant.transaction() as transaction:
        row = await transaction.fetch_one(
            artifacts.CREATE,
            trial.id,
            1,
            changes.get("name", "trial-1-trajectory.json"),
            json.dumps(log),
            json.dumps(steps, separators=(",", ":")),
            len(steps),
            changes.get("agent_trajectory"),
        )
    assert row is not None
    return row.id


async def test_the_artifact_is_exactly_this(acme: Tenant, client: Client) -> None:
    artifact_id = await create_artifact(acme, [step(1, observation='"é"\\\n')], "made 1\x1b[0m")
    async with client(acme) as web:
        response = await web.get(f"/api/v1/artifacts/{artifact_id}")
    assert response.text == (
        '{"schemaVersion":1,"log":"made 1\\u001b[0m","trajectory":"{\\"steps\\":[{\\"step\\":1,\\"tool\\":\\"mcp\\",'
        '\\"command\\":\\"initialize\\",\\"observation\\":\\"\\\\\\"\\\\u00e9\\\\\\"\\\\\\\\\\\\n\\"}]}"}'
    )
    assert dict(response.headers) == {
        "content-type": "application/json",
        "content-disposition": 'attachment; filename="trial-1-trajectory.json"',
        "content-length": str(len(response.content)),
        "cache-control": "no-store, private",
        "x-content-type-options": "nosniff",
    }


async def test_the_artifact_keeps_any_text(acme: Tenant, client: Client) -> None:
    text = "".join(map(chr, [*range(0x100), 0x2028, 0x2029, 0xDFFF, 0xD800, 0xFEFF, 0xFFFF, 0x10FFFF]))
    numbers = {"big": 2**200, "small": 5e-324, "exact": 0.1 + 0.2, "float": 1.0}
    steps = [{**step(1, text, text, text), **numbers}]
    artifact_id = await create_artifact(acme, steps, text)
    async with client(acme) as web:
        body = (await web.get(f"/api/v1/artifacts/{artifact_id}")).json()
    assert list(body) == ["schemaVersion", "log", "trajectory"]
    assert body["log"] == text
    assert repr(json.loads(body["trajectory"])) == repr({"steps": steps})


async def test_names_of_artifacts_are_quoted(acme: Tenant, client: Client) -> None:
    artifact_id = await create_artifact(acme, [], "", name='é"\r\n.json')
    async with client(acme) as web:
        response = await web.get(f"/api/v1/artifacts/{artifact_id}")
    assert response.headers["content-disposition"] == "attachment; filename*=UTF-8''%C3%A9%22%0D%0A.json"


async def test_the_agent_trajectory_as_stored(acme: Tenant, client: Client) -> None:
    content = b'\xff\x00{"no": JSON\r\n'
    with_one = await create_artifact(acme, [], "", agent_trajectory=content)
    async with client(acme) as web:
        response = await web.get(f"/api/v1/artifacts/{with_one}/agent-trajectory")
        assert (response.status_code, response.content) == (200, content)
        assert response.headers["content-disposition"] == 'attachment; filename="agent-trajectory.json"'
        assert response.headers["cache-control"] == "no-store, private"
        head = await web.head(f"/api/v1/artifacts/{with_one}/agent-trajectory")
        assert (head.status_code, head.headers) == (200, response.headers)


async def test_artifacts_of_one_organization_only(acme: Tenant, rival: Tenant, client: Client) -> None:
    mine = await create_artifact(acme, [], "", agent_trajectory=b"{}")
    for tail in ("", "/agent-trajectory"):
        async with client(rival) as web:
            answers = [await web.get(f"/api/v1/artifacts/{id}{tail}") for id in (mine, UNKNOWN, "not-an-id")]
        assert [answer.status_code for answer in answers] == [404] * 3
        assert len({answer.content for answer in answers}) == 1
        for role, status in zip(ROLES, (200, 200, 200, 403), strict=True):
            async with client(acme, role) as web:
                assert (await web.get(f"/api/v1/artifacts/{mine}{tail}")).status_code == status


async def test_an_artifact_without_agent_trajectory(acme: Tenant, client: Client) -> None:
    _, (trial,) = await create_run(acme, await create_version(acme), [Attempt(1.0)])
    (row,) = await acme.fetch(trials.BY_IDS, [trial.id])
    async with client(acme) as web:
        assert (await web.get(f"/api/v1/artifacts/{row.trajectory_artifact_id}")).status_code == 200
        assert (await web.get(f"/api/v1/artifacts/{row.trajectory_artifact_id}/agent-trajectory")).status_code == 404


async def test_kept_files(acme: Tenant, client: Client) -> None:
    artifact_id = await create_artifact(acme, [], "")
    async with acme.transaction() as transaction:
        kept, left_out = await leave_files(transaction, artifact_id)
    content = b"\xff\0\r\n"
    sha256 = hashlib.sha256(content).hexdigest()
    url = f"/api/v1/artifacts/{artifact_id}/files"
    async with client(acme) as web:
        response = await web.get(f"{url}/{kept}")
        assert (response.status_code, response.content) == (200, content)
        assert dict(response.headers) == {
            "content-type": "application/octet-stream",
            # Without half a character, and without what would show it as another name.
            "content-disposition": "attachment; filename*=UTF-8''caf_%20_gpj.exe",
            "content-length": "4",
            "cache-control": "no-store, private",
            "x-content-type-options": "nosniff",
            "etag": f'"{sha256}"',
        }
        head = await web.head(f"{url}/{kept}")
        assert (head.status_code, head.content, head.headers) == (200, b"", response.headers)
        for known, status in (
            (f'"{sha256}"', 304),
            (f'"x", W/"{sha256}"', 304),
            ("*", 304),
            (sha256, 200),
            ('"x"', 200),
        ):
            again = await web.get(f"{url}/{kept}", headers={"If-None-Match": known})
            assert (again.status_code, again.content) == (status, content if status == 200 else b"")
        assert (await web.get(f"{url}/{left_out}")).status_code == 404


@given(st.text(st.characters(codec=None, exclude_characters="/\0"), min_size=1))
@example("a\r\nSet-Cookie: b=c")
@example('\u202e";filename=x')
@example("\ud800\u0085\u2028")
def test_names_of_files_cannot_break_out_of_their_header(name: str) -> None:
    header = attachment_of(f"folder/{name}")["Content-Disposition"]
    assert re.fullmatch(r"attachment; (filename=\"[\w.~-]+\"|filename\*=UTF-8''[\w.~%-]+)", header, re.ASCII)
    shown = unquote(header.partition("=")[2].removeprefix("UTF-8''").strip('"'), errors="strict")
    assert len(shown) == len(name)
    assert all(one == given or one == "_" for one, given in zip(shown, name, strict=True))
    if name.isalnum():
        assert shown == name


async def test_files_of_one_organization_and_artifact_only(acme: Tenant, rival: Tenant, client: Client) -> None:
    mine, another = [await create_artifact(acme, [], "", slug=slug) for slug in ("one", "another")]
    async with acme.transaction() as transaction:
        kept, _ = await leave_files(transaction, mine)
    paths = [f"{mine}/files/{kept}", f"{UNKNOWN}/files/{kept}", f"{mine}/files/{UNKNOWN}", f"x/files/{kept}"]
    async with client(rival) as web:
        answers = [await web.get(f"/api/v1/artifacts/{path}") for path in paths]
    async with client(acme) as web:
        answers += [await web.get(f"/api/v1/artifacts/{path}") for path in (f"{another}/files/{kept}", *paths[1:])]
    assert [answer.status_code for answer in answers] == [404] * 8
    assert len({answer.content for answer in answers}) == 1
    for role, status in zip(ROLES, (200, 200, 200, 403), strict=True):
        async with client(acme, role) as web:
            assert (await web.get(f"/api/v1/artifacts/{paths[0]}")).status_code == status


@pytest.fixture
def bundle(tmp_path: Path) -> Bundle:
    (tmp_path / "environment.json").write_text("{}")
    return pack_bundle(tmp_path)


async def test_a_bundle_goes_in_and_comes_out(acme: Tenant, client: Client, bundle: Bundle) -> None:
    url = f"/api/v1/bundles/{bundle.sha256}"
    async with client(acme) as web:
        assert (await web.get(url)).status_code == 404
        for status in (201, 200):
            response = await web.put(url, content=bundle.content)
            assert response.status_code == status
            assert response.json() == {"sha256": bundle.sha256, "bytes": len(bundle.content)}
    for role in ROLES:
        async with client(acme, role) as web:
            response = await web.get(url)
        assert (response.status_code, response.content) == (200, bundle.content)
        assert response.headers["content-type"] == "application/zstd"
        assert response.headers["cache-control"] == "no-store, private"


async def test_bundles_of_one_organization_only(acme: Tenant, rival: Tenant, client: Client, bundle: Bundle) -> None:
    url = f"/api/v1/bundles/{bundle.sha256}"
    async with client(acme) as web:
        assert (await web.put(url, content=bundle.content)).status_code == 201
    async with client(rival) as web:
        odd = ("0" * 64, "%00", bundle.sha256.upper(), "x")
        answers = [await web.get(url), *[await web.get(f"/api/v1/bundles/{name}") for name in odd]]
        assert [answer.status_code for answer in answers] == [404] * 5
        assert len({answer.content for answer in answers}) == 1
        # Not 200: that somebody else has it is not told.
        assert (await web.put(url, content=bundle.content)).status_code == 201


async def test_who_may_upload(acme: Tenant, client: Client, bundle: Bundle) -> None:
    url = f"/api/v1/bundles/{bundle.sha256}"
    for role, status in zip(ROLES, (201, 200, 403, 403), strict=True):
        async with client(acme, role) as web:
            response = await web.put(url, content=bundle.content)
        assert response.status_code == status


async def test_what_is_no_bundle_is_not_stored(acme: Tenant, client: Client, bundle: Bundle) -> None:
    digest = hashlib.sha256(b"no archive").hexdigest()
    async with client(acme) as web:
        for name, content, part in (
            (digest, b"no archive", "archive"),
            (digest, bundle.content, bundle.sha256),
            (bundle.sha256, bundle.content[:-1], "not " + bundle.sha256),
            (bundle.sha256.upper(), bundle.content, "64"),
            ("%00", bundle.content, "64"),
        ):
            response = await web.put(f"/api/v1/bundles/{name}", content=content)
            assert (response.status_code, response.json()["field"]) == (400, ["body"])
            assert part in response.json()["detail"]
    assert await acme.fetch(bundles.EXISTS, digest) == await acme.fetch(bundles.EXISTS, bundle.sha256) == []


async def test_an_upload_is_cut_off_at_the_limit(acme: Tenant, client: Client, bundle: Bundle) -> None:
    sent = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal sent
        while True:
            sent += 1_000_000
            yield bytes(1_000_000)

    async with client(acme) as web:
        announced = await web.put(f"/api/v1/bundles/{bundle.sha256}", content=bytes(MAX_PACKED_BYTES + 1))
        streamed = await web.put(f"/api/v1/bundles/{bundle.sha256}", content=endless())
    for response in (announced, streamed):
        assert response.status_code == 413
        assert response.headers["content-type"] == "application/problem+json"
    assert MAX_PACKED_BYTES < sent < MAX_PACKED_BYTES + 2_000_000


async def test_methods_of_bundles(acme: Tenant, client: Client) -> None:
    async with client(acme) as web:
        response = await web.delete(f"/api/v1/bundles/{'0' * 64}")
    assert response.status_code == 405
    assert {"GET", "PUT"} <= set(response.headers["allow"].split(", "))


async def test_an_upload_broken_off_is_no_failure_of_ours(acme: Tenant, bundle: Bundle) -> None:
    with capture_logs() as logs:
        async with serve(application(acme)) as address:
            _, writer = await asyncio.open_connection(*address)
            head = f"PUT /api/v1/bundles/{bundle.sha256} HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n"
            writer.write(head.encode() + b"half")
            await writer.drain()
            writer.close()
            await writer.wait_closed()
        # The server has ended, and with it every request.
    assert logs == []
