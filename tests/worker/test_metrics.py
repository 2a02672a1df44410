"""What a worker counts: every way in which an execution ends, with labels that nobody can multiply."""

import asyncio
from dataclasses import replace
from datetime import timedelta
from typing import Any

import asyncpg
import pytest

from agentforge.worker import reports as reports_module
from agentforge.worker.metrics import OWN_CATEGORIES, Metrics, bounded, families
from agentforge.worker.parts import Parts
from agentforge.worker.records import MOST_LOST_EXECUTIONS, SupersededError
from agentforge.worker.reports import Reports, reporting
from db import workers
from db.tenant import Pool, Tenant, fetch_before_organization
from db.trials import EvaluationTrial
from tests.markdown import named, table
from tests.service import PROJECT
from tests.worker.test_records import OUTCOME, claimed, queued_run


@pytest.fixture
async def queued(acme: Tenant) -> EvaluationTrial:
    _, (trial,) = await queued_run(acme)
    return trial


@pytest.fixture
async def trial(acme: Tenant, queued: EvaluationTrial) -> EvaluationTrial:
    return await claimed(acme, queued)


def value(metrics: Metrics, name: str, **labels: str) -> float | None:
    return metrics.registry.get_sample_value(name, labels)


def ended(metrics: Metrics, ending: str) -> float | None:
    return value(metrics, "agentforge_executions_total", ending=ending)


def test_own_categories_are_those_documented() -> None:
    documented = {
        category for row in table(PROJECT / "docs" / "outcomes.md", "what happened") for category in named(row[3])
    }
    assert documented | {"worker_lost"} == OWN_CATEGORIES


def test_a_category_of_an_evaluator_makes_no_series_of_its_own() -> None:
    assert [bounded(category) for category in (None, "agent_timeout", "checkout_incomplete", "x" * 64)] == [
        *("", "agent_timeout", "evaluator", "evaluator")
    ]


def test_a_stored_execution_is_counted_with_its_outcome_and_parts(trial: EvaluationTrial) -> None:
    metrics = Metrics()
    with metrics.execution(trial) as execution:
        assert list(metrics.under_way.values()) == [execution]
        execution.parts.enter("world")
        execution.parts.enter("agent")
        execution.stored(OUTCOME)
    assert metrics.under_way == {}
    assert ended(metrics, "stored") == 1
    labels = {"status": "completed", "failure_category": "evaluator"}
    assert value(metrics, "agentforge_trials_total", **labels) == 1
    for part, count in (("world", 1), ("agent", 1), ("whole", 1), ("evaluator", None)):
        assert value(metrics, "agentforge_execution_seconds_count", part=part) == count
    assert (metrics.tally, metrics.trials_per_minute()) == ({"evaluator": 1}, 1)


def test_endings_that_store_nothing_are_no_trials(trial: EvaluationTrial) -> None:
    metrics = Metrics()
    with metrics.execution(trial) as execution:
        execution.handed_back()
    for error in (SupersededError, ValueError):
        with pytest.raises(error), metrics.execution(trial):
            raise error
    assert [ended(metrics, ending) for ending in ("handed_back", "superseded", "failed", "stored")] == [1, 1, 1, None]
    assert "agentforge_trials_total{" not in str(metrics.series())
    assert (metrics.under_way, metrics.trials_per_minute()) == ({}, 0)


def test_lost_executions_are_counted_by_whoever_follows(trial: EvaluationTrial) -> None:
    metrics = Metrics()
    metrics.claimed(trial, replace(trial, execution=2, lost_executions=1))
    assert ended(metrics, "lost") == 1
    lost_for_good = replace(trial, execution=3, lost_executions=MOST_LOST_EXECUTIONS - 1)
    metrics.claimed(lost_for_good, None)
    assert ended(metrics, "lost") == 2
    assert value(metrics, "agentforge_trials_total", status="interrupted", failure_category="worker_lost") == 1
    metrics.claimed(trial, None)  # it had ended meanwhile
    assert ended(metrics, "lost") == 2


def test_the_first_start_tells_how_long_a_trial_waited(queued: EvaluationTrial) -> None:
    metrics = Metrics()
    first = replace(queued, execution=1, started_at=queued.created_at + timedelta(seconds=7))
    metrics.claimed(queued, first)
    metrics.claimed(first, replace(first, execution=2, started_at=queued.created_at + timedelta(seconds=90)))
    assert value(metrics, "agentforge_trial_wait_seconds_count") == 1
    assert value(metrics, "agentforge_trial_wait_seconds_sum") == 7


def test_parts_follow_each_other() -> None:
    moments = iter([0.0, 1.0, 3.0, 6.0, 10.0])
    parts = Parts(clock=lambda: next(moments))
    for part in ("world", "agent", "world", None):
        parts.enter(part)
    assert parts.seconds == {"world": 2.0 + 4.0, "agent": 3.0}
    assert parts.present is None


def test_series_come_back_as_metrics(trial: EvaluationTrial) -> None:
    metrics = Metrics()
    with metrics.execution(trial) as execution:
        execution.stored(OUTCOME)
    series = metrics.series()
    told = {metric.name: metric for metric in families(series | {'["other", "other_total", {}]': 1.0})}
    assert "other" not in told
    samples = [(sample.name, sample.labels, sample.value) for metric in told.values() for sample in metric.samples]
    assert ("agentforge_executions_total", {"ending": "stored"}, 1.0) in samples
    assert len(samples) == len(series)
    assert {metric.type for metric in told.values()} == {"counter", "histogram"}


async def totals(pool: Pool) -> dict[str, float]:
    return {total.series: total.value for total in await fetch_before_organization(pool, workers.TOTALS)}


async def test_reports_add_what_is_new(trial: EvaluationTrial, pool: Pool) -> None:
    metrics = Metrics()
    reports = Reports("here/1/a", 2, metrics)
    for _ in range(2):
        with metrics.execution(trial) as execution:
            execution.stored(OUTCOME)
        await reports.send(pool)
    await reports.send(pool)
    assert await totals(pool) == {name: value for name, value in metrics.series().items() if value}


async def test_a_report_whose_answer_was_lost_is_not_added_twice(
    trial: EvaluationTrial, pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def lose_the_answer(*arguments: Any) -> Any:
        await fetch_before_organization(*arguments)
        raise asyncpg.ConnectionDoesNotExistError

    metrics = Metrics()
    reports = Reports("here/1/a", 2, metrics)
    with metrics.execution(trial) as execution:
        execution.handed_back()
    with monkeypatch.context() as patch:
        patch.setattr(reports_module, "fetch_before_organization", lose_the_answer)
        with pytest.raises(asyncpg.ConnectionDoesNotExistError):
            await reports.send(pool)
    with metrics.execution(trial) as execution:
        execution.handed_back()
    await reports.leave(pool)
    (total,) = (await totals(pool)).values()
    assert total == 2


async def test_a_worker_is_there_while_it_reports(pool: Pool) -> None:
    async def there() -> int:
        (present,) = await fetch_before_organization(pool, workers.PRESENT)
        return present.workers

    async with reporting(Reports("here/1/a", 2, Metrics()), pool):
        async with asyncio.timeout(20):
            while not await there():  # noqa: ASYNC110 - nothing tells
                await asyncio.sleep(0.01)
    assert await there() == 0
