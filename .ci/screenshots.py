"""Takes docs/screenshots/ anew from the example that `agentforge up` runs: `just screenshots`. Needs Chromium."""

import asyncio
import shutil
import tempfile
from pathlib import Path

from playwright.async_api import Page, async_playwright, expect

from tests.service import Service, command, command_json, running_service

FOLDER = Path(__file__).parents[1] / "docs" / "screenshots"
OWNER = ("owner@demo.example", "--organization", "demo")

#: The address of each page and its heading; the folder's files have these names.
PAGES = {
    "environments": ("/", "Environments"),
    "version": ("/environments/admin-console", "Admin console, version 1"),
    "trials": ("/trials", "Trials"),
    "exports": ("/exports", "Exports"),
    "capability-gap": ("/capability-gaps", "Capability gap"),
    "partial-rewards": ("/partial-rewards", "Partial rewards"),
    "settings": ("/settings", "Settings"),
}

ATTEMPTS = """{ environment(slug: "admin-console") { latestVersion {
  runs(first: 1) { edges { node { trials { id } } } } } } }"""


async def take(page: Page, url: str, name: str, path: str, heading: str) -> None:
    await page.goto(url + path)
    await expect(page.get_by_role("heading", level=1)).to_have_text(heading)
    await expect(page.get_by_text("Loading…")).to_have_count(0)
    await page.wait_for_load_state("networkidle")
    await page.screenshot(path=FOLDER / f"{name}.png")


async def take_all(service: Service) -> None:
    link = command_json("sign-in-link", *OWNER, data_dir=service.data_dir)["url"]
    async with async_playwright() as driver:
        browser = await driver.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = await browser.new_page(viewport={"width": 1280, "height": 800})
        await take(page, service.url, "sign-in", "/sign-in", "Sign in to AgentForge")
        await page.goto(link)
        # So that the settings have an export to tell of.
        assert service.client.get("/api/v1/rollouts?kind=failed").status_code == 200
        for name, (path, heading) in PAGES.items():
            await take(page, service.url, name, path, heading)
        found = service.client.graph(ATTEMPTS)["environment"]["latestVersion"]["runs"]["edges"][0]["node"]["trials"]
        await take(page, service.url, "trial", f"/trials/{found[1]['id']}", "Admin console, attempt 2")
        compared = "&".join(f"id={trial['id']}" for trial in found[:3])
        await take(page, service.url, "compare", f"/compare?{compared}", "Admin console, 3 attempts")
        await browser.close()


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, running_service(Path(folder) / "data") as service:
        reset = command("reset", "admin-console", "--mode", "new_world", "--watch", data_dir=service.data_dir)
        assert reset.returncode == 0, reset.stderr
        asyncio.run(take_all(service))


if __name__ == "__main__":
    main()
