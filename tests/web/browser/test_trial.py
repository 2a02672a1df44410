"""A trial's page: what it came to, what it left, and its steps, however many and whatever they say."""

import json
from typing import Any

import pytest
from playwright.async_api import Page, expect

from db import executions, trials
from tests.contract.conftest import Practice
from tests.contract.documents import START, UNKNOWN_ID, made
from tests.factory import LEFT, Attempt, create_run, create_version, leave_files, step
from tests.web.browser.conftest import House, Open, house
from tests.web.browser.window import Window

ENDED = 60_000
HOSTILE = "<img src=x onerror=alert(1)></pre><script>alert(2)</script>\u202egnp.exe "
SHOWN = "<img src=x onerror=alert(1)></pre><script>alert(2)</script>U+202Egnp.exe"
RED = "\x1b[1;31mred\x1b[0m plain \x1b[2K\x1b[éhidden\nA rest"
NESTED = json.dumps({"content": [{"type": "text", "text": json.dumps({"order": {"sku": "SKU-9", "price": 3.5}})}]})
MANY = 30_000


async def attempt(home: House, *attempts: Attempt) -> list[str]:
    version = await create_version(home.tenant, "shop")
    _, trials = await create_run(home.tenant, version, attempts)
    return [str(trial.id) for trial in trials]


def steps(count: int) -> list[dict[str, Any]]:
    return [
        step(n, "shell", f"echo {n}", f"{'needle ' * (n % 9_000 == 0)}{n}\n" * (1 + n % 7)) for n in range(1, count + 1)
    ]


async def top_of(page: Page, number: int) -> float:
    box = await page.locator(f"#step-{number}").bounding_box()
    assert box is not None
    return box["y"]


async def downloaded(window: Window, link: str) -> bytes:
    async with window.page.expect_download() as download:
        await window.page.locator(".downloads").get_by_role("link", name=link).click()
    return (await (await download.value).path()).read_bytes()


async def test_a_trial_shows_its_outcome_and_what_it_left(window: Window, home: House) -> None:
    said = [step(1), step(2, "shell", "pytest", RED), step(3, "order", '{"sku":"SKU-9","count":3}', NESTED)]
    stages = {"stage_inventory": 1.0, "stage_checkout": 0.25}
    partial = Attempt(0.45, category="checkout_incomplete", stages=stages, steps=said, log="\x1b[33mcareful\x1b[0m")
    _, trial, _ = await attempt(home, Attempt(1.0), partial, Attempt(0.0))
    await window.open(f"/trials/{trial}", "shop, attempt 2")
    outcome = window.role("region", "Outcome")
    for words in ("partial", "reward 0.45", "completed", "checkout_incomplete"):
        await expect(outcome).to_contain_text(words)
    await expect(window.page.get_by_role("row").filter(has_text="stage_checkout")).to_contain_text("0.25")
    await expect(window.page.locator("#step-2 .ansi-red.ansi-bold")).to_have_text("red")
    await expect(window.page.locator("#step-2 .step-observation")).to_contain_text(
        "hidden\nA rest", use_inner_text=True
    )
    third = window.page.locator("#step-3 .step-observation")
    await expect(third).to_contain_text('sku: "SKU-9"')
    await third.locator("summary").first.click()
    await expect(third).not_to_contain_text("SKU-9")
    await third.locator("summary").first.click()
    await third.get_by_role("button", name="Raw").first.click()
    await expect(third).to_contain_text(NESTED)
    await window.text("Show what agent, world and evaluator wrote").click()
    await expect(window.page.locator(".log .ansi-yellow")).to_have_text("careful")
    content = json.loads(await downloaded(window, "trial-2-trajectory.json"))
    assert json.loads(content["trajectory"]) == {"steps": said}
    assert sorted(window.operations) == ["Trial", "Viewer"]
    await window.is_accessible()


