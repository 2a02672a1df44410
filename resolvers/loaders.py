"""Batches the questions of one request: one statement for each edge of the graph, however wide the answer.

An edge is declared once, as a statement and the column that it is keyed by. The statement's last argument is the
array of keys; arguments before it (filters, page size) make a batch of their own.
"""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Coroutine, Hashable
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar, overload

from aiodataloader import DataLoader

from db import (
    accounts,
    artifact_files,
    artifacts,
    atif_verdicts,
    configurations,
    environments,
    executions,
    members,
    nodes,
    reports,
    rollouts,
    runs,
    secrets,
    trials,
    versions,
)
from db.query import Query
from db.tenant import Tenant

Row = TypeVar("Row")

#: Answers many keys at once, in their order.
Batch = Callable[[list[Any]], Coroutine[Any, Any, list[Any]]]


@dataclass(frozen=True, slots=True)
class One(Generic[Row]):
    """An edge to at most one row for each key, which stands in the column `key`."""

    query: Query[Row]
    key: str


@dataclass(frozen=True, slots=True)
class Many(Generic[Row]):
    """An edge to any number of rows for each key, which stands in the column `key`, in the statement's order."""

    query: Query[Row]
    key: str


def one_per_key(tenant: Tenant, edge: One[Row], arguments: tuple[object, ...]) -> Batch:
    async def load(keys: list[Any]) -> list[Row | None]:
        found = {getattr(row, edge.key): row for row in await tenant.fetch(edge.query, *arguments, keys)}
        return [found.get(wanted) for wanted in keys]

    return load


def many_per_key(tenant: Tenant, edge: Many[Row], arguments: tuple[object, ...]) -> Batch:
    async def load(keys: list[Any]) -> list[list[Row]]:
        found: defaultdict[Hashable, list[Row]] = defaultdict(list)
        for row in await tenant.fetch(edge.query, *arguments, keys):
            found[getattr(row, edge.key)].append(row)
        return [found[wanted] for wanted in keys]

    return load


@dataclass(slots=True)
class Loaders:
    """The loaders of one request and one organization; they are never shared between requests."""

    tenant: Tenant
    _loaders: dict[Hashable, DataLoader[Any, Any]] = field(default_factory=dict)
    _loading: set["asyncio.Task[Any]"] = field(default_factory=set)
    _closed: bool = False

    @overload
    async def __call__(self, edge: One[Row], key: Hashable | None, *arguments: object) -> Row | None: ...
    @overload
    async def __call__(self, edge: Many[Row], key: Hashable, *arguments: object) -> list[Row]: ...
    async def __call__(
        self, edge: One[Row] | Many[Row], key: Hashable | None, *arguments: object
    ) -> Row | list[Row] | None:
        """What lies at the end of `edge` from `key`; for a key that is None, nothing."""
        if key is None:
            return None
        loader = self._loaders.get((edge, arguments))
        if loader is None:
            loader = self._loaders[edge, arguments] = DataLoader(
                self._cancellable(
                    one_per_key(self.tenant, edge, arguments)
                    if isinstance(edge, One)
                    else many_per_key(self.tenant, edge, arguments)
                )
            )
        rows: Row | list[Row] | None = await loader.load(key)
        return rows

    def _cancellable(self, batch: Batch) -> Batch:
        """A loader runs its batches in tasks of their own, which outlive whoever waits for them."""

        async def load(keys: list[Any]) -> list[Any]:
            task = asyncio.current_task()
            if task is None or self._closed:
                raise asyncio.CancelledError
            self._loading.add(task)
            try:
                return await batch(keys)
            finally:
                self._loading.discard(task)

        return load

    def close(self) -> None:
        """Ends what is still looked up; nobody waits for it any more."""
        self._closed = True
        for task in self._loading:
            task.cancel()


NODE = One(nodes.FIND, "id")
ORGANIZATION = One(accounts.ORGANIZATIONS_BY_IDS, "id")
MEMBER = One(members.BY_IDS, "id")
TOKEN = One(accounts.TOKENS_BY_IDS, "id")
SECRET = One(secrets.BY_IDS, "id")
ENVIRONMENT = One(environments.BY_IDS, "id")
ENVIRONMENT_BY_SLUG = One(environments.BY_SLUGS, "slug")
VERSION = One(versions.BY_IDS, "id")
LATEST_VERSION_OF_ENVIRONMENT = One(versions.LATEST_OF_ENVIRONMENTS, "environment_id")
VERSIONS_OF_ENVIRONMENT = Many(versions.PAGE_OF_ENVIRONMENTS, "environment_id")
VERSION_COUNT_OF_ENVIRONMENT = One(versions.COUNT_OF_ENVIRONMENTS, "parent_id")
PASS_AT_K_OF_VERSION = Many(versions.PASS_AT_K, "environment_version_id")
CONFIGURATION = One(configurations.BY_IDS, "id")
RUN = One(runs.BY_IDS, "id")
RUNS_OF_VERSION = Many(runs.PAGE_OF_VERSIONS, "environment_version_id")
RUN_COUNT_OF_VERSION = One(runs.COUNT_OF_VERSIONS, "parent_id")
TRIAL = One(trials.BY_IDS, "id")
TRIALS_OF_RUN = Many(trials.BY_RUNS, "evaluation_run_id")
TRIALS_OF_VERSION = Many(trials.PAGE_OF_VERSIONS, "environment_version_id")
TRIAL_COUNT_OF_VERSION = One(trials.COUNT_OF_VERSIONS, "parent_id")
ARTIFACT = One(artifacts.BY_IDS, "id")
STEPS = Many(artifacts.STEPS, "id")
FILES_OF_ARTIFACT = Many(artifact_files.OF_ARTIFACTS, "trajectory_artifact_id")
ATIF_OF_ARTIFACT = One(atif_verdicts.OF_ARTIFACTS, "trajectory_artifact_id")
ATIF_DOCUMENT = One(atif_verdicts.DOCUMENTS, "id")
EXECUTIONS_OF_TRIAL = Many(executions.BY_TRIALS, "evaluation_trial_id")
RECORDED_STEPS = Many(executions.STEPS, "id")
ROLLOUT = One(rollouts.BY_IDS, "id")
ROLLOUT_OF_TRIAL = One(rollouts.BY_TRIALS, "evaluation_trial_id")
PREFERENCE_OF_VERSION = One(rollouts.PREFERENCES_OF_VERSIONS, "environment_version_id")
CAPABILITY_GAPS_OF_VERSION = Many(reports.CAPABILITY_GAPS_OF_VERSIONS, "environment_version_id")
PARTIAL_REWARDS_OF_VERSION = Many(reports.PARTIAL_REWARDS_OF_VERSIONS, "environment_version_id")
