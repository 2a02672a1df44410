"""A version's page: what it is, its runs, and a real worker watched from start to end."""

import json

from playwright.async_api import expect

from db import environments, runs
from tests.contract.conftest import Practice
from tests.contract.documents import START, UNKNOWN_ID, made
from tests.factory import Attempt, create_run, create_version
from tests.web.browser.conftest import House, Open, house, person
from tests.web.browser.window import Window

HOSTILE = "<img src=x onerror=alert(1)></pre><script>alert(2)</script>\u202egnp.exe"
ENDED = 60_000

#: Notes each state that the first run's line of progress has had.
WATCH = """() => {
  window.seen = [];
  const note = () => {
    const text = document.querySelector(".run .status")?.textContent;
    if (text && text !== window.seen.at(-1)) window.seen.push(text);
  };
  new MutationObserver(note).observe(document.body, { subtree: true, childList: true, characterData: true });
}"""


async def test_runs_are_started_reset_and_watched_to_their_end(window_of: Open, demo: House, own: Practice) -> None:
    own.configure(2, "sh", "-c", "sleep 1.$(({attempt} * 4))")
    window = await window_of(demo)
    await window.page.goto(f"{window.url}/versions/{own.version}")
    await expect(window.role("heading", "Not run yet")).to_be_visible()
    await window.is_accessible()
    await window.page.evaluate(WATCH)

    await window.role("button", "Reset: new workspace").click()
    await expect(window.page.get_by_role("alert").filter(has_text="configuration")).to_be_visible()

    await window.role("button", "Start evaluation").click()
    await window.page.get_by_label("Evaluator configuration").select_option(index=0)
    await window.page.get_by_label("Seed of the world").fill("7")
    await window.role("button", "Start", exact=True).click()
    await expect(window.text("Evaluation queued with 2 attempts, seed 7.")).to_be_visible()
    await expect(window.page.locator(".run .status")).to_contain_text("completed after", timeout=ENDED)
    await expect(window.page.locator(".run .attempt.unscored, .run .attempt.failed")).to_have_count(2)
    seen = await window.page.evaluate("window.seen")
    assert "1 of 2 attempts ended" in seen, seen

    for number, (reset, seed) in enumerate((("Reset: new workspace", "seed 7"), ("Reset: new world", "seed")), start=2):
        await window.page.evaluate("window.seen = []")
        await window.role("button", reset).click()
        await expect(window.text(f"{reset} queued with 2 attempts, {seed}")).to_be_visible()
        newest = window.page.locator(".run").first
        await expect(newest.get_by_role("heading")).to_have_text(reset)
        await expect(newest.locator(".status")).to_contain_text("completed after", timeout=ENDED)
        await expect(newest.locator(".attempt.unscored, .attempt.failed")).to_have_count(2)
        await expect(window.page.locator(".run")).to_have_count(number)
        seen = await window.page.evaluate("window.seen")
        assert "1 of 2 attempts ended" in seen, seen
    await expect(window.role("heading", "How often agents pass", exact=False)).to_be_visible()
    assert await window.page.evaluate("performance.getEntriesByType('navigation').length") == 1


async def test_a_run_that_somebody_else_starts_shows_up(window_of: Open, demo: House, own: Practice) -> None:
    window = await window_of(demo)
    await window.page.goto(f"{window.url}/versions/{own.version}")
    await expect(window.role("heading", "Not run yet")).to_be_visible()
    configuration = own.configure(1, "true")
    made(own.client, START, version=own.version, configuration=configuration)
    await expect(window.page.locator(".run .status")).to_contain_text("completed after", timeout=ENDED)
    assert await window.page.evaluate("performance.getEntriesByType('navigation').length") == 1


async def test_a_run_is_cancelled(window_of: Open, demo: House, own: Practice) -> None:
    own.configure(1, "sleep", "60")
    window = await window_of(demo)
    await window.page.goto(f"{window.url}/versions/{own.version}")
    await window.role("button", "Start evaluation").click()
    await window.role("button", "Start", exact=True).click()
    await window.role("button", "Cancel", exact=True).click()
    await window.is_accessible()
    await window.page.keyboard.press("Escape")
    await expect(window.role("button", "Cancel", exact=True)).to_be_focused()
    await window.page.keyboard.press("Enter")
    await window.role("button", "Cancel the run").click()
    await expect(window.page.locator(".run .status")).to_contain_text("cancelled", timeout=ENDED)
    await expect(window.role("button", "Cancel", exact=True)).to_have_count(0)


