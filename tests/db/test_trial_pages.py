"""Pages of trials against a model in Python: any filter, order and page size gives each match once, in order."""

import random
import uuid
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import astuple, dataclass
from datetime import datetime
from operator import attrgetter
from typing import Any
from uuid import UUID

import asyncpg
import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from db import trials
from db.embedded import DatabaseUrls
from db.query import Query
from db.tenant import Tenant
from db.trials import EvaluationTrial
from tests.conftest import in_database
from tests.factory import Attempt, create_organization, create_run, create_version

STATUSES = ["queued", "completed", "errored", "timed_out"]
CATEGORIES = ["agent_crashed", "agent_timeout", "checkout_incomplete"]
REWARDS = [None, 0.0, 0.25, 0.5, 1.0]
STAGES = ["stage_a", "stage_b"]
#: What to search for, and whether it is among the words of a log.
TEXTS: dict[str, Callable[[list[str]], bool]] = {
    "completed": lambda words: "completed" in words,
    "Agent TIMED": lambda words: {"agent", "timed"} <= set(words),
    '"completed agent crashed"': lambda words: words == ["completed", "agent", "crashed"],
    "agent -crashed": lambda words: "agent" in words and "crashed" not in words,
    "checkout or out": lambda words: bool({"checkout", "out"} & set(words)),
    "queued": lambda words: False,
}


@dataclass(frozen=True)
class Filter:
    """In the order of the statement's first twelve arguments."""

    version_id: UUID | None
    run_id: UUID | None
    statuses: list[str] | None
    categories: list[str] | None
    scored: bool | None
    reward_from: float | None
    reward_below: float | None
    stage: str | None
    stage_below: float | None
    created_after: datetime | None
    created_before: datetime | None
    text: str | None

    def admits(self, trial: EvaluationTrial) -> bool:
        values = {stage["name"]: stage["value"] for stage in orjson.loads(trial.stages)}
        tests: list[tuple[object, Callable[[], bool]]] = [
            (self.version_id, lambda: trial.environment_version_id == self.version_id),
            (self.run_id, lambda: trial.evaluation_run_id == self.run_id),
            (self.statuses, lambda: trial.status in (self.statuses or [])),
            (self.categories, lambda: trial.failure_category in (self.categories or [])),
            (self.scored, lambda: (trial.reward is not None) == self.scored),
            (self.reward_from, lambda: trial.reward is not None and trial.reward >= (self.reward_from or 0)),
            (self.reward_below, lambda: trial.reward is not None and trial.reward < (self.reward_below or 0)),
            (self.stage, lambda: self.stage in values),
            (
                None if self.stage is None else self.stage_below,
                lambda: values.get(self.stage, 2) < self.stage_below,
            ),
            (self.created_after, lambda: trial.created_at > (self.created_after or trial.created_at)),
            (self.created_before, lambda: trial.created_at < (self.created_before or trial.created_at)),
            (self.text, lambda: trial.status != "queued" and TEXTS[self.text or ""](log_of(trial).split())),
        ]
        return all(test() for given, test in tests if given is not None)


def log_of(trial: EvaluationTrial) -> str:
    return f"{trial.status} {trial.failure_category}".replace("_", " ")


@dataclass(frozen=True)
class Data:
    tenant: Tenant
    trials: list[EvaluationTrial]


@pytest.fixture(scope="module")
async def data(server: DatabaseUrls, superuser: str, template: str) -> AsyncIterator[Data]:
    """Trials of nine runs on three versions, made once; nothing here changes them."""
    name = f"pages_{uuid.uuid4().hex}"
    administrator = await asyncpg.connect(superuser)
    await administrator.execute(f"create database {name} owner agentforge_owner template {template} strategy file_copy")
    try:
        async with asyncpg.create_pool(in_database(server.app, name), min_size=1, max_size=1) as pool:
            yield await _make(await create_organization(pool, "acme"))
    finally:
        await administrator.execute(f"drop database {name} (force)")
        await administrator.close()


async def _make(tenant: Tenant) -> Data:
    chance = random.Random(0)

    def attempt() -> Attempt:
        status = chance.choice(STATUSES)
        category = chance.choice([None, *CATEGORIES]) if status != "queued" else None
        return Attempt(
            reward=chance.choice(REWARDS) if status != "queued" else None,
            status=status,
            category=category,
            stages={stage: chance.choice([0, 0.5, 1]) for stage in STAGES if chance.random() < 0.7},
            log=f"{status} {category}",
        )

    run_ids = []
    versions = [await create_version(tenant, slug) for slug in ("one", "two", "three")]
    for version in versions * 3:
        run, _ = await create_run(tenant, version, [attempt() for _ in range(8)], status="running")
        run_ids.append(run.id)
    return Data(tenant, await tenant.fetch(trials.BY_RUNS, run_ids))


