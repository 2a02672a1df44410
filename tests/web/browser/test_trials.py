"""The explorer of trials: every filter of the graph in an address, true counts, pages, order and columns."""

from urllib.parse import parse_qs, urlsplit

import pytest
from graphql import GraphQLInputObjectType, build_schema
from playwright.async_api import Locator, expect

from agentforge.workspace import WEB
from db import environments
from tests.contract.documents import UNKNOWN_ID
from tests.factory import Attempt, create_run, create_version, step
from tests.service import PROJECT
from tests.web.browser.conftest import House, house
from tests.web.browser.window import Window

HOSTILE = "<img src=x onerror=alert(1)><script>alert(2)</script>\u202egnp.exe " + "w" * 100
STAGES = {"stage_inventory": 1.0, "stage_checkout": 0.25}


@pytest.fixture
async def versions(home: House) -> list[str]:
    """Two versions, of four attempts and of one, in an environment with a hostile name."""
    async with home.tenant.transaction() as transaction:
        await transaction.fetch(environments.CREATE, "shop", HOSTILE)
    first = await create_version(home.tenant, "shop")
    attempts = [
        Attempt(1.0, stages=STAGES, steps=[step(1, "shell", "ls", "marmalade")]),
        Attempt(0.45, category="checkout_incomplete", stages={"stage_inventory": 0.5}),
        Attempt(0.0, category="gave_up", log=HOSTILE),
        Attempt(status="timed_out", category="agent_timeout"),
    ]
    await create_run(home.tenant, first, attempts)
    second = await create_version(home.tenant, "shop", task="Order")
    await create_run(home.tenant, second, [Attempt(0.0, category="checkout_incomplete")])
    return [str(first.id), str(second.id)]


def rows(window: Window) -> Locator:
    return window.page.locator("tbody tr")


def asked(window: Window) -> dict[str, list[str]]:
    return parse_qs(urlsplit(window.page.url).query)


async def counts(window: Window, number: int) -> None:
    if number == 0:
        await expect(window.role("heading", "No trial matches")).to_be_visible()
    else:
        noun = "trial" if number == 1 else "trials"
        await expect(window.text(f"1 to {number} of {number} {noun}")).to_be_visible()
        await expect(rows(window)).to_have_count(number)


def test_every_filter_of_the_graph_is_one_of_the_page() -> None:
    schema = build_schema((PROJECT / "schema" / "schema.graphql").read_text("utf-8"))
    given = schema.type_map["EvaluationTrialFilter"]
    assert isinstance(given, GraphQLInputObjectType)
    text = (WEB / "shared" / "trial-filter.js").read_text("utf-8")
    assert [name for name in given.fields if f'name="{name}"' not in text] == []


async def test_filters_narrow_and_stand_in_the_address(window: Window, versions: list[str]) -> None:
    page = window.page
    await window.open("/trials", "Trials")
    await counts(window, 5)
    await page.get_by_label("Environment version").select_option(versions[0])
    await counts(window, 4)
    await page.get_by_role("checkbox", name="completed").check()
    await counts(window, 3)
    await page.get_by_role("checkbox", name="timed out").check()
    await page.get_by_role("checkbox", name="gave_up").check()
    await page.get_by_role("checkbox", name="agent_timeout").check()
    await counts(window, 2)
    await page.get_by_label("Scored").select_option("unscored")
    await counts(window, 1)
    assert asked(window) == {
        "environmentVersionId": [versions[0]],
        "status": ["COMPLETED", "TIMED_OUT"],
        "failureCategory": ["gave_up", "agent_timeout"],
        "scored": ["false"],
    }
    await page.reload()
    await counts(window, 1)
    await expect(page.get_by_role("checkbox", name="gave_up")).to_be_checked()
    await page.go_back()
    await counts(window, 2)
    await window.role("button", "Clear all 3 filters").click()
    await counts(window, 5)
    await expect(rows(window).first).to_contain_text(HOSTILE.replace("\u202e", "U+202E"))
    assert await page.locator("main img, main script").count() == 0
    await window.is_accessible()