async def test_a_version_shows_its_runs_and_estimates(window: Window, home: House) -> None:
    first = await create_version(home.tenant, "shop")
    version = await create_version(home.tenant, "shop", task=HOSTILE)
    attempts = [Attempt(1.0), Attempt(0.5), Attempt(0.0), Attempt(status="timed_out", category="agent_timeout")]
    await create_run(home.tenant, version, attempts)
    await window.open("/environments/shop", "shop, version 2")
    await expect(window.page.get_by_role("region", name="Task")).to_have_text(HOSTILE.replace("\u202e", "U+202E"))
    assert await window.page.locator("main img, main script").count() == 0
    await expect(window.page.locator(".run")).to_contain_text("1 passed 1 partial 1 failed 1 unscored")
    await expect(window.role("link", "Attempt 4: unscored, timed out")).to_be_visible()
    await expect(window.role("region", "pass@k and pass^k").get_by_role("cell").first).to_have_text("0.25")
    await window.context.grant_permissions(["clipboard-read", "clipboard-write"])
    await window.page.get_by_text(version.digest[:12]).locator("..").get_by_role("button").click()
    await expect(window.text("Copied")).to_be_visible()
    assert await window.page.evaluate("navigator.clipboard.readText()") == version.digest
    assert sorted(window.operations) == ["LatestVersion", "Viewer"]
    await window.is_accessible()
    await window.role("link", "1", exact=True).click()
    await window.shows("shop, version 1")
    await expect(window.page.get_by_role("heading", level=1)).to_be_focused()
    await expect(window.page).to_have_title("shop, version 1 · AgentForge")
    assert window.page.url.endswith(f"/versions/{first.id}")
    await window.page.go_back()
    await window.shows("shop, version 2")


async def test_an_environment_without_a_version_says_how_to_publish_one(window: Window, home: House) -> None:
    async with home.tenant.transaction() as transaction:
        await transaction.fetch(environments.CREATE, "bare", "Bare")
    await window.open("/environments/bare", "Bare")
    await expect(window.text("agentforge environment publish DIR --slug bare")).to_be_visible()
    await window.is_accessible()


async def test_what_is_elsewhere_or_nowhere_is_not_found(window: Window, home: House) -> None:
    stranger = await house(home.tenant.pool)
    version = await create_version(stranger.tenant, "theirs")
    for path in (f"/versions/{version.id}", f"/versions/{UNKNOWN_ID}", "/versions/none", "/environments/theirs"):
        await window.page.goto(window.url + path)
        await expect(window.role("heading", "Not found")).to_be_visible()
    await window.is_accessible()


async def test_a_viewer_may_look_and_not_start(window_of: Open, home: House) -> None:
    await create_version(home.tenant, "shop")
    window = await window_of(await person(home.tenant, home.slug, f"v@{home.slug}.example", "viewer"))
    await window.open("/environments/shop", "shop, version 1")
    await expect(window.text("Your role may look, and not start runs.")).to_be_visible()
    await expect(window.role("button", "Start evaluation")).to_have_count(0)


async def test_five_hundred_trials_are_shown(window: Window, home: House) -> None:
    version = await create_version(home.tenant, "shop")
    for _ in range(63):
        await create_run(home.tenant, version, [Attempt(0.5)] * 8)
    await window.open("/environments/shop", "shop, version 1")
    for shown in (50, 63):
        await window.role("button", "Show older runs").click()
        await expect(window.page.locator(".run")).to_have_count(shown)
    assert await window.page.locator(".attempt").count() == 504
    assert window.operations.count("LatestVersion") == 3


async def test_curves_come_when_their_library_can_be_had(window: Window, home: House) -> None:
    version = await create_version(home.tenant, "shop")
    run, _ = await create_run(home.tenant, version, [Attempt(1.0)] * 2, status="running")
    estimates = [{"k": k, "estimate": 1, "passHatK": 1} for k in (1, 2)]
    async with home.tenant.transaction() as transaction:
        assert await transaction.fetch_one(runs.FINISH, run.id, "completed", json.dumps(estimates), 0, None)
    await window.page.route("**/uplot.js*", lambda route: route.abort("connectionreset"))
    async with window.page.expect_event("requestfailed"):
        await window.open("/environments/shop", "shop, version 1")
    await expect(window.role("region", "pass@k and pass^k").get_by_role("cell").first).to_have_text("1")
    await window.page.unroute_all()
    await expect(window.page.locator(".curve canvas")).to_be_visible()
