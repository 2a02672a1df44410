"""Attempts side by side: what each came to, and the first step at which they part."""

from playwright.async_api import expect

from tests.contract.documents import UNKNOWN_ID
from tests.factory import Attempt, create_run, create_version, step
from tests.web.browser.conftest import House, house
from tests.web.browser.window import Window

HOSTILE = "<img src=x onerror=alert(1)></pre><script>alert(2)</script>\u202egnp.exe "


def steps(parting: int, count: int, command: str) -> list[dict[str, object]]:
    """Alike but for the step `parting`."""
    return [
        step(n, "shell", command if n == parting else f"echo {n}", f"{n} done\n" * (1 + n % 3))
        for n in range(1, count + 1)
    ]


async def compared(home: House, *attempts: Attempt) -> str:
    """The address that compares them."""
    version = await create_version(home.tenant, "shop")
    _, trials = await create_run(home.tenant, version, attempts)
    return "/compare?" + "&".join(f"id={trial.id}" for trial in trials)


async def test_attempts_stand_side_by_side_and_part_where_they_do(window: Window, home: House) -> None:
    stages = {"stage_inventory": 1.0, "stage_checkout": 0.25}
    path = await compared(
        home,
        Attempt(1.0, steps=steps(612, 700, "order 3"), stages=stages),
        Attempt(0.25, steps=steps(612, 650, HOSTILE), stages={"stage_inventory": 1.0}, category="gave_up"),
        Attempt(0.0, steps=steps(612, 620, "order 3")),
    )
    page = window.page
    await window.open(path, "shop, 3 attempts")
    await expect(page.get_by_role("columnheader", name="stage_checkout")).to_be_visible()
    second = page.get_by_role("row").filter(has_text="Attempt 2")
    await expect(second.get_by_role("cell")).to_have_text(["partial", "0.25", "1", "\u2013", "gave_up", "0.0 s", "650"])
    await expect(page.locator(".parting-summary")).to_contain_text("They first part at step 612:")
    await expect(page.locator(".parting-summary")).to_contain_text(HOSTILE.strip().replace("\u202e", "U+202E"))
    await window.role("link", "step 612").click()
    parting = page.locator("#step-612")
    await expect(parting).to_contain_text("Here they part.")
    await expect(parting.locator(".side-step")).to_have_count(3)
    await expect(parting.locator(".side-step").nth(0)).to_contain_text("order 3")
    await expect(parting.locator(".side-step").nth(1)).to_contain_text("<img src=x onerror=alert(1)>")
    await expect(parting).to_be_in_viewport()
    assert await page.locator("main img, main script").count() == 0
    await page.evaluate("location.hash = '#step-630'")
    await expect(page.locator("#step-630 .side-step").nth(2)).to_contain_text("has ended")
    await expect(page.locator("#step-630 .side-step").nth(0)).to_contain_text("echo 630")
    assert await page.locator(".step").count() < 100
    assert {"Comparison", "Viewer"} < set(window.operations)
    await window.is_accessible()


async def test_attempts_that_did_the_same_part_nowhere(window: Window, home: House) -> None:
    same = steps(0, 3, "")
    await window.open(await compared(home, Attempt(1.0, steps=same), Attempt(0.0, steps=same)), "shop, 2 attempts")
    await expect(window.text("They ask the same in every step.")).to_be_visible()
    assert sorted(window.operations) == ["Comparison", "Viewer"]


async def test_attempts_without_steps_say_so(window: Window, home: House) -> None:
    await window.open(await compared(home, Attempt(1.0), Attempt(status="cancelled")), "shop, 2 attempts")
    await expect(window.role("heading", "No steps")).to_be_visible()
    await window.is_accessible()


async def test_what_cannot_be_compared_says_why(window: Window, home: House) -> None:
    await window.open("/compare", "Compare")
    await expect(window.role("heading", "Nothing to compare yet")).to_be_visible()
    await window.is_accessible()
    first = await compared(home, *[Attempt(1.0)] * 5)
    await window.open(first, "Compare")
    await expect(window.role("heading", "Too many to compare")).to_be_visible()
    version = await create_version(home.tenant, "till")
    _, (other,) = await create_run(home.tenant, version, [Attempt(1.0)])
    await window.open(f"{first.split('&')[0]}&id={other.id}", "Compare")
    await expect(window.text("Only trials of one environment version can be compared.")).to_be_visible()
    await window.is_accessible()


async def test_trials_of_others_are_not_found(window: Window, home: House) -> None:
    mine = (await compared(home, Attempt(1.0))).split("?")[1]
    theirs = (await compared(await house(home.tenant.pool), Attempt(1.0))).split("?")[1]
    for other in (theirs, f"id={UNKNOWN_ID}", "id=none"):
        await window.page.goto(f"{window.url}/compare?{mine}&{other}")
        await expect(window.role("heading", "Not found")).to_be_visible()
    await window.is_accessible()
