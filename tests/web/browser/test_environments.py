"""The list of environments: what is there, what to do when nothing is, and what is not anybody else's."""

from playwright.async_api import expect

from db import environments
from tests.factory import Attempt, create_run, create_version
from tests.web.browser.conftest import House, Open, house
from tests.web.browser.window import Window

HOSTILE = "<img src=x onerror=alert(1)><script>alert(2)</script>\u202egnp.exe " + "w" * 100


async def test_a_newcomer_is_told_the_next_command(window: Window) -> None:
    await window.open("/", "Environments")
    await expect(window.role("heading", "No environment yet")).to_be_visible()
    await expect(window.text("agentforge environment publish DIR")).to_be_visible()
    await window.is_accessible()


async def test_each_environment_has_its_latest_version_and_last_result(window: Window, home: House) -> None:
    await create_version(home.tenant, "till")
    version = await create_version(home.tenant, "shop")
    latest = await create_version(home.tenant, "shop", task="Restock SKU-8")
    await create_run(home.tenant, version, [Attempt(1.0)])
    attempts = [Attempt(1.0), Attempt(0.45), Attempt(0.0), Attempt(status="errored", category="agent_crashed")]
    await create_run(home.tenant, latest, attempts)
    await window.open("/", "Environments")
    shop = window.page.get_by_role("row").filter(has_text="shop")
    await expect(shop.get_by_role("cell").nth(0)).to_contain_text("2")
    await expect(shop.get_by_role("cell").nth(1)).to_have_text("1")
    told = ("1: passed, reward 1", "2: partial, reward 0.45", "3: failed, reward 0", "4: unscored, errored")
    for words in told:
        await expect(shop.get_by_role("link", name=f"Attempt {words}", exact=True)).to_be_visible()
    await expect(window.page.get_by_role("row").filter(has_text="till")).to_contain_text("not run yet")
    assert sorted(window.operations) == ["Environments", "Viewer"]
    await window.is_accessible()


async def test_names_are_only_ever_text(window: Window, home: House) -> None:
    async with home.tenant.transaction() as transaction:
        await transaction.fetch(environments.CREATE, "hostile", HOSTILE)
    await window.open("/", "Environments")
    name = window.page.get_by_role("rowheader")
    await expect(name).to_contain_text("<img src=x onerror=alert(1)><script>alert(2)</script>U+202Egnp.exe")
    assert await window.page.locator("main img, main script").count() == 0
    await window.is_accessible()


async def test_another_organization_sees_nothing_of_it(window_of: Open, home: House) -> None:
    await create_version(home.tenant, "shop")
    window = await window_of(await house(home.tenant.pool))
    await window.open("/environments", "Environments")
    await expect(window.role("heading", "No environment yet")).to_be_visible()


async def test_more_environments_than_a_page_holds_are_asked_for(window: Window, home: House) -> None:
    async with home.tenant.transaction() as transaction:
        for number in range(501):
            await transaction.fetch(environments.CREATE, f"shop-{number}", f"Shop {number}")
    await window.open("/", "Environments")
    await expect(window.text("501 in this organization, the newest first.")).to_be_visible()
    rows = window.page.get_by_role("rowheader")
    for shown in range(50, 500, 50):
        await expect(rows).to_have_count(shown)
        await window.role("button", "Show more").click()
    await expect(rows).to_have_count(500)
    await expect(window.text("The newest 500 are shown.")).to_be_visible()