async def test_rewards_stages_words_and_times_narrow_too(window: Window, versions: list[str]) -> None:
    page = window.page
    await window.open("/trials", "Trials")
    await page.get_by_label("Reward at least").fill("0.45")
    await page.get_by_label("Reward at least").press("Enter")
    await counts(window, 2)
    await page.get_by_label("Reward below").fill("1")
    await page.get_by_label("Reward below").press("Enter")
    await counts(window, 1)
    await window.role("button", "Clear all 2 filters").click()
    await page.get_by_label("With stage").select_option("stage_inventory")
    await counts(window, 2)
    await page.get_by_label("Stage below").fill("0.75")
    await page.get_by_label("Stage below").press("Enter")
    await counts(window, 1)
    await window.role("button", "Clear all 2 filters").click()
    await page.get_by_label("Words in log and steps").fill("marmalade")
    await page.get_by_label("Words in log and steps").press("Enter")
    await counts(window, 1)
    await window.role("button", "Clear the filter").click()
    await page.get_by_label("Created before").fill("2020-02-01T10:30")
    await page.get_by_label("Created before").press("Tab")
    await counts(window, 0)
    assert asked(window) == {"createdBefore": ["2020-02-01T10:30:00Z"]}
    await window.is_accessible()


async def test_order_columns_and_a_comparison_are_chosen(window: Window, versions: list[str]) -> None:
    page = window.page
    await window.open(f"/trials?environmentVersionId={versions[0]}", "Trials")
    await window.role("button", "Reward").click()
    await expect(rows(window).first).to_contain_text("passed")
    await expect(page.locator("th[aria-sort=descending]")).to_have_text("Reward")
    await window.role("button", "Reward").click()
    await expect(rows(window).first).to_contain_text("failed")
    await window.page.locator("summary", has_text="Columns").click()
    await page.get_by_role("checkbox", name="Seed").check()
    await page.get_by_role("checkbox", name="Duration").uncheck()
    await expect(page.get_by_role("columnheader", name="Seed")).to_be_visible()
    await expect(page.get_by_role("columnheader", name="Duration")).to_have_count(0)
    assert asked(window)["orderBy"] == ["REWARD_LOWEST"]
    assert asked(window)["column"] == ["outcome", "reward", "category", "stages", "started", "seed"]
    await page.get_by_role("checkbox", name="Compare shop, attempt 2").check()
    await page.get_by_role("checkbox", name="Compare shop, attempt 1").check()
    await expect(window.role("link", "Compare 2 trials")).to_be_visible()
    await window.is_accessible()


async def test_pages_follow_each_other_under_a_true_count(window: Window, home: House) -> None:
    version = await create_version(home.tenant, "shop")
    for seed in range(15):
        await create_run(home.tenant, version, [Attempt(0.5)] * 8, seed=seed)
    page = window.page
    await window.open("/trials?column=seed", "Trials")
    await expect(window.text("1 to 50 of 120 trials").first).to_be_visible()
    seen = await rows(window).evaluate_all("rows => rows.map((row) => row.innerText)")
    for words in ("51 to 100 of 120 trials", "101 to 120 of 120 trials"):
        await window.role("button", "Next").first.click()
        await expect(window.text(words).first).to_be_visible()
        seen += await rows(window).evaluate_all("rows => rows.map((row) => row.innerText)")
    assert len(seen) == len(set(seen)) == 120
    await window.role("button", "Previous").first.click()
    await expect(window.text("51 to 100 of 120 trials").first).to_be_visible()
    await page.reload()
    await expect(window.text("51 to 100 of 120 trials").first).to_be_visible()
    await window.role("button", "First").first.click()
    await expect(window.text("1 to 50 of 120 trials").first).to_be_visible()
    assert set(window.operations) == {"Trials", "Viewer"}


async def test_a_newcomer_is_told_how_trials_come(window: Window) -> None:
    await window.open("/trials", "Trials")
    await expect(window.role("heading", "No trials yet")).to_be_visible()
    await expect(window.text("agentforge evaluate SLUG")).to_be_visible()
    await window.is_accessible()


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("rewardAtLeast=half", "rewardAtLeast is no number: half"),
        ("createdAfter=then", "createdAfter is no moment such as"),
        ("scored=maybe", "scored is neither true nor false"),
        ("status=FINE", "FINE"),
        ("after=nowhere", "after is not a cursor of this list"),
    ],
)
async def test_an_address_that_asks_for_what_cannot_be_says_so(window: Window, query: str, words: str) -> None:
    await window.open(f"/trials?{query}", "Trials")
    await expect(window.page.get_by_role("alert")).to_contain_text(words)
    await window.is_accessible()


async def test_trials_of_others_are_not_found(window: Window, home: House) -> None:
    stranger = await house(home.tenant.pool)
    version = await create_version(stranger.tenant, "theirs")
    run, _ = await create_run(stranger.tenant, version, [Attempt(1.0)])
    for query in (f"environmentVersionId={version.id}", f"evaluationRunId={run.id}", f"evaluationRunId={UNKNOWN_ID}"):
        await window.open(f"/trials?{query}", "Trials")
        await counts(window, 0)
    await window.open("/trials", "Trials")
    await expect(window.role("heading", "No trials yet")).to_be_visible()
