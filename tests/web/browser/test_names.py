"""Names that people gave, long and hostile ones, in every heading, choice and table; and numbers that say what is."""

import pytest
from playwright.async_api import expect

from db import environments
from tests.factory import Attempt, create_run, create_version
from tests.web.browser.conftest import House
from tests.web.browser.window import Window

HOSTILE = "<b>shop</b> \u202egnp.exe \u2066" + "w" * 150
SHOWN = "<b>shop</b> U+202Egnp.exe U+2066" + "w" * 150
STAGE = "stage_" + "s" * 120


async def test_hidden_marks_in_a_name_are_shown_wherever_it_stands(window: Window, home: House) -> None:
    async with home.tenant.transaction() as transaction:
        await transaction.fetch(environments.CREATE, "shop", HOSTILE)
        await transaction.fetch(environments.CREATE, "bare", HOSTILE)
    version = await create_version(home.tenant, "shop")
    _, trials = await create_run(home.tenant, version, [Attempt(0.5, stages={STAGE: 0.5}), Attempt(1.0)])
    ids = "&".join(f"id={trial.id}" for trial in trials)
    for path, heading in (
        ("/environments/bare", SHOWN),
        ("/environments/shop", f"{SHOWN}, version 1"),
        (f"/versions/{version.id}/exports", f"Exports of {SHOWN}, version 1"),
        (f"/trials/{trials[0].id}", f"{SHOWN}, attempt 1"),
        (f"/compare?{ids}", f"{SHOWN}, 2 attempts"),
    ):
        await window.open(path, heading)
        await expect(window.page).to_have_title(f"{heading} · AgentForge")
        assert "\u202e" not in await window.page.evaluate("document.body.innerText"), path
    for path in ("/trials", "/capability-gaps", "/partial-rewards"):
        await window.page.goto(window.url + path)
        choice = window.page.get_by_label("Environment version")
        await expect(choice.get_by_role("option")).to_have_text(
            [("any" if path == "/trials" else "All"), f"{SHOWN}, version 1"]
        )


@pytest.mark.parametrize("path", ["/", "/partial-rewards"])
async def test_a_long_name_leaves_the_other_columns_in_sight(window: Window, home: House, path: str) -> None:
    async with home.tenant.transaction() as transaction:
        await transaction.fetch(environments.CREATE, "shop", HOSTILE)
    version = await create_version(home.tenant, "shop")
    await create_run(home.tenant, version, [Attempt(0.5, stages={STAGE: 0.5})])
    for width in (360, 1280):
        await window.page.set_viewport_size({"width": width, "height": 800})
        await window.page.goto(window.url + path)
        table = window.page.locator("div.table")
        await expect(table).to_be_visible()
        hidden = await table.evaluate("table => table.scrollWidth - table.clientWidth")
        assert hidden <= 0, f"{hidden} px of {width}"


async def test_a_number_is_not_rounded_into_something_else(window: Window) -> None:
    await window.page.goto(window.url)
    written = await window.page.evaluate(
        """async () => {
          const { reward, percent, duration } = await import("/static/shared/numbers.js");
          return [
            [1, 0.9999, 0.5, 0.0001, 0, -0.5, null].map(reward),
            [1, 0.9999, 0.5, 0.0001, 0].map(percent),
            [9.97, 59.7, 119.7, 3599.7, 3600].map(duration),
          ];
        }"""
    )
    assert written == [
        ["1", ">0.999", "0.5", "<0.001", "0", "-0.5", "\u2013"],
        ["100%", ">99.9%", "50%", "<0.1%", "0%"],
        ["10 s", "1 min 0 s", "2 min 0 s", "1 h 0 min", "1 h 0 min"],
    ]


async def test_a_run_that_never_began_has_no_duration(window: Window, home: House) -> None:
    version = await create_version(home.tenant, "shop")
    await create_run(home.tenant, version, [Attempt(0.5)])
    await window.open("/environments/shop", "shop, version 1")
    await expect(window.page.locator(".run .status")).to_have_text("completed")
