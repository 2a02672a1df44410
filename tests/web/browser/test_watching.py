"""What could come between a person and a run they watch: a service that is killed, and hands without a mouse."""

from playwright.async_api import expect

from agentforge.auth import COOKIE
from tests.contract.conftest import Practice
from tests.service import Service
from tests.web.browser.conftest import House, Open
from tests.web.browser.second import running_api

ENDED = 60_000


async def test_a_killed_service_is_noticed_and_its_return_too(
    window_of: Open, demo: House, own: Practice, service: Service
) -> None:
    own.configure(2, "sh", "-c", "sleep 4")
    window, reader = await window_of(None), await window_of(None)
    with running_api(service.data_dir) as api:
        for one in (window, reader):
            await one.context.add_cookies([{"name": COOKIE, "value": demo.cookie, "url": api.url}])
            one.url = api.url
        await reader.open("/", "Environments")
        await window.page.goto(f"{api.url}/versions/{own.version}")
        await window.role("button", "Start evaluation").click()
        await window.role("button", "Start", exact=True).click()
        await expect(window.page.locator(".run .status")).to_have_text("0 of 2 attempts ended", timeout=ENDED)
        api.process.kill()
        api.process.wait()
        await expect(window.text("The service cannot be reached.")).to_be_visible()
        await expect(window.page.locator(".run")).to_be_visible()
        await reader.role("link", "AgentForge").click()
        await expect(reader.role("heading", "The service does not answer")).to_be_visible()
        await reader.is_accessible()
    with running_api(service.data_dir, api.port):
        await expect(window.page.locator(".run .status")).to_contain_text("completed after", timeout=ENDED)
        for one in (window, reader):
            await expect(one.text("The service cannot be reached.")).to_have_count(0)
        await expect(reader.page.get_by_role("rowheader").filter(has_text="admin-console")).to_be_visible()
    await expect(window.page.locator(".run .attempt.queued, .run .attempt.running")).to_have_count(0)


async def test_a_run_is_started_and_cancelled_by_keyboard_alone(window_of: Open, demo: House, own: Practice) -> None:
    own.configure(1, "sleep", "60")
    window = await window_of(demo)
    await window.page.goto(f"{window.url}/versions/{own.version}")
    await expect(window.role("heading", "Not run yet")).to_be_visible()
    keyboard = window.page.keyboard

    async def tab_to(name: str) -> None:
        """Fails where no number of Tabs leads to the button, or nothing shows where the focus is."""
        for _ in range(60):
            await keyboard.press("Tab")
            focused = window.page.locator(":focus-visible")
            if await focused.count() and (await focused.inner_text()) == name:
                assert await focused.evaluate("element => getComputedStyle(element).outlineStyle") == "solid"
                return
        raise AssertionError(f"the keyboard does not reach {name}")

    await tab_to("Start evaluation")
    await keyboard.press("Enter")
    await expect(window.page.get_by_role("dialog")).to_be_visible()
    await tab_to("Start")
    await keyboard.press("Enter")
    await expect(window.page.get_by_role("dialog")).to_have_count(0)
    await expect(window.role("button", "Start evaluation")).to_be_focused()
    await tab_to("Cancel")
    await keyboard.press("Enter")
    await tab_to("Cancel the run")
    await keyboard.press("Space")
    await expect(window.page.locator(".run .status")).to_contain_text("cancelled", timeout=ENDED)
