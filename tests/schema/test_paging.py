"""Pages through every list, in every order, while rows arrive."""

import base64
import itertools
import json
from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from db import artifacts
from db.tenant import Tenant
from tests.factory import create_version, step
from tests.schema.asking import ask, nodes, refusals
from tests.schema.world import Outcome, World, add_run, create_configuration, small_world

PAGE = "pageInfo { hasNextPage hasPreviousPage startCursor endCursor }"
ORDERS = ["NEWEST", "OLDEST", "REWARD_HIGHEST", "REWARD_LOWEST"]
LISTS = [
    "environments",
    "evaluatorConfigurations",
    *(f"evaluationRuns(orderBy: {order})" for order in ORDERS[:2]),
    *(f"evaluationTrials(orderBy: {order})" for order in ORDERS),
    *(f"rollouts(kind: {kind})" for kind in ("ALL", "SUCCESSFUL", "FAILED", "RECOVERY")),
]


def with_arguments(listed: str, arguments: str) -> str:
    name, bracket, rest = listed.partition("(")
    return f"{name}({arguments} {rest}" if bracket else f"{name}({arguments})"


async def pages(tenant: Tenant, listed: str, size: int, node: str = "id") -> list[list[Any]]:
    """The nodes of each page of a list, forward to its end; what pageInfo says is checked on the way."""
    selected = with_arguments(listed, "first: $first, after: $after")
    text = (
        f"query($first: Int, $after: String) {{ list: {selected} {{ edges {{ cursor node {{ {node} }} }} {PAGE} }} }}"
    )
    found: list[list[Any]] = []
    after: str | None = None
    while True:
        page = (await ask(tenant, text, first=size, after=after))["list"]
        info, cursors = page["pageInfo"], [edge["cursor"] for edge in page["edges"]]
        assert info["hasPreviousPage"] == (after is not None)
        assert (info["startCursor"], info["endCursor"]) == ((cursors[0], cursors[-1]) if cursors else (None, None))
        assert nodes(page) not in found
        found.append(nodes(page))
        if not info["hasNextPage"]:
            return found
        assert len(cursors) == size
        after = info["endCursor"]


