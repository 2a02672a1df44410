"""Exports that can be checked and resumed: the manifest, what comes after a line, and how many there are."""

import hashlib
import json
from typing import Any
from uuid import uuid4

import asyncpg
import pytest

from db import exports
from db.copying import inlined
from db.exports import Line
from db.query import Query, decided
from db.tenant import Tenant
from resolvers.rollouts import ExportKind
from streaming.lines import PLAN
from tests.factory import Attempt, create_run, create_version, step
from tests.streaming.rows import create_many
from tests.streaming.web import Client, lines

URL = "/api/v1/rollouts"
KINDS = list(ExportKind)


async def fill(tenant: Tenant, name: str = "task") -> list[str]:
    """Four versions with runs of unscored, failed, partial and successful attempts; the ids of the runs."""
    runs = []
    for number in range(4):
        version = await create_version(tenant, task=f"{name} {number}")
        attempts = [Attempt(reward, steps=[step(1)]) for reward in (None, 0.0, number / 4, 1.0)]
        run, _ = await create_run(tenant, version, attempts)
        runs.append(str(run.id))
    return runs


@pytest.mark.parametrize("kind", KINDS)
async def test_a_manifest_ends_an_export(kind: str, acme: Tenant, client: Client) -> None:
    await fill(acme)
    async with client(acme) as web:
        plain = (await web.get(URL, params={"kind": kind})).content
        with_manifest = (await web.get(URL, params={"kind": kind, "manifest": "true"})).content
        without = (await web.get(URL, params={"kind": kind, "manifest": "false"})).content
    assert without == plain
    assert with_manifest.startswith(plain)
    (last,) = lines(with_manifest[len(plain) :])
    assert list(last) == [
        "schemaVersion", "privacyClass", "format", "kind", "rollouts", "skipped", "sha256", "snapshotAt",
    ]  # fmt: skip
    assert (last["format"], last["kind"], last["skipped"]) == ("manifest", kind, {})
    assert last["rollouts"] == len(lines(plain)) > 0
    assert last["sha256"] == hashlib.sha256(plain).hexdigest()


@pytest.mark.parametrize("accept_encoding", ["zstd", "gzip"])
async def test_a_manifest_counts_bytes_before_they_are_compressed(
    accept_encoding: str, acme: Tenant, client: Client
) -> None:
    await create_many(acme, 40, 10_000)
    async with client(acme) as web:
        headers = {"Accept-Encoding": accept_encoding}
        got = (await web.get(URL, params={"kind": "failed", "manifest": "true"}, headers=headers)).content
    *whole, last = got.splitlines(keepends=True)
    assert json.loads(last)["sha256"] == hashlib.sha256(b"".join(whole)).hexdigest()
    assert json.loads(last)["rollouts"] == len(whole) == 40


@pytest.mark.parametrize("kind", KINDS)
async def test_what_comes_after_each_line_is_the_rest(kind: str, acme: Tenant, client: Client) -> None:
    await fill(acme)
    async with client(acme) as web:
        whole = (await web.get(URL, params={"kind": kind})).content.splitlines(keepends=True)
        for number, line in enumerate(whole, 1):
            told = json.loads(line)
            after = told["environmentVersionId" if kind == "preference" else "rolloutId"]
            rest = (await web.get(URL, params={"kind": kind, "after": after})).content
            assert rest == b"".join(whole[number:])
            one = (await web.get(URL, params={"kind": kind, "after": after, "limit": "1"})).content
            assert one == b"".join(whole[number : number + 1])
    assert whole


async def test_what_is_written_meanwhile_does_not_come_after(acme: Tenant, client: Client) -> None:
    await fill(acme)
    async with client(acme) as web:
        whole = (await web.get(URL, params={"kind": "failed"})).content.splitlines(keepends=True)
        await fill(acme, "another task")
        after = json.loads(whole[2])["rolloutId"]
        assert (await web.get(URL, params={"kind": "failed", "after": after})).content == b"".join(whole[3:])


async def test_one_run_s_rollouts(acme: Tenant, rival: Tenant, client: Client) -> None:
    runs = await fill(acme)
    async with client(acme) as web, client(rival) as other:
        for run in runs:
            got = lines((await web.get(URL, params={"evaluationRunId": run})).content)
            assert [line["evaluationRunId"] for line in got] == [run] * 4
            assert (await other.get(URL, params={"evaluationRunId": run})).content == b""
        assert (await web.get(URL, params={"evaluationRunId": str(uuid4())})).content == b""


@pytest.mark.parametrize("kind", KINDS)
async def test_head_counts_the_lines(kind: str, acme: Tenant, rival: Tenant, client: Client) -> None:
    await fill(acme)
    async with client(acme) as web, client(rival) as other:
        for filters in ({}, {"limit": "2"}):
            got = await web.get(URL, params={"kind": kind, **filters})
            head = await web.head(URL, params={"kind": kind, **filters})
            assert head.headers["x-rollout-count"] == str(len(lines(got.content)))
            assert "x-rollout-count" not in got.headers
        assert (await other.head(URL, params={"kind": kind})).headers["x-rollout-count"] == "0"


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "preference"])
@pytest.mark.parametrize("filtered_by", [None, "environment_version_id", "evaluation_run_id"])
@pytest.mark.parametrize("query", [exports.ROLLOUTS, exports.ATIF, exports.RECORDED], ids=lambda query: query.name)
async def test_lines_are_made_in_order_and_one_by_one(
    query: Query[Line], kind: ExportKind, filtered_by: str | None, acme: Tenant
) -> None:
    """Nothing is sorted, and no artifact is read before its line's turn."""
    await create_many(acme, 300, 100)
    async with acme.transaction(f"read only; {PLAN}") as transaction:
        connection: asyncpg.pool.PoolConnectionProxy[asyncpg.Record] = transaction.connection
        one = await connection.fetchrow("select * from rollouts limit 1")
        assert one is not None
        matches = [
            one[name] if name == filtered_by else None for name in ("environment_version_id", "evaluation_run_id")
        ]
        statement = inlined(*decided(query.text, [*matches, None, None, None, None, kind]))
        plan = "\n".join(row[0] for row in await connection.fetch(f"explain (costs off) {statement}"))
    assert "Sort" not in plan, plan
    assert "Hash" not in plan, plan
    assert "Index Scan Backward using rollouts" in plan, plan
    assert "Index Scan using trajectory_artifacts" in plan, plan
    assert "Join Filter" not in plan, plan


@pytest.mark.parametrize(("query", "of_all"), [(exports.PAIRS_EXTREME, []), (exports.PAIRS_ALL, [0.5, 100])])
async def test_pairs_are_chosen_while_they_hold_no_steps(query: Query[Line], of_all: list[Any], acme: Tenant) -> None:
    await create_many(acme, 300, 100)
    async with acme.transaction(f"read only; {PLAN}") as transaction:
        statement = inlined(*decided(query.text, [*[None] * 6, *of_all]))
        plan = [row[0] for row in await transaction.connection.fetch(f"explain (costs off) {statement}")]
    sorts = [number for number, line in enumerate(plan) if "Sort" in line and "Key" not in line]
    reads = [number for number, line in enumerate(plan) if "on trajectory_artifacts" in line]
    # What is sorted stands below in the plan, indented further: none of it is an artifact.
    assert len(reads) == 2
    for number in sorts:
        depth = _depth(plan[number])
        below = next((later for later in range(number + 1, len(plan)) if _depth(plan[later]) <= depth), len(plan))
        assert not [read for read in reads if number < read < below], plan


def _depth(line: str) -> int:
    return len(line) - len(line.lstrip())
