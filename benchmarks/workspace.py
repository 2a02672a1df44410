"""Opens a version with 504 trials in Chromium; prints how soon after the answer they are shown and the page is idle.

    uv run python benchmarks/workspace.py [--quick] [--json]

The answer is the last byte of the page's request to the graph; idle is the first moment at which Chromium has nothing
else to do. Medians and the most of so many loads, each in a window of its own. Needs Chromium.
"""

import asyncio
import json
import shutil
import statistics
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import asyncpg
from playwright.async_api import Browser, async_playwright

from benchmarks.report import Report, parser, reported
from benchmarks.servers import Filled, filled, service

LOADS = 9
TRIALS = 504
MOST_MILLISECONDS = 200

#: Resolves when so many attempts are in the document and the page is idle; in milliseconds after the answer.
SETTLED = """count => new Promise((resolve) => {
  const attempts = document.getElementsByClassName("attempt");
  const look = () => {
    if (attempts.length < count) return;
    observer.disconnect();
    const shown = performance.now();
    const answers = performance.getEntriesByType("resource").filter(({ name }) => name.endsWith("/graphql"));
    const answer = Math.max(...answers.map(({ responseEnd }) => responseEnd).filter((end) => end <= shown));
    requestIdleCallback(() => resolve({ shown: shown - answer, idle: performance.now() - answer }));
  };
  const observer = new MutationObserver(look);
  observer.observe(document, { subtree: true, childList: true });
  look();
})"""
#: Makes the newest version's runs as many as are wanted, of those that other versions have.
MOVED = """
with moved as (
  update evaluation_runs set environment_version_id = $1
  where id in (
    select id from evaluation_runs where environment_version_id <> $1 order by id desc
    limit $2 - (select count(*) from evaluation_runs where environment_version_id = $1)
  )
  returning id
)
update evaluation_trials set environment_version_id = $1 where evaluation_run_id in (select id from moved)
"""


async def moved(database: Filled) -> None:
    connection = await asyncpg.connect(database.superuser)
    try:
        await connection.execute("set session_replication_role = replica")
        await connection.execute(MOVED, database.version, TRIALS // 8)
    finally:
        await connection.close()


async def load(browser: Browser, link: str, address: str) -> list[dict[str, float]]:
    """First its newest runs, then, after a click, all of them."""
    context = await browser.new_context()
    page = await context.new_page()
    await page.goto(link)
    await page.get_by_role("heading", level=1).wait_for()
    await page.add_init_script(f"window.first = ({SETTLED})(1)")
    await page.goto(address)
    first: dict[str, float] = await page.evaluate("window.first")
    older = page.get_by_role("button", name="Show older runs")
    while await older.count():
        before = await page.locator(".attempt").count()
        await page.evaluate(f"(count) => {{ window.all = ({SETTLED})(count + 1) }}", before)
        await older.click()
        everything: dict[str, float] = await page.evaluate("window.all")
    assert await page.locator(".attempt").count() == TRIALS
    await context.close()
    return [first, everything]


def sign_in_link(database: Filled, url: str) -> str:
    command = [sys.executable, "-m", "agentforge", "sign-in-link", "a@example.com", "--organization", "benchmark"]
    command += ["--json", "--data-dir", str(database.directory)]
    made = subprocess.run(command, check=True, capture_output=True, text=True)
    return url + "/sign-in?" + str(json.loads(made.stdout)["url"]).split("?", 1)[1]


async def measured(database: Filled, url: str, links: list[str]) -> list[list[dict[str, float]]]:
    await moved(database)
    async with async_playwright() as driver:
        chromium = shutil.which("chromium")
        assert chromium, "Chromium is not installed"
        browser = await driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        address = f"{url}/versions/{database.version}"
        found = [await load(browser, link, address) for link in links]
        await browser.close()
    return found[1:]  # the first one fills caches


def tell(report: Report, name: str, times: list[Any]) -> None:
    shown, idle = ([one[key] for one in times] for key in ("shown", "idle"))
    print(
        f"{name}: in the document after {statistics.median(shown):.0f} ms (at most {max(shown):.0f}), "
        f"idle after {statistics.median(idle):.0f} ms (at most {max(idle):.0f})"
    )
    report.at_most(f"{name}, ms until idle", statistics.median(idle), MOST_MILLISECONDS)


def main() -> None:
    arguments = parser(__doc__).parse_args()
    with reported(arguments) as (report, directory), ExitStack() as stack:
        database = filled(stack, Path(directory), 2_000)
        server = stack.enter_context(service(database))
        url = server.url.removesuffix("/graphql")
        links = [sign_in_link(database, url) for _ in range(1 + (2 if arguments.quick else LOADS))]
        found = asyncio.run(measured(database, url, links))
        tell(report, "the newest runs", [first for first, _ in found])
        tell(report, f"all {TRIALS} trials", [everything for _, everything in found])


if __name__ == "__main__":
    main()