async def test_pages_put_together_are_the_list(world: World, subtests: pytest.Subtests) -> None:
    for listed in LISTS:
        with subtests.test(listed):
            (whole,) = await pages(world.tenant, listed, 500)
            assert whole
            for size in (1, 2, len(whole)):
                found = await pages(world.tenant, listed, size)
                assert [node for page in found for node in page] == whole
                assert len(found) == -(-len(whole) // size)


async def test_pages_of_an_environment(world: World) -> None:
    text = f"""query($after: String) {{ environment(slug: "admin-console") {{
      versions(first: 2, after: $after) {{ totalCount edges {{ node {{ version }} }} {PAGE} }} }} }}"""
    first = (await ask(world.tenant, text))["environment"]["versions"]
    second = (await ask(world.tenant, text, after=first["pageInfo"]["endCursor"]))["environment"]["versions"]
    assert [node["version"] for page in (first, second) for node in nodes(page)] == [3, 2, 1]
    assert [page["totalCount"] for page in (first, second)] == [3, 3]
    assert [page["pageInfo"]["hasNextPage"] for page in (first, second)] == [True, False]


@pytest.mark.parametrize("field", ["runs", "trials"])
async def test_pages_of_a_version(world: World, field: str) -> None:
    text = f"""query($id: ID!, $after: String) {{ environmentVersion(id: $id) {{
      {field}(first: 2, after: $after) {{ edges {{ node {{ id }} }} {PAGE} }} }} }}"""
    of_version = [run for run in reversed(world.runs) if run.version == world.versions[3]]
    trials = [trial.row.id for run in of_version for trial in reversed(run.trials)]
    expected = [run.row.id for run in of_version] if field == "runs" else trials
    found, after = [], None
    for _ in range(2):
        page = (await ask(world.tenant, text, id=str(world.versions[3].id), after=after))["environmentVersion"][field]
        found += [UUID(node["id"]) for node in nodes(page)]
        after = page["pageInfo"]["endCursor"]
    assert found == expected
    assert not page["pageInfo"]["hasNextPage"]


async def test_steps_of_a_trajectory_even_where_their_numbers_repeat(acme: Tenant) -> None:
    world = await small_world(acme)
    numbers = [1, 2, 2, 2, 3]
    steps = [step(number, command=f"c{position}") for position, number in enumerate(numbers)]
    run = await add_run(world, world.versions[0], world.configurations[0], [Outcome(1.0, steps=steps)])
    (artifact,) = await acme.fetch(artifacts.BY_IDS, [run.trials[0].row.trajectory_artifact_id])
    assert artifact.step_count == 5
    text = f"""query($id: ID!, $first: Int, $after: String) {{ evaluationTrial(id: $id) {{ trajectory {{
      steps(first: $first, after: $after) {{ totalCount edges {{ node {{ step command }} }} {PAGE} }} }} }} }}"""
    for size in (1, 2, 5):
        found, after, more = [], None, True
        while more:
            answered = await ask(acme, text, id=str(run.trials[0].row.id), first=size, after=after)
            page = answered["evaluationTrial"]["trajectory"]["steps"]
            found += nodes(page)
            after, more = page["pageInfo"]["endCursor"], page["pageInfo"]["hasNextPage"]
            assert page["totalCount"] == 5
        assert found == [{"step": number, "command": f"c{position}"} for position, number in enumerate(numbers)]


SORTED: dict[str, Callable[[tuple[float | None, UUID]], Any]] = {
    "NEWEST": lambda one: -one[1].int,
    "OLDEST": lambda one: one[1].int,
    "REWARD_HIGHEST": lambda one: (one[0] is None, -(one[0] or 0), -one[1].int),
    "REWARD_LOWEST": lambda one: (one[0] is None, one[0] or 0, one[1].int),
}
REWARDS = st.lists(st.sampled_from([None, 0.0, -0.0, 0.1, 0.30000000000000004, 0.3, 1.0]), min_size=1, max_size=8)


@given(st.sampled_from(ORDERS), REWARDS, st.lists(REWARDS | st.none(), max_size=6), st.integers(1, 4))
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_rows_that_were_there_are_neither_skipped_nor_repeated(
    acme: Tenant, order: str, rewards: list[float | None], arriving: list[list[float | None] | None], size: int
) -> None:
    version = await create_version(acme, "paged", task=f"{order}{rewards}{arriving}{size}")
    world = World(acme, [], [version], [await create_configuration(acme, str(version.id), 8)])

    async def arrive(scores: list[float | None]) -> list[tuple[float | None, UUID]]:
        run = await add_run(world, version, world.configurations[0], [Outcome(score) for score in scores])
        return [(trial.row.reward, trial.row.id) for trial in run.trials]

    there = sorted(await arrive(rewards), key=SORTED[order])
    text = f"""query($id: ID!, $order: EvaluationTrialOrder!, $first: Int!, $after: String) {{
      evaluationTrials(filter: {{ environmentVersionId: $id }}, orderBy: $order, first: $first, after: $after) {{
        edges {{ node {{ id }} }} {PAGE} }} }}"""
    found: list[UUID] = []
    after, more, waiting = None, True, list(arriving)
    while more:
        answered = await ask(acme, text, id=str(version.id), order=order, first=size, after=after)
        page = answered["evaluationTrials"]
        found += [UUID(node["id"]) for node in nodes(page)]
        after, more = page["pageInfo"]["endCursor"], page["pageInfo"]["hasNextPage"]
        assert len(set(found)) == len(found)
        if more and waiting and (scores := waiting.pop(0)):
            await arrive(scores)
    were_there = {key for _, key in there}
    assert [key for key in found if key in were_there] == [key for _, key in there]


def cursor(*key: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(key).encode()).rstrip(b"=").decode()


SOME = "01890a5d-ac96-774b-bcce-b302099a8057"
ODD_CURSORS = {
    "empty": "",
    "garbage": "garbage",
    "not ASCII": "naïve",
    "a lone surrogate": "\ud800",
    "NUL": "\0",
    "huge": "A" * 1_000_000,
    "JSON null": "bnVsbA",
    "a number beyond all": base64.urlsafe_b64encode(b"1e999").decode(),
    "an object": base64.urlsafe_b64encode(b'{"a":1}').decode(),
    "too short": cursor("trials reward_highest"),
    "another order's": cursor("trials newest", SOME),
    "without its reward": cursor("trials reward_highest", SOME),
    "an id that is none": cursor("trials reward_highest", "nope", 1),
    "an id that is a number": cursor("trials reward_highest", 5, 1),
    "a reward that is text": cursor("trials reward_highest", SOME, "1"),
    "a reward that is true": cursor("trials reward_highest", SOME, True),
    "nested without end": base64.urlsafe_b64encode(b"[" * 100_000).decode(),
}


async def test_odd_cursors_are_refused(acme: Tenant, statements: list[str], subtests: pytest.Subtests) -> None:
    text = "query($a: String) { evaluationTrials(orderBy: REWARD_HIGHEST, after: $a) { edges { cursor } } }"
    statements.clear()
    for why, after in ODD_CURSORS.items():
        with subtests.test(why):
            (error,) = await refusals(acme, text, a=after)
            assert error["message"] == "after is not a cursor of this list and order; take one from its pageInfo."
            assert error["extensions"] == {"code": "INVALID_INPUT", "field": ["after"]}
            assert statements == []


async def test_a_cursor_serves_its_own_list_and_order_only(world: World) -> None:
    cursors: dict[str, str] = {}
    for listed in LISTS:
        answered = await ask(world.tenant, f"{{ list: {with_arguments(listed, 'first: 1')} {{ edges {{ cursor }} }} }}")
        cursors[listed] = answered["list"]["edges"][0]["cursor"]
    for listed in LISTS:
        text = f"query($a: String) {{ {with_arguments(listed, 'after: $a')} {{ edges {{ cursor }} }} }}"
        for source, after in cursors.items():
            # The kinds of rollouts are filters of one list in one order.
            if source == listed or (source.startswith("rollouts") and listed.startswith("rollouts")):
                await ask(world.tenant, text, a=after)
            else:
                (error,) = await refusals(world.tenant, text, a=after)
                assert error["extensions"]["code"] == "INVALID_INPUT"


async def test_odd_positions_of_steps_are_refused(world: World, subtests: pytest.Subtests) -> None:
    text = """query($id: ID!, $a: String) { evaluationTrial(id: $id) { trajectory {
      steps(after: $a) { edges { node { step } } } } } }"""
    trial = str(world.trials[0].row.id)
    for position in (-1, 1.5, True, "1", None, 2**70):
        with subtests.test(repr(position)):
            (error,) = await refusals(world.tenant, text, id=trial, a=cursor("steps", position))
            assert error["extensions"] == {"code": "INVALID_INPUT", "field": ["after"]}
    far = await ask(world.tenant, text, id=trial, a=cursor("steps", 2**60))
    assert far["evaluationTrial"]["trajectory"]["steps"]["edges"] == []


async def test_a_page_has_1_to_500_rows(acme: Tenant, statements: list[str], subtests: pytest.Subtests) -> None:
    statements.clear()
    for listed, first in itertools.product(LISTS, (0, -1, 501, -(2**31), 2**31 - 1)):
        with subtests.test(f"{listed} {first}"):
            text = f"query($n: Int) {{ {with_arguments(listed, 'first: $n')} {{ edges {{ cursor }} }} }}"
            (error,) = await refusals(acme, text, n=first)
            assert error["message"] == f"first is {first}; a page has 1 to 500 rows."
            assert error["extensions"] == {"code": "INVALID_INPUT", "field": ["first"]}
            assert statements == []


async def test_without_a_size_a_page_has_fifty_rows(acme: Tenant) -> None:
    world = await small_world(acme)
    for _ in range(7):
        await add_run(world, world.versions[0], world.configurations[0], [Outcome(None, "queued")] * 8, status="queued")
    text = "query($n: Int) { evaluationTrials(first: $n) { edges { cursor } pageInfo { hasNextPage } } }"
    for answered in (await ask(acme, text), await ask(acme, text, n=None)):
        page = answered["evaluationTrials"]
        assert (len(page["edges"]), page["pageInfo"]["hasNextPage"]) == (50, True)
