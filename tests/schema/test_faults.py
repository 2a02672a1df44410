"""When something real breaks, whoever asks is told an id that the log has, and nothing of how the service is built."""

import asyncio
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import asyncpg
import httpx
import pytest
from structlog.testing import capture_logs
from websockets.exceptions import ConnectionClosed

from db.changes import Changes
from db.embedded import DatabaseUrls, embedded_server
from db.migrate import migrate
from db.pool import open_pool
from tests.factory import create_organization
from tests.schema.serving import SECONDS, WAYS, Service, served
from tests.schema.test_errors import break_database
from tests.schema.world import World, build_world
from tests.service import short_directory

#: Words of tables, statements, libraries, files and the database's own messages; none is part of the API.
INNER = re.compile(
    r"evaluation_(?:runs|trials)|environment_versions|evaluator_configurations|rollouts\.|trajectory_artifacts"
    r"|relation|column|constraint|permission|violates|secret_rule|privilege|duplicate key|row.level"
    r"|select |insert |update |asyncpg|postgres|psql|sqlstate|graphql_core|strawberry|traceback"
    r"|\.py|\.sql|/dev/shm|/tmp|connection|refused|errno|socket|terminat",
    re.I,
)

#: Where in the document an error is, which clients may know.
LOCATION = re.compile(r'"locations": ?\[[^]]*\]')

#: What only these faults break: each is asked in every way.
QUERIES = {
    "compiled": "{ evaluationTrials { edges { node { id rollout { seed } } } } }",
    "by Strawberry": "{ viewer { role } evaluationTrials { edges { node { id rollout { seed } } } } }",
    "a mutation": """mutation { createEnvironment(input: { slug: "boom", name: "n" }) {
      __typename ... on Environment { id versions { totalCount } latestVersion { trials { totalCount } } } } }""",
}

FAULTS = {
    "a table is gone": ["drop table rollouts cascade", "drop table environments cascade"],
    "a column is gone": [
        "alter table rollouts drop column seed cascade",
        "alter table environments drop column name cascade",
    ],
    "a grant is gone": [
        "revoke all on rollouts from agentforge_app",
        "revoke all on environments from agentforge_app",
    ],
    "a constraint is violated": [
        "alter table rollouts alter column seed type int using 2000000000",
        "update rollouts set seed = 1",
        "drop policy tenant on evaluation_trials",
        "create policy tenant on evaluation_trials to agentforge_app using (attempt / 0 = 1)",
        "alter table environments add constraint secret_rule check (slug <> 'boom')",
    ],
}


def assert_told_by_ids(answers: list[str], logs: list[Any]) -> None:
    """Every answer has an id of the log, and not a word of what it says there."""
    assert answers
    known = {entry["error_id"] for entry in logs if "error_id" in entry}
    for answer in answers:
        assert not INNER.search(LOCATION.sub("", answer)), answer
        told = re.findall(r'(?:"errorId": ?"|logged as )([0-9a-f-]{32,36})', answer)
        assert told, answer
        assert set(told) <= known


async def ask_everything(service: Service) -> list[str]:
    """The answers to all questions in every way."""
    return [json.dumps(await ask(service, query, {})) for ask in WAYS.values() for query in QUERIES.values()]


async def get(service: Service, path: str) -> httpx.Response:
    async with httpx.AsyncClient(timeout=SECONDS) as client:
        return await client.get(f"http://{service.address}{path}", headers=service.headers)


@pytest.mark.parametrize("fault", FAULTS)
async def test_a_broken_database_is_told_by_an_id(fault: str, world: World, database: DatabaseUrls) -> None:
    async with served(world.tenant) as service:
        await break_database(database, *FAULTS[fault])
        with capture_logs() as logs:
            answers = await ask_everything(service)
            if fault != "a constraint is violated":
                answers.append((await get(service, f"/api/v1/rollouts/{world.rollouts[0].id}")).text)
                answers.append((await get(service, "/api/v1/rollouts?kind=all")).text)
        assert_told_by_ids(answers, logs)


@pytest.mark.parametrize("way", ["events", "socket"])
async def test_a_broken_subscription_is_told_by_an_id(way: str, world: World, database: DatabaseUrls) -> None:
    run = next(run for run in world.runs if run.row.status == "running")
    text = f'subscription {{ evaluationRunUpdated(id: "{run.row.id}") {{ id }} }}'
    async with served(world.tenant) as service:
        await break_database(database, "alter table evaluation_runs drop column failure_detail")
        with capture_logs() as logs:
            answer = await WAYS[way](service, text, {})
    assert_told_by_ids([json.dumps(answer)], logs)


@asynccontextmanager
async def stoppable() -> AsyncIterator[tuple[Service, Any]]:
    """A service on a database server of its own, and what stops that."""
    with short_directory() as directory:
        server = embedded_server(directory)
        urls = await asyncio.to_thread(server.__enter__)
        stopped = False

        async def stop() -> None:
            nonlocal stopped
            stopped = True
            await asyncio.to_thread(server.__exit__, None, None, None)

        try:
            await migrate(urls.owner)
            async with open_pool(urls.app, application_name="test", max_size=4) as pool:
                world = await build_world(await create_organization(pool, "acme"))
                async with served(world.tenant, Changes()) as service:
                    yield service, stop
        finally:
            if not stopped:
                await stop()


async def test_a_database_that_has_stopped_is_told_by_an_id() -> None:
    async with stoppable() as (service, stop):
        for ask in WAYS.values():
            assert "errors" not in await ask(service, QUERIES["compiled"], {})
        async with service.socket() as socket:
            await stop()
            with capture_logs() as logs:
                await socket.send(
                    json.dumps({"type": "subscribe", "id": "1", "payload": {"query": QUERIES["compiled"]}})
                )
                # Who asks is not remembered while nobody would hear that a token was revoked.
                with pytest.raises(ConnectionClosed):
                    await asyncio.wait_for(socket.recv(), SECONDS)
                assert socket.close_code == 1011
                answers = [socket.close_reason or ""]
                answers += [(await service.post(json={"query": query})).text for query in QUERIES.values()]
                answers.append((await get(service, "/api/v1/rollouts?kind=all")).text)
            assert_told_by_ids(answers, logs)
        assert (await get(service, "/readyz")).status_code == 503


async def test_after_the_database_cut_all_connections_the_next_question_is_answered(
    world: World, superuser: str
) -> None:
    async with served(world.tenant) as service:
        before = [await ask(service, QUERIES["compiled"], {}) for ask in WAYS.values()]
        connection = await asyncpg.connect(superuser)
        await connection.execute(
            "select pg_terminate_backend(pid) from pg_stat_activity where usename = 'agentforge_app'"
        )
        await connection.close()
        told = [await ask(service, QUERIES["compiled"], {}) for ask in WAYS.values() for _ in range(5)]
        assert not INNER.search(json.dumps([one.get("errors") for one in told]))
        assert [await ask(service, QUERIES["compiled"], {}) for ask in WAYS.values()] == before
