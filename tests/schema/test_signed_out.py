"""A connection that stays open when its token, session or membership has ended."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed
from websockets.typing import Origin, Subprotocol

from agentforge.auth import COOKIE
from db import accounts as account_rows
from db.changes import Changes, listen
from db.embedded import DatabaseUrls
from db.tenant import Tenant
from resolvers import accounts, members
from tests.schema.asking import UNKNOWN
from tests.schema.serving import EVENTS, SECONDS, Service, served
from tests.schema.world import Outcome, World, add_run, small_world

CREATE = 'mutation { createEnvironment(input: { slug: "late", name: "Late" }) { __typename } }'
WATCH = "subscription { evaluationTrialFinished { id } }"


@pytest.fixture
async def changes(database: DatabaseUrls) -> AsyncIterator[Changes]:
    async with listen(database.app) as changes:
        yield changes


async def subscribe(socket: ClientConnection, query: str) -> None:
    await socket.send(json.dumps({"type": "subscribe", "id": "1", "payload": {"query": query}}))


async def receive(socket: ClientConnection) -> Any:
    return json.loads(await socket.recv())


async def revoke(tenant: Tenant) -> None:
    for token in await accounts.tokens(tenant):
        await accounts.revoke_token(tenant, token.id)


async def finished_trial(world: World) -> str:
    run = await add_run(world, world.versions[0], world.configurations[0], [Outcome(1.0)])
    return str(run.trials[0].row.id)


async def until_refused(service: Service) -> None:
    """By then the word that the token has ended has come."""
    async with httpx.AsyncClient(headers=service.headers) as client:
        while (await client.post(service.url, json={"query": "{ __typename }"})).status_code != 401:
            pass


async def test_can_start_nothing_more(acme: Tenant, changes: Changes) -> None:
    async with served(acme, changes) as service, service.socket() as socket:
        await subscribe(socket, CREATE.replace("late", "early"))
        assert (await receive(socket))["payload"]["data"] == {"createEnvironment": {"__typename": "Environment"}}
        assert (await receive(socket))["type"] == "complete"
        await revoke(acme)
        await until_refused(service)
        await subscribe(socket, CREATE)
        with pytest.raises(ConnectionClosed):
            await receive(socket)
        assert (socket.close_code, socket.close_reason) == (4403, "The token or session has ended.")


async def test_acts_with_the_role_of_now(acme: Tenant, changes: Changes) -> None:
    owner = await members.add_member(acme, "olga@example.org", "owner")
    await members.add_member(acme, "otto@example.org", "owner")
    session = await accounts.redeem_sign_in_link(
        acme.pool, await accounts.create_sign_in_link(acme, owner.id), accounts.LINK_LIFETIME
    )
    assert session is not None
    cookie = {"Cookie": f"{COOKIE}={session.id.hex}.{session.secret}"}
    async with served(acme, changes) as service:
        address, protocols = f"ws://{service.address}/graphql", [Subprotocol("graphql-transport-ws")]
        origin = Origin(f"http://{service.address}")
        async with connect(address, origin=origin, subprotocols=protocols, additional_headers=cookie) as socket:
            await socket.send('{"type": "connection_init"}')
            assert (await receive(socket))["type"] == "connection_ack"
            known = changes.identities
            await members.add_member(acme, "olga@example.org", "viewer")
            while changes.identities == known:  # noqa: ASYNC110 - the word that roles have changed
                await asyncio.sleep(0.01)
            await subscribe(socket, CREATE)
            answer = (await receive(socket))["payload"]["data"]
    assert answer == {"createEnvironment": {"__typename": "Forbidden"}}


async def test_hears_nothing_more(acme: Tenant, changes: Changes) -> None:
    world = await small_world(acme)
    async with served(acme, changes) as service, service.socket() as socket:
        await subscribe(socket, WATCH)
        while not changes.subscriptions:
            await (await socket.ping())
        heard = await finished_trial(world)
        assert (await receive(socket))["payload"]["data"] == {"evaluationTrialFinished": {"id": heard}}
        await revoke(acme)
        await until_refused(service)
        await finished_trial(world)
        message = await receive(socket)
        assert message["payload"]["data"] is None
        assert [error["message"] for error in message["payload"]["errors"]] == ["The token or session has ended."]
        assert await receive(socket) == {"type": "complete", "id": "1"}


async def test_a_stream_of_events_ends_too(acme: Tenant, changes: Changes) -> None:
    world = await small_world(acme)
    async with served(acme, changes) as service, httpx.AsyncClient(timeout=SECONDS) as client:
        headers = service.headers | EVENTS
        async with client.stream("POST", service.url, headers=headers, json={"query": WATCH}) as response:
            lines = response.aiter_lines()
            while not changes.subscriptions:
                await acme.fetch(account_rows.ORGANIZATIONS_BY_IDS, [UNKNOWN])
            await revoke(acme)
            await until_refused(service)
            secret = await finished_trial(world)
            told = "\n".join([line async for line in lines])
        assert "The token or session has ended." in told
        assert secret not in told