def filters(data: Data) -> st.SearchStrategy[Filter]:
    """A few conditions at a time: all at once would hardly ever leave more than one page."""

    def several(values: Sequence[str]) -> st.SearchStrategy[list[str]]:
        return st.lists(st.sampled_from(values), unique=True)

    times = st.sampled_from(sorted({trial.created_at for trial in data.trials}))
    rewards = st.sampled_from([0.0, 0.25, 0.3, 1.0, 2.0])
    versions = sorted({trial.environment_version_id for trial in data.trials})
    conditions: dict[str, st.SearchStrategy[Any]] = {
        "version_id": st.sampled_from([*versions, UUID(int=0)]),
        "run_id": st.sampled_from(sorted({trial.evaluation_run_id for trial in data.trials})),
        "statuses": several(STATUSES),
        "categories": several(CATEGORIES),
        "scored": st.booleans(),
        "reward_from": rewards,
        "reward_below": rewards,
        "stage": st.sampled_from([*STAGES, "stage_unknown"]),
        "stage_below": st.sampled_from([0.0, 0.5, 1.0, 2.0]),
        "created_after": times,
        "created_before": times,
        "text": st.sampled_from(sorted(TEXTS)),
    }
    return st.sets(st.sampled_from(sorted(conditions)), max_size=3).flatmap(
        lambda chosen: st.builds(
            Filter, **{name: values if name in chosen else st.none() for name, values in conditions.items()}
        )
    )


def by_reward(sign: int) -> Callable[[EvaluationTrial], tuple[bool, float, int]]:
    return lambda trial: (trial.reward is None, sign * (trial.reward or 0), sign * trial.id.int)


ORDERS: dict[str, tuple[Query[EvaluationTrial], Callable[[EvaluationTrial], Any], bool]] = {
    # The statement, the key that it sorts by, and whether its cursor has a reward.
    "newest": (trials.PAGE_NEWEST, lambda trial: -trial.id.int, False),
    "oldest": (trials.PAGE_OLDEST, attrgetter("id"), False),
    "highest": (trials.PAGE_REWARD_HIGHEST, by_reward(-1), True),
    "lowest": (trials.PAGE_REWARD_LOWEST, by_reward(1), True),
}


async def pages(data: Data, order: str, chosen: Filter, size: int) -> list[EvaluationTrial]:
    """All pages, each asked for with the last one's end, as a client does."""
    query, _, with_reward = ORDERS[order]
    found: list[EvaluationTrial] = []
    async with data.tenant.transaction("read only") as transaction:
        while True:
            last = found[-1] if found else None
            cursor = [last and last.id, last.reward if last and with_reward else None]
            page = await transaction.fetch(query, *astuple(chosen), *cursor, size)
            found += page
            assert len(page) <= size
            assert len(found) <= len(data.trials), "pages repeat rows"
            if len(page) < size:
                return found


@settings(max_examples=200, deadline=None)
@given(draw=st.data())
async def test_pages_together_are_the_sorted_matches(data: Data, draw: st.DataObject) -> None:
    chosen = draw.draw(filters(data))
    order = draw.draw(st.sampled_from(list(ORDERS)))
    size = draw.draw(st.integers(1, 40))
    expected = sorted(filter(chosen.admits, data.trials), key=ORDERS[order][1])
    assert await pages(data, order, chosen, size) == expected
    count = await data.tenant.fetch_one(trials.COUNT, *astuple(chosen))
    assert count is not None
    assert count.total == len(expected)


@settings(max_examples=50, deadline=None)
@given(draw=st.data())
async def test_pages_of_several_versions_are_those_of_each(data: Data, draw: st.DataObject) -> None:
    chosen = draw.draw(filters(data))
    version_ids = sorted({trial.environment_version_id for trial in data.trials})
    asked = draw.draw(st.lists(st.sampled_from(version_ids), unique=True))
    before = draw.draw(st.none() | st.sampled_from(sorted(trial.id for trial in data.trials)))
    size = draw.draw(st.integers(1, 30))
    matching = sorted(filter(chosen.admits, data.trials), key=lambda trial: -trial.id.int)
    of_each = {asked_id: [t for t in matching if t.environment_version_id == asked_id] for asked_id in asked}
    expected = [
        trial
        for asked_id in sorted(asked)
        for trial in [t for t in of_each[asked_id] if before is None or t.id < before][:size]
    ]
    assert await data.tenant.fetch(trials.PAGE_OF_VERSIONS, *astuple(chosen), before, size, asked) == expected
    counts = await data.tenant.fetch(trials.COUNT_OF_VERSIONS, *astuple(chosen), asked)
    assert {count.parent_id: count.total for count in counts} == {
        asked_id: len(found) for asked_id, found in of_each.items() if found
    }


def test_the_data_has_what_the_filters_ask_for(data: Data) -> None:
    assert {trial.status for trial in data.trials} == set(STATUSES)
    assert {trial.reward for trial in data.trials} == set(REWARDS)
    assert {trial.failure_category for trial in data.trials} == {None, *CATEGORIES}
    assert len(data.trials) == 72
