"""What a worker counts of its executions, for operators: never anything of an organization."""

import json
import time
from collections import Counter as Tally
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final
from uuid import UUID

from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.metrics_core import Metric

from agentforge.worker.outcome import Outcome
from agentforge.worker.parts import Parts
from agentforge.worker.records import MOST_LOST_EXECUTIONS, SupersededError
from db.trials import EvaluationTrial, TrialStatus

#: The categories that workers set themselves; evaluators may name any, which must not multiply the series.
OWN_CATEGORIES: Final = frozenset(
    {
        "agent_crashed",
        "agent_timeout",
        "disk_limit",
        "environment_failed",
        "evaluator_failed",
        "memory_limit",
        "output_limit",
        "process_limit",
        "redaction_failed",
        "step_limit",
        "worker_lost",
    }
)
_BUCKETS: Final = (0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100, 300, 1000, 3000, 10_000, 30_000, 100_000)
_MINUTE: Final = 60.0


def bounded(category: str | None) -> str:
    """The label of a failure category: empty for none, `evaluator` for those that evaluators name."""
    if category is None:
        return ""
    return category if category in OWN_CATEGORIES else "evaluator"


@dataclass(eq=False, slots=True)
class Execution:
    """One start of an attempt, under way. `outcome` is set when it was stored."""

    trial: EvaluationTrial
    parts: Parts = field(default_factory=Parts)
    began: float = field(default_factory=time.monotonic)
    ending: str = "failed"
    outcome: Outcome | None = None

    def stored(self, outcome: Outcome) -> None:
        self.ending, self.outcome = "stored", outcome

    def handed_back(self) -> None:
        self.ending = "handed_back"


class Metrics:
    """Counts of one worker, `under_way` the executions that it has now and `tally` the endings, for the live table."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.under_way: dict[UUID, Execution] = {}
        self.tally: Tally[str] = Tally()
        self._ends: deque[float] = deque()
        self._trials = Counter(
            "agentforge_trials",
            "Trials that have ended, by status and failure category.",
            ["status", "failure_category"],
            registry=self.registry,
        )
        self._executions = Counter(
            "agentforge_executions",
            "Executions of trials by how they ended; lost ones are counted by the worker that followed.",
            ["ending"],
            registry=self.registry,
        )
        self._seconds = Histogram(
            "agentforge_execution_seconds",
            "Seconds of a stored execution, by part and as a whole.",
            ["part"],
            buckets=_BUCKETS,
            registry=self.registry,
        )
        self._waited = Histogram(
            "agentforge_trial_wait_seconds",
            "Seconds from when a trial was queued to its first start.",
            buckets=_BUCKETS,
            registry=self.registry,
        )

    def claimed(self, before: EvaluationTrial, trial: EvaluationTrial | None) -> None:
        """Tells what a trial was when this worker claimed it, and is; None when it has ended, or ended by that."""
        if trial is None:
            if before.status == TrialStatus.RUNNING and before.lost_executions + 1 >= MOST_LOST_EXECUTIONS:
                self._executions.labels("lost").inc()
                self._end("interrupted", "worker_lost")
            return
        self._executions.labels("lost").inc(max(0, trial.lost_executions - before.lost_executions))
        if trial.execution == 1 and trial.started_at:
            self._waited.observe(max(0.0, (trial.started_at - trial.created_at).total_seconds()))

    @contextmanager
    def execution(self, trial: EvaluationTrial) -> Iterator[Execution]:
        """Counts what comes of an execution in the block."""
        execution = self.under_way[trial.id] = Execution(trial)
        try:
            yield execution
        except SupersededError:
            execution.ending = "superseded"
            raise
        finally:
            del self.under_way[trial.id]
            execution.parts.enter(None)
            self._executions.labels(execution.ending).inc()
            if outcome := execution.outcome:
                self._end(outcome.status, bounded(outcome.failure_category))
                for part, seconds in execution.parts.seconds.items():
                    self._seconds.labels(part).observe(seconds)
                self._seconds.labels("whole").observe(time.monotonic() - execution.began)

    def _end(self, status: str, category: str) -> None:
        self._trials.labels(status, category).inc()
        self.tally[category or status] += 1
        self._ends.append(time.monotonic())
        self.trials_per_minute()  # forgets older ones, however seldom anybody asks

    def trials_per_minute(self) -> int:
        """Trials that ended within the last minute."""
        earliest = time.monotonic() - _MINUTE
        while self._ends and self._ends[0] < earliest:
            self._ends.popleft()
        return len(self._ends)

    def series(self) -> dict[str, float]:
        """All that was counted since this worker began, by name and labels of the series as JSON."""
        return {
            json.dumps([metric.name, sample.name, sample.labels], sort_keys=True): sample.value
            for metric in self.registry.collect()
            for sample in metric.samples
            if not sample.name.endswith("_created")
        }


def families(series: Mapping[str, float]) -> list[Metric]:
    """The metrics of `Metrics.series`, of whatever workers; those that this version does not know are left out."""
    known = {metric.name: metric for metric in Metrics().registry.collect()}
    for metric in known.values():
        metric.samples = []
    for text, value in series.items():
        metric_name, sample_name, labels = json.loads(text)
        if metric_name in known:
            known[metric_name].add_sample(sample_name, labels, value)
    return list(known.values())
