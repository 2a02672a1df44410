"""What is kept beside an artifact: the parts of a long trajectory, text for text, and the words of any."""

import asyncio
import json
import re
import uuid
from collections.abc import Sequence
from typing import Any
from uuid import UUID

import asyncpg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from db import artifacts, trials
from db.query import decided
from db.tenant import Tenant
from tests.db.test_plans import rows_read
from tests.factory import Attempt, create_run, create_version, step

any_text = st.text(st.characters(codec=None, exclude_categories=[]))
any_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | any_text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(any_text, inner, max_size=3),
    max_leaves=5,
)
steps_of_anything = st.lists(st.fixed_dictionaries({"step": st.integers(), "tool": any_text, "more": any_json}))


async def store(tenant: Tenant, steps: Sequence[dict[str, Any]], log: str = "log") -> tuple[UUID, UUID]:
    """The ids of the trial that did this, and of its artifact."""
    version = await create_version(tenant, task=str(uuid.uuid4()))
    _, (trial,) = await create_run(tenant, version, [Attempt(1.0, steps=steps, log=log)])
    assert trial.trajectory_artifact_id is not None
    return trial.id, trial.trajectory_artifact_id


async def parts(tenant: Tenant, artifact_id: UUID) -> list[tuple[int, str]]:
    async with tenant.transaction("read only") as transaction:
        rows = await transaction.connection.fetch(
            "select first_position, steps from trajectory_parts where trajectory_artifact_id = $1 order by 1",
            artifact_id,
        )
    return [(row["first_position"], row["steps"]) for row in rows]


async def finds(tenant: Tenant, text: str) -> list[UUID]:
    found = await tenant.fetch(trials.PAGE_OLDEST, *[None] * 11, text, None, None, 500)
    return [trial.id for trial in found]


@pytest.mark.parametrize("count", [0, 1, 100, 101, 200, 201, 1000])
async def test_parts_put_together_are_the_steps(acme: Tenant, count: int) -> None:
    steps = [step(number, observation=f"\0 \ud800 é \\ {number / 3}") for number in range(count)]
    _, artifact_id = await store(acme, steps)
    file = await acme.fetch_one(artifacts.FILE, artifact_id)
    assert file is not None
    found = await parts(acme, artifact_id)
    if count <= 100:
        assert found == []
        return
    assert [first for first, _ in found] == list(range(1, count + 1, 100))
    assert "[" + ",".join(text[1:-1] for _, text in found) + "]" == file.steps
    assert {len(json.loads(text)) for _, text in found[:-1]} == {100}


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps_of_anything)
async def test_any_json_is_taken_apart_as_it_is(acme: Tenant, some: list[dict[str, Any]]) -> None:
    steps = [*some, *map(step, range(100)), {"step": 1e300, "tool": "last"}, *some]
    _, artifact_id = await store(acme, steps)
    file = await acme.fetch_one(artifacts.FILE, artifact_id)
    assert file is not None
    assert "[" + ",".join(text[1:-1] for _, text in await parts(acme, artifact_id)) + "]" == file.steps


async def explained(tenant: Tenant, first: int, last: int, keys: Sequence[UUID]) -> str:
    text, given_arguments = decided(artifacts.STEPS.text, [first, last, keys])
    async with tenant.transaction("read only") as transaction:
        rows = await transaction.connection.fetch(
            f"explain (analyze, serialize, buffers, costs off, timing off, summary off) {text}", *given_arguments
        )
    return "\n".join(row[0] for row in rows)


def kilobytes_given(plan: str) -> int:
    """Of the steps that were read and sent, wherever they are stored."""
    found = re.search(r"Serialization: output=(\d+)kB", plan)
    assert found is not None
    return int(found[1])


def blocks_touched(plan: str) -> int:
    """To find the rows, then to read what is stored beside them."""
    found = re.findall(r"^ *Buffers: (.*)$", plan, re.MULTILINE)
    return sum(int(count) for line in (found[0], found[-1]) for count in re.findall(r"(?:hit|read)=(\d+)", line))


async def test_a_page_reads_as_much_of_a_long_trajectory_as_of_a_short_one(
    acme: Tenant, administrator: "asyncpg.Connection[asyncpg.Record]"
) -> None:
    noise = [step(number, observation=uuid.uuid4().hex * 10) for number in range(30_000)]
    _, long = await store(acme, noise)
    _, middling = await store(acme, noise[:300])
    await administrator.execute("vacuum analyze trajectory_artifacts, trajectory_parts")
    plans = [
        await explained(acme, first, first + 50, [key])
        for key, first in ((middling, 1), (middling, 120), (long, 1), (long, 15_020), (long, 29_920))
    ]
    for plan in plans:
        assert re.search("(using|on) trajectory_parts_pkey", plan), plan
        assert rows_read(plan) <= 6, plan
        assert 30 < kilobytes_given(plan) < 100, plan
        # The whole of it takes some 1,500.
        assert blocks_touched(plan) < 30, plan


