"""What slow answers, answers in another order, other tabs and a service that fails must not do to a page."""

import asyncio
from collections.abc import Callable

import pytest
from playwright.async_api import Route, expect

from resolvers import members
from tests.contract.conftest import Practice
from tests.factory import Attempt, create_run, create_version
from tests.web.browser.conftest import House, Open
from tests.web.browser.window import Window

PASSWORD = "correct horse battery"
ENDED = 60_000


def of(operation: str) -> Callable[[Route], bool]:
    return lambda route: f" {operation}(" in (sent := route.request.post_data or "") or f" {operation} {{" in sent


async def hold(window: Window, operation: str) -> tuple[asyncio.Event, asyncio.Event]:
    """The first event tells that the service has answered this operation; the page hears of it after the second."""
    answered, let_go = asyncio.Event(), asyncio.Event()

    async def held(route: Route) -> None:
        if of(operation)(route):
            answer = await route.fetch()
            answered.set()
            await let_go.wait()
            await route.fulfill(response=answer)
        else:
            await route.continue_()

    await window.page.route("**/graphql", held)
    return answered, let_go


async def fail(window: Window, operation: str, status: int) -> list[int]:
    """Answers this operation as a proxy with trouble does; gives how often it was asked."""
    asked: list[int] = []

    async def failed(route: Route) -> None:
        if of(operation)(route):
            asked.append(status)
            await route.fulfill(status=status, body="Internal Server Error", content_type="text/plain")
        else:
            await route.continue_()

    await window.page.route("**/graphql", failed)
    return asked


def forgive(window: Window, words: str) -> None:
    """What the console says of an answer that this test wanted to be bad."""
    window.problems[:] = [problem for problem in window.problems if words not in problem]


async def test_a_run_started_while_an_older_answer_is_under_way_stays(
    window_of: Open, demo: House, own: Practice
) -> None:
    own.configure(1, "sleep", "4")
    window = await window_of(demo)
    await window.page.goto(f"{window.url}/versions/{own.version}")
    await window.role("button", "Start evaluation").click()
    answered, let_go = await hold(window, "VersionById")
    await window.role("button", "Start", exact=True).click()
    await expect(window.page.locator(".run .status")).to_contain_text("completed after", timeout=ENDED)
    await asyncio.wait_for(answered.wait(), ENDED / 1000)
    await window.role("button", "Reset: new workspace").click()
    newest = window.page.locator(".run").first
    await expect(newest.get_by_role("heading")).to_have_text("Reset: new workspace")
    let_go.set()
    await expect(window.role("heading", "How often agents pass", exact=False)).to_be_visible()
    assert await newest.get_by_role("heading").inner_text() == "Reset: new workspace"
    await expect(newest.locator(".status")).to_contain_text("completed after", timeout=ENDED)


async def test_what_is_being_typed_outlives_an_answer(window: Window, home: House) -> None:
    await create_run(home.tenant, await create_version(home.tenant, "shop"), [Attempt(1.0)])
    _, let_go = await hold(window, "Trials")
    await window.page.goto(f"{window.url}/trials")
    field = window.page.get_by_label("Words in log and steps")
    await field.press_sequentially("marma")
    let_go.set()
    await expect(window.page.get_by_label("Environment version").get_by_role("option")).to_have_count(2)
    await expect(field).to_have_value("marma")
    assert sorted(window.operations) == ["Trials", "Viewer"]
    await field.press("Enter")
    await expect(window.role("heading", "No trial matches")).to_be_visible()
    await expect(field).to_be_focused()
    await window.page.go_back()
    await expect(field).to_have_value("")


async def test_an_answer_that_is_no_graph_is_asked_for_again_by_hand(window: Window) -> None:
    asked = await fail(window, "Environments", 500)
    await window.page.goto(window.url)
    await expect(window.page.get_by_role("alert")).to_contain_text("The service answered 500.")
    await expect(window.text("The service cannot be reached.")).to_have_count(0)
    async with window.page.expect_response("**/graphql"):
        await window.role("button", "Try again").click()
    await expect(window.page.get_by_role("alert")).to_contain_text("The service answered 500.")
    assert len(asked) == 2
    await window.page.unroute_all()
    await window.role("button", "Try again").click()
    await expect(window.role("heading", "No environment yet")).to_be_visible()
    forgive(window, "status of 500")


async def test_settings_say_why_they_do_not_know_who_is_signed_in(window: Window) -> None:
    await fail(window, "Viewer", 429)
    await window.page.goto(f"{window.url}/settings")
    await expect(window.page.get_by_role("main").get_by_role("alert")).to_contain_text("The service answered 429.")
    await window.is_accessible()
    await window.page.unroute_all()
    await window.page.get_by_role("main").get_by_role("button", name="Try again").click()
    await expect(window.role("heading", "Members")).to_be_visible()
    await expect(window.role("button", "Sign out")).to_be_attached()
    forgive(window, "status of 429")


async def test_nobody_is_told_to_be_signed_out_who_is_not(window: Window) -> None:
    await window.open("/", "Environments")
    await window.context.set_offline(True)
    await window.role("button", "Sign out").click()
    await expect(window.page.get_by_role("alert").filter(has_text="You are still signed in")).to_be_visible()
    await window.context.set_offline(False)
    await window.role("button", "Sign out").click()
    await window.shows("Sign in to AgentForge")


@pytest.mark.parametrize("other", [True, False])
async def test_another_tab_signs_out_or_in_as_somebody_else(window: Window, home: House, other: bool) -> None:
    await members.add_member(home.tenant, f"bo@{home.slug}.example", "viewer", PASSWORD)
    await window.open("/settings", "Settings")
    await expect(window.role("heading", "Members")).to_be_visible()
    tab = Window(await window.context.new_page(), window.context, window.url)
    await tab.open("/", "Environments")
    await tab.role("button", "Sign out").click()
    await tab.shows("Sign in to AgentForge")
    await window.shows("Sign in to AgentForge")
    assert window.page.url.endswith("/sign-in?from=%2Fsettings")
    if other:
        await tab.page.get_by_label("Email").fill(f"bo@{home.slug}.example")
        await tab.page.get_by_label("Password").fill(PASSWORD)
        await tab.page.get_by_label("Password").press("Enter")
        await tab.shows("Environments")
        await window.shows("Settings")
        await expect(window.text("Only owners see and make tokens.")).to_be_visible()
    assert tab.problems == []


async def test_counts_of_exports_come_when_the_service_is_back(window: Window, home: House) -> None:
    await create_run(home.tenant, await create_version(home.tenant, "shop"), [Attempt(1.0)])

    async def reset(route: Route) -> None:
        await (route.abort("connectionreset") if route.request.method == "HEAD" else route.continue_())

    await window.page.route("**/api/v1/rollouts*", reset)
    await window.page.goto(f"{window.url}/exports")
    first = window.role("article", "all").get_by_role("status").first
    await expect(first).to_have_text("not known: the service cannot be reached")
    await window.page.unroute_all()
    await expect(first).to_have_text("1 line")
