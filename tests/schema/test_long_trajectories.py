"""Trajectories of many steps: pages across the borders of their parts, and only the parts that a page takes."""

from typing import Any

import pytest

from db.tenant import Tenant
from tests.factory import Attempt, create_run, create_version, step
from tests.schema.asking import ask, nodes

COUNT = 250
PAGE = "totalCount edges { cursor node { step command observation } } pageInfo { hasNextPage endCursor }"
STEPS = f"""query($id: ID!, $first: Int, $after: String) {{
  evaluationTrial(id: $id) {{ trajectory {{ steps(first: $first, after: $after) {{ {PAGE} }} }} }} }}"""


@pytest.fixture
async def trials(acme: Tenant) -> list[str]:
    """One with many steps, one with few, and one with none."""
    steps = [step(number, command=f"c{number}", observation="\0 \ud800 \\u0000") for number in range(1, COUNT + 1)]
    attempts = [Attempt(1.0, steps=steps), Attempt(0.5, steps=steps[:3]), Attempt(0.0)]
    _, created = await create_run(acme, await create_version(acme), attempts)
    return [str(trial.id) for trial in created]


async def page_of(tenant: Tenant, trial: str, first: int | None, after: str | None = None) -> Any:
    answered = await ask(tenant, STEPS, id=trial, first=first, after=after)
    return answered["evaluationTrial"]["trajectory"]["steps"]


@pytest.mark.parametrize("size", [1, 37, 99, 100, 101, COUNT - 1, COUNT, 500])
async def test_pages_put_together_are_the_trajectory(acme: Tenant, trials: list[str], size: int) -> None:
    found, after, more = [], None, True
    while more:
        page = await page_of(acme, trials[0], size, after)
        found += nodes(page)
        after, more = page["pageInfo"]["endCursor"], page["pageInfo"]["hasNextPage"]
        assert page["totalCount"] == COUNT
    assert [node["command"] for node in found] == [f"c{number}" for number in range(1, COUNT + 1)]
    assert {node["observation"] for node in found} == {"\0 \ud800 \\u0000"}
    past = await page_of(acme, trials[0], size, after)
    assert (past["edges"], past["pageInfo"]["hasNextPage"], past["totalCount"]) == ([], False, COUNT)


async def test_a_page_is_one_statement_for_all_trajectories(
    acme: Tenant, trials: list[str], statements: list[str]
) -> None:
    after = (await page_of(acme, trials[0], 2))["pageInfo"]["endCursor"]
    statements.clear()
    text = f"""query($after: String) {{ evaluationTrials(orderBy: OLDEST) {{ edges {{ node {{
      trajectory {{ steps(first: 120, after: $after) {{ {PAGE} }} }} }} }} }} }}"""
    answered = nodes((await ask(acme, text, after=after))["evaluationTrials"])
    assert [len(node["trajectory"]["steps"]["edges"]) for node in answered] == [120, 1, 0]
    assert [name for name in statements if name == "artifacts.steps"] == ["artifacts.steps"]


async def test_behind_its_end_a_trajectory_is_not_read(acme: Tenant, trials: list[str], statements: list[str]) -> None:
    after = (await page_of(acme, trials[0], 500))["pageInfo"]["endCursor"]
    for trial in trials:
        statements.clear()
        assert nodes(await page_of(acme, trial, 10, after)) == []
        assert "artifacts.steps" not in statements


async def test_another_organization_reads_no_step(acme: Tenant, rival: Tenant, trials: list[str]) -> None:
    after = (await page_of(acme, trials[0], 2))["pageInfo"]["endCursor"]
    assert await ask(rival, STEPS, id=trials[0], after=after) == {"evaluationTrial": None}