async def test_several_trajectories_are_one_statement(acme: Tenant) -> None:
    kept = [(await store(acme, [step(number, command=str(size)) for number in range(size)]))[1] for size in (0, 7, 250)]
    found = await acme.fetch(artifacts.STEPS, 95, 105, kept)
    assert [(row.id, row.first_position, len(json.loads(row.steps))) for row in found] == [
        (kept[0], 1, 0),
        (kept[1], 1, 7),
        (kept[2], 1, 100),
        (kept[2], 101, 100),
    ]


#: Steps or a log, and what finds them.
FOUND: list[tuple[str, list[dict[str, Any]], str]] = [
    ("started the shop", [], "shop STARTED"),
    ("", [step(1, "tools/list", '{"name":"list_orders"}', "<b id='SKU-9'>")], "list tools orders b sku-9"),
    ("", [step(1, observation="café ÀÉ Straße \U00020bb7\u91ce 日本 語")], "CAFÉ àé straße \U00020bb7\u91ce 語"),
    ("a\0b", [step(1, observation="c\0d \ud800e f\udc00 \\u0000g")], "a b c d e f u0000g"),
    ("", [step(1, observation='C:\\new\\u0000 \\\\host "quoted"')], '"c new" host quoted'),
    ("one", [step(1, command="two"), step(2, observation="three")], "one two three -four"),
    ("", [step(1, observation=f"{'x' * 3000} behind")], ""),
    ("w" * 5000 + " behind", [step(1, observation="y " * 100_000)], "behind y"),
    ("", [step(number, command=f"order-{number}") for number in range(30_000)], "order 29999 order-15000"),
]


@pytest.mark.parametrize("case", range(len(FOUND)))
async def test_what_is_in_log_and_steps_is_found(acme: Tenant, case: int) -> None:
    log, steps, text = FOUND[case]
    trial_id, _ = await store(acme, steps, log)
    await store(acme, [step(1)], "another")
    assert await finds(acme, text) == ([trial_id] if text else [])
    assert trial_id not in await finds(acme, f"{text} nowhere")


async def test_phrases_and_words_that_must_not_be_there(acme: Tenant) -> None:
    first, _ = await store(acme, [step(1, observation="the order was placed")], "")
    second, _ = await store(acme, [step(1, observation="placed was the order")], "")
    for text, expected in {
        "order placed": [first, second],
        '"order was placed"': [first],
        "order-was": [first, second],
        'order -"order was"': [second],
        "-order-was": [second],
        "placed-nowhere or order": [first, second],
        "nowhere or placed": [first, second],
        "-nowhere": [first, second],
        "-order": [],
        "or": [],
        '"': [],
        "- - !": [],
    }.items():
        assert await finds(acme, text) == expected, text


async def test_more_than_an_index_holds_is_kept_and_searched_as_far_as_it_fits(acme: Tenant) -> None:
    words = [[uuid.uuid4().hex for _ in range(60)] for _ in range(3000)]
    steps = [step(number, observation=" ".join(some)) for number, some in enumerate(words)]
    trial_id, artifact_id = await store(acme, steps, "begin")
    assert await finds(acme, f"begin {words[0][0]} {words[0][59]}") == [trial_id]
    assert await finds(acme, words[-1][0]) == []
    assert len(await parts(acme, artifact_id)) == 30


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(log=any_text, texts=st.lists(st.tuples(any_text, any_text, any_text), max_size=3))
async def test_no_text_keeps_a_trial_from_being_stored(
    acme: Tenant, log: str, texts: list[tuple[str, str, str]]
) -> None:
    mark = f"mark{uuid.uuid4().hex}"
    trial_id, _ = await store(acme, [*(step(1, *text) for text in texts), step(2, observation=mark)], log)
    assert await finds(acme, mark) == [trial_id]


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(any_text | st.text(st.sampled_from("\0\\u\ud83d\udc18\ud800\udfffd8🐘é")))
async def test_what_a_text_of_the_database_cannot_hold_is_a_space(acme: Tenant, text: str) -> None:
    searched = await acme.pool.fetchval("select searchable_json($1::json) #>> '{}'", json.dumps(text))
    assert searched == re.sub("[\0\\\\\ud800-\udfff]", " ", json.loads(json.dumps(text)))


async def test_lone_surrogates_without_end_are_stored_at_once(acme: Tenant) -> None:
    async with asyncio.timeout(30):  # hours, if each were looked for from the beginning
        trial_id, _ = await store(acme, [step(1, observation="\ud800a\udc00" * 200_000)], "\ud800" * 500_000)
    assert await finds(acme, "a") == [trial_id]


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=1000) | st.text("a\"- or'\\:*&|!()<>"))
async def test_no_search_fails(acme: Tenant, text: str) -> None:
    await finds(acme, text)


async def test_another_organization_s_words_find_nothing(acme: Tenant, rival: Tenant) -> None:
    ours, _ = await store(acme, [step(1)], "shared ours")
    theirs, _ = await store(rival, [step(1)], "shared theirs")
    assert (await finds(acme, "shared"), await finds(rival, "shared")) == ([ours], [theirs])
    for text in ("theirs", "shared theirs", "theirs or nowhere", f"organization {rival.organization_id}"):
        assert await finds(acme, text) == []
    async with acme.transaction() as transaction:
        await transaction.connection.execute("set local agentforge.organization_id = ''")
        assert await transaction.connection.fetch("select trials_with_words('shared')") == []