async def test_files_and_the_agents_own_trajectory_are_downloads(window: Window, home: House) -> None:
    version = await create_version(home.tenant, "shop")
    own = b'{"schema_version": "ATIF-v9"}\r\n'
    _, (trial,) = await create_run(home.tenant, version, [Attempt(0.0, agent_trajectory=own)])
    assert trial.trajectory_artifact_id
    async with home.tenant.transaction() as transaction:
        await leave_files(transaction, trial.trajectory_artifact_id, [HOSTILE])
    await window.open(f"/trials/{trial.id}", "shop, attempt 1")
    files = window.page.locator(".downloads")
    await expect(files).to_contain_text("cafU+DCE9 U+202Egpj.exe4 B")
    await expect(files).to_contain_text("left out: more than 16777216 bytes")
    await window.text("Why the agent's own trajectory is not valid").click()
    await expect(window.text("<img src=x onerror=alert(1)>")).to_be_visible()
    await expect(window.role("heading", "No steps")).to_be_visible()
    await window.is_accessible()
    (_, _, content, _), _ = LEFT
    assert await downloaded(window, "agent-trajectory.json") == own
    assert await downloaded(window, "caf") == content
    rollout = json.loads(await downloaded(window, "The rollout"))
    assert (rollout["reward"], rollout["evaluationRunId"]) == (0, str(trial.evaluation_run_id))


async def test_steps_of_executions_without_a_trajectory(window: Window, home: House) -> None:
    version = await create_version(home.tenant, "shop")
    _, (trial,) = await create_run(home.tenant, version, [Attempt(status="queued")], status="running")

    async def begin(execution: int, recorded: list[dict[str, Any]]) -> int:
        async with home.tenant.transaction() as transaction:
            claimed = await transaction.fetch_one(trials.CLAIM, trial.id, execution, f"{HOSTILE}{execution}", None)
        assert claimed is not None
        await record(claimed.execution, 1, recorded)
        return claimed.execution

    async def record(execution: int, first: int, recorded: list[dict[str, Any]]) -> None:
        async with home.tenant.transaction() as transaction:
            text = json.dumps(recorded)
            assert await transaction.fetch_one(executions.RECORD, trial.id, execution, first, len(recorded), text)

    lost = await begin(trial.execution, [step(n, HOSTILE, f"echo {n}", RED) for n in range(1, 131)])
    now = await begin(lost, [step(1, "shell", "echo again", NESTED)])
    await window.open(f"/trials/{trial.id}", "shop, attempt 1")
    await expect(window.role("row", "lost")).to_contain_text(SHOWN)
    await window.text("Execution 1: 130 steps recorded").click()
    await window.role("button", "Show more of 30").click()
    last = window.role("article", "Execution 1, step 130")
    await expect(last).to_contain_text("echo 130")
    await expect(last.locator(".ansi-red")).to_have_text("red")
    await window.text("Execution 2: 1 step recorded").click()
    await expect(window.role("article", "Execution 2, step 1")).to_contain_text("SKU-9")
    await record(now, 2, [step(2, "shell", "echo later")])
    await window.role("button", "Look for further ones").last.click()
    await expect(window.role("article", "Execution 2, step 2")).to_contain_text("echo later")
    assert await window.page.locator("main img, main script").count() == 0
    await window.is_accessible()


async def test_text_of_agents_is_only_ever_text(window: Window, home: House) -> None:
    huge = HOSTILE + "w" * 200_000
    (trial,) = await attempt(
        home,
        Attempt(
            0.0,
            steps=[step(1, HOSTILE, HOSTILE, huge), step(2, "x", json.dumps({HOSTILE: huge}))],
            log=huge,
        ),
    )
    await window.open(f"/trials/{trial}", "shop, attempt 1")
    await window.text("Show what agent, world and evaluator wrote").click()
    for place in (".tool", ".step-action pre", ".step-observation pre", ".log pre", ".json-key"):
        await expect(window.page.locator(place).filter(has_text="gnp.exe").first).to_contain_text(SHOWN)
    await window.page.locator("#step-1 .step-observation").get_by_role("button", name="Show all").click()
    await expect(window.page.locator("#step-1 .step-observation pre")).to_contain_text("w" * 1000)
    assert await window.page.locator("main img, main script").count() == 0
    await window.is_accessible()


async def test_neighbours_are_reached_by_keyboard(window: Window, home: House) -> None:
    _, second, third = await attempt(home, Attempt(1.0), Attempt(0.5), Attempt(0.0))
    await window.open(f"/trials/{second}", "shop, attempt 2")
    await window.page.keyboard.press("Shift+ArrowRight")
    await window.shows("shop, attempt 3")
    assert window.page.url.endswith(third)
    await window.page.keyboard.press("Shift+ArrowRight")
    await window.page.keyboard.press("Shift+ArrowLeft")
    await window.shows("shop, attempt 2")
    await window.page.go_back()
    await window.shows("shop, attempt 3")


