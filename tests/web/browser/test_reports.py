"""Capability gap and partial rewards: real values, their denominators, and nothing where there is nothing."""

from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.async_api import expect

from db import environments
from tests.factory import Attempt, create_run, create_version
from tests.web.browser.conftest import House, Open, house
from tests.web.browser.window import Window

HOSTILE = "<b id=hostile onclick=alert(1)>gap</b>"


@pytest.fixture
async def versions(home: House) -> list[str]:
    """Two versions: of the first five trials have ended and three have a category, of the second one and one."""
    async with home.tenant.transaction() as transaction:
        await transaction.fetch(environments.CREATE, "shop", HOSTILE)
    ids = []
    for task, attempts in (
        (
            "Restock",
            [
                Attempt(0.5, category="checkout_incomplete", stages={"stage_inventory": 1.0, "stage_checkout": 0.25}),
                Attempt(0.25, category="checkout_incomplete", stages={"stage_inventory": 0.5}),
                Attempt(0.0, category="gave_up", stages={"stage_inventory": 0.0}),
                Attempt(1.0),
                Attempt(1.0),
            ],
        ),
        ("Order", [Attempt(0.0, category="checkout_incomplete")]),
    ):
        version = await create_version(home.tenant, "shop", task=task)
        await create_run(home.tenant, version, attempts)
        ids.append(str(version.id))
    return ids


async def test_categories_are_counted_beside_what_they_are_counted_of(window: Window, versions: list[str]) -> None:
    await window.open("/capability-gaps", "Capability gap")
    await expect(window.text("6 trials have ended, 4 of them with a failure category (66.7%).")).to_be_visible()
    first, second = await window.page.locator(".bars > li").all()
    await expect(first).to_contain_text("3 trials")
    await expect(first).to_contain_text("75% of 4 categorized")
    await expect(first).to_contain_text("50% of 6 ended")
    await expect(second).to_contain_text("gave_up")
    widths = await window.page.locator(".bar > span").evaluate_all("bars => bars.map((bar) => bar.clientWidth)")
    assert widths[1] == pytest.approx(widths[0] / 3, abs=1)
    assert sorted(window.operations) == ["CapabilityGaps", "Viewer"]
    await window.is_accessible()


async def test_a_category_leads_to_exactly_its_trials(window: Window, versions: list[str]) -> None:
    await window.open("/capability-gaps", "Capability gap")
    await window.page.get_by_label("Environment version").select_option(label=f"{HOSTILE}, version 1")
    await expect(window.text("5 trials have ended, 3 of them")).to_be_visible()
    assert await window.page.locator("#hostile").count() == 0
    await window.page.get_by_label("Created from").fill("2020-02-01")
    await expect(window.page).to_have_url(f"{window.url}/capability-gaps?environmentVersionId={versions[0]}"
                                          "&createdAfter=2020-02-01T00%3A00%3A00Z")  # fmt: skip
    await expect(window.text("5 trials have ended")).to_be_visible()
    link = await window.page.locator(".bars > li > a").first.get_attribute("href")
    assert link is not None
    assert urlsplit(link).path == "/trials"
    assert parse_qs(urlsplit(link).query) == {
        "failureCategory": ["checkout_incomplete"],
        "environmentVersionId": [versions[0]],
        "createdAfter": ["2020-02-01T00:00:00Z"],
    }
    await window.page.reload()
    await expect(window.text("5 trials have ended")).to_be_visible()
    await window.page.get_by_label("Created before").fill("2020-02-02")
    await expect(window.role("heading", "No failure category")).to_be_visible()
    await window.page.go_back()
    await expect(window.text("5 trials have ended")).to_be_visible()


async def test_stages_have_a_row_each(window: Window, versions: list[str]) -> None:
    await window.open("/partial-rewards", "Partial rewards")
    table = window.role("region", "Partial rewards").get_by_role("row")
    await expect(table).to_have_text(
        [
            "StageTrialsMeanSpreadFull credit",
            "stage_checkout10.250.25 to 0.250 of 1 (0%)",
            "stage_inventory30.50 to 11 of 3 (33.3%)",
        ]
    )
    assert sorted(window.operations) == ["PartialRewards", "Viewer"]
    await window.is_accessible()
    await window.page.goto(f"{window.url}/partial-rewards?environmentVersionId={versions[1]}")
    await expect(window.role("heading", "No stages yet")).to_be_visible()


async def test_where_there_is_nothing_nothing_is_drawn(window: Window, home: House) -> None:
    await window.open("/capability-gaps", "Capability gap")
    await expect(window.text("0 trials have ended, and none of them has a failure category.")).to_be_visible()
    await expect(window.page.locator(".bars, table")).to_have_count(0)
    await window.is_accessible()
    await window.role("link", "Partial rewards").click()
    await expect(window.role("heading", "No stages yet")).to_be_visible()
    await expect(window.page.locator("table")).to_have_count(0)
    await window.is_accessible()


async def test_another_organization_has_no_part_in_it(window_of: Open, home: House, versions: list[str]) -> None:
    window = await window_of(await house(home.tenant.pool))
    for path in ("/capability-gaps", "/partial-rewards"):
        await window.page.goto(f"{window.url}{path}?environmentVersionId={versions[0]}")
        await expect(window.page.locator(".empty")).to_be_visible()


async def test_a_scope_that_is_none_is_refused_in_words(window: Window) -> None:
    await window.page.goto(f"{window.url}/capability-gaps?createdAfter=yesterday")
    await expect(window.role("heading", "The service refused this")).to_be_visible()
    await expect(window.page.get_by_role("alert")).to_contain_text('cannot represent a DateTime: "yesterday"')
    await window.is_accessible()
