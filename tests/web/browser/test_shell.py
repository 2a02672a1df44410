"""What all pages share: signing in and out, links and history, a service that is away, the keyboard."""

import re

from playwright.async_api import Route, expect

from resolvers import members
from tests.service import Service
from tests.web.browser.conftest import House, Open
from tests.web.browser.window import Window

PASSWORD = "correct horse battery"


async def test_whoever_is_not_signed_in_comes_back_to_where_they_were(
    window_of: Open, home: House, service: Service
) -> None:
    email = f"ada@{home.slug}.example"
    await members.add_member(home.tenant, email, "member", PASSWORD)
    window = await window_of(None)
    await window.page.goto(f"{service.url}/environments?shared=1")
    await window.shows("Sign in to AgentForge")
    await window.is_accessible()
    await window.page.get_by_label("Email").fill(email)
    await window.page.get_by_label("Password").fill("wrong")
    await window.role("button", "Sign in").click()
    await expect(window.text("The address, the password or the organization is not right.")).to_be_visible()
    await window.page.get_by_label("Password").fill(PASSWORD)
    await window.page.get_by_label("Password").press("Enter")
    await window.shows("Environments")
    assert window.page.url == f"{service.url}/environments?shared=1"
    await window.role("button", "Sign out").click()
    await window.shows("Sign in to AgentForge")
    await window.page.goto(f"{service.url}/")
    await window.shows("Sign in to AgentForge")


async def test_a_session_that_ends_asks_for_a_new_one(window: Window, home: House) -> None:
    await window.open("/", "Environments")
    await window.context.clear_cookies()
    await window.page.reload()
    await window.shows("Sign in to AgentForge")
    assert window.page.url.endswith("/sign-in?from=%2F")


async def test_a_used_link_says_so(window_of: Open, service: Service) -> None:
    window = await window_of(None)
    answer = await window.page.goto(f"{service.url}/sign-in?link=used")
    assert answer is not None
    assert answer.status == 410
    await expect(window.text("This sign-in link was used, has expired or is not complete.")).to_be_visible()
    await window.is_accessible()


async def test_no_address_outside_is_returned_to(window: Window) -> None:
    await window.open("/", "Environments")
    returned = await window.page.evaluate(
        "async (addresses) => addresses.map((await import('/static/shared/address.js')).ownPath)",
        [
            "https://elsewhere.example/",
            "//elsewhere.example/",
            "/\\elsewhere.example",
            "javascript:alert(1)",
            None,
            "/.//elsewhere.example",
        ],
    )
    assert returned == ["/"] * 5 + ["/elsewhere.example"]


async def test_an_unknown_page_says_so(window: Window) -> None:
    await window.open("/", "Environments")
    await window.page.evaluate("history.pushState(null, '', '/nowhere'); dispatchEvent(new PopStateEvent('popstate'))")
    await window.shows("No such page")
    await window.role("link", "Go to the environments").click()
    await window.shows("Environments")


async def test_the_keyboard_reaches_the_content_first(window: Window) -> None:
    await window.open("/", "Environments")
    await window.page.keyboard.press("Tab")
    await expect(window.role("link", "Skip to the content")).to_be_focused()
    await window.page.keyboard.press("Enter")
    await expect(window.page).to_have_url(re.compile("#content$"))


async def test_a_small_window_has_a_menu(window: Window) -> None:
    await window.page.set_viewport_size({"width": 360, "height": 700})
    await window.open("/", "Environments")
    link = window.page.get_by_role("navigation", name="Pages").get_by_role("link", name="Environments")
    await expect(link).to_be_hidden()
    await window.role("button", "Menu").click()
    await expect(link).to_be_visible()
    await window.is_accessible()


async def test_a_page_whose_module_cannot_be_loaded_says_so(window: Window) -> None:
    await window.open("/", "Environments")
    await window.context.route("**/pages/settings.js", lambda route: route.abort("connectionreset"))
    await window.role("link", "Settings").click()
    await expect(window.role("heading", "Something went wrong")).to_be_visible()
    await window.context.unroute_all()
    await window.role("button", "Try again").click()
    await window.shows("Settings")


async def test_an_answer_that_a_page_did_not_expect_leaves_no_blank_window(window: Window) -> None:
    async def spoil(route: Route) -> None:
        if "query Environments" in (route.request.post_data or ""):
            await route.fulfill(json={"data": {"environments": {}}})
        else:
            await route.continue_()

    await window.page.route("**/graphql", spoil)
    await window.page.goto(window.url)
    await expect(window.role("heading", "Something went wrong")).to_be_visible()
    await expect(window.role("button", "Try again")).to_be_visible()