async def test_thirty_thousand_steps_scroll_are_linked_and_searched(window: Window, home: House) -> None:
    (trial,) = await attempt(home, Attempt(0.0, steps=steps(MANY)))
    page = window.page
    await window.open(f"/trials/{trial}#step-20000", "shop, attempt 1")
    await expect(page.locator("#step-20000")).to_contain_text("echo 20000")
    assert 0 <= await top_of(page, 20_000) < 200, "the step that the address names is in sight"
    frames = await page.evaluate("""async () => {
        scrollTo(0, 500_000);
        const frame = () => new Promise(requestAnimationFrame);
        const took = [];
        for (let i = 0; i < 120; i += 1) {
          const before = performance.now();
          scrollBy(0, 300);
          await frame();
          took.push(performance.now() - before);
        }
        return took.sort((a, b) => a - b);
    }""")
    assert frames[len(frames) // 2] < 60, f"17 ms on a machine that does nothing else; {frames[-5:]}"
    assert await page.locator(".step").count() < 120
    await expect(page.locator(".step .loading")).to_have_count(0)
    await page.get_by_label("Find within").fill("NEEDLE")
    await expect(page.get_by_role("status").filter(has_text="3 steps found")).to_be_visible()
    for number in (27_000, 9_000):
        await page.get_by_label("Find within").press("Enter")
        await expect(page).to_have_url(f"{window.url}/trials/{trial}#step-{number}")
        await expect(page.locator(f"#step-{number} mark").first).to_have_text("needle")
        assert 0 <= await top_of(page, number) < 200
    await page.get_by_label("Find within").press("Shift+Enter")
    await expect(page.locator("#step-27000")).to_be_in_viewport()
    await page.get_by_label("Step", exact=True).fill(str(MANY))
    await page.get_by_label("Step", exact=True).press("Enter")
    await expect(page.locator(f"#step-{MANY}")).to_contain_text(f"echo {MANY}")
    await window.is_accessible()


async def test_an_attempt_under_way_is_followed_to_its_end(window_of: Open, demo: House, own: Practice) -> None:
    configuration = own.configure(1, "sh", "-c", "sleep 4; printf '\\033[32mdone\\033[0m'")
    run = made(own.client, START, version=own.version, configuration=configuration)
    found = own.client.graph("query($id: ID!) { evaluationRun(id: $id) { trials { id } } }", id=run)
    window = await window_of(demo)
    await window.page.goto(f"{window.url}/trials/{found['evaluationRun']['trials'][0]['id']}")
    await expect(window.role("heading", "No trajectory yet")).to_be_visible()
    await window.is_accessible()
    await expect(window.role("heading", "No steps")).to_be_visible(timeout=ENDED)
    await window.text("Show what agent, world and evaluator wrote").click()
    await expect(window.page.locator(".log .ansi-green")).to_have_text("done")


@pytest.mark.parametrize("theirs", [True, False], ids=["another organization's", "nobody's"])
async def test_what_is_elsewhere_or_nowhere_is_not_found(window: Window, home: House, theirs: bool) -> None:
    (trial,) = await attempt(await house(home.tenant.pool), Attempt(1.0)) if theirs else [UNKNOWN_ID]
    await window.page.goto(f"{window.url}/trials/{trial}")
    await expect(window.role("heading", "Not found")).to_be_visible()
    await window.is_accessible()


async def test_steps_that_cannot_be_had_say_so_and_come_when_asked_again(window: Window, home: House) -> None:
    (trial,) = await attempt(home, Attempt(0.0, steps=steps(2_000)))
    await window.open(f"/trials/{trial}", "shop, attempt 1")
    await window.context.set_offline(True)
    await window.page.get_by_label("Step", exact=True).fill("1500")
    await window.page.get_by_label("Step", exact=True).press("Enter")
    await expect(window.text("The service cannot be reached.").first).to_be_visible()
    await window.context.set_offline(False)
    await expect(window.page.locator("#step-1500")).to_contain_text("echo 1500")
