"""Exports: their kinds, how many lines each would give, the commands for a terminal, and downloads."""

import asyncio
import json
import os
import sys
from datetime import timedelta
from pathlib import Path
from secrets import token_hex

import zstandard
from playwright.async_api import Route, expect

from agentforge.auth import COOKIE
from db import environments
from resolvers import accounts
from tests.contract.documents import UNKNOWN_ID
from tests.factory import Attempt, create_run, create_version, step
from tests.service import Service
from tests.web.browser.conftest import House, house
from tests.web.browser.second import running_api
from tests.web.browser.window import Window

HOSTILE = "<img src=x onerror=alert(1)><script>alert(2)</script>\u202egnp.exe " + "w" * 100
SHOWN = HOSTILE.replace("\u202e", "U+202E")


async def attempts(home: House, slug: str = "shop") -> str:
    """A version with rollouts of every kind."""
    version = await create_version(home.tenant, slug)
    steps = [step(1, "shell", "echo", HOSTILE)]
    tried = [Attempt(1.0, steps=steps), Attempt(0.5, steps=steps), Attempt(0.0), Attempt(status="errored")]
    await create_run(home.tenant, version, tried)
    return str(version.id)


async def test_each_kind_has_its_lines_address_and_commands(window: Window, home: House) -> None:
    await attempts(home, "till")
    version = await attempts(home)
    page = window.page
    await window.open("/exports", "Exports")
    await expect(window.role("complementary", "Privacy")).to_contain_text("PRIVATE")
    for kind, lines in (
        ("all", "8 lines"),
        ("successful", "2 lines"),
        ("failed", "4 lines"),
        ("recovery", "2 lines"),
        ("preference", "2 pairs"),
    ):
        await expect(window.role("article", kind, exact=True).get_by_role("status").first).to_have_text(lines)
    await window.is_accessible()
    await page.set_viewport_size({"width": 1280, "height": 900})
    await page.get_by_role("listitem").filter(has_text="shop").get_by_role("link", name="version 1").click()
    await window.shows("Exports of shop, version 1")
    failed = window.role("article", "failed", exact=True)
    await expect(failed.get_by_role("status").first).to_have_text("2 lines")
    address = f"{window.url}/api/v1/rollouts?kind=failed&environmentVersionId={version}"
    await expect(failed.get_by_text(address, exact=True)).to_be_visible()
    await failed.get_by_text("At a terminal").click()
    await expect(window.role("region", "curl, failed")).to_have_text(
        'curl -fH "Authorization: Bearer $AGENTFORGE_TOKEN" --compressed '
        f'-o agentforge-rollouts-failed.jsonl "{address}"'
    )
    await expect(window.role("region", "agentforge export, failed")).to_have_text(
        f"agentforge export --url {window.url} --kind failed --environment-version {version} "
        "--out agentforge-rollouts-failed.jsonl.zst"
    )
    preference = window.role("article", "preference", exact=True)
    await expect(preference).to_contain_text("agentforge-preferences.jsonl")
    assert set(window.operations) == {"ExportChoices", "VersionExports", "Viewer"}
    await window.is_accessible()


async def test_a_download_is_whole_and_parsed(window: Window, home: House) -> None:
    version = await attempts(home)
    await window.open(f"/versions/{version}", "shop, version 1")
    await window.page.get_by_role("main").get_by_role("link", name="Exports").click()
    async with window.page.expect_download() as downloaded:
        await window.role("button", "Download agentforge-rollouts-all.jsonl").click()
    download = await downloaded.value
    assert download.suggested_filename == "agentforge-rollouts-all.jsonl"
    lines = [json.loads(line) for line in (await download.path()).read_text("utf-8").splitlines()]
    assert {line["privacyClass"] for line in lines} == {"PRIVATE"}
    assert [line["reward"] for line in lines] == [None, 0, 0.5, 1]
    assert lines[3]["trajectory"] == [step(1, "shell", "echo", HOSTILE)]
    await expect(window.text("Saved agentforge-rollouts-all.jsonl: 4 lines")).to_be_visible()
    # What was saved is no file of another format.
    await window.page.get_by_label("Rollouts as").select_option("atif")
    await expect(window.role("button", "Download agentforge-rollouts-all-atif.jsonl")).to_be_visible()
    await expect(window.text("Saved")).to_have_count(0)


async def run_in(folder: Path, command: str, token: str) -> None:
    """As a person would who copied the line to a shell there."""
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "AGENTFORGE_TOKEN": token,
    }
    shell = await asyncio.create_subprocess_shell(command, cwd=folder, env=environment, stderr=asyncio.subprocess.PIPE)
    _, said = await asyncio.wait_for(shell.communicate(), 60)
    assert shell.returncode == 0, said


async def test_other_formats_are_chosen_and_the_lines_for_a_terminal_work(
    window: Window, home: House, tmp_path: Path
) -> None:
    version = await attempts(home)
    _, token = await accounts.create_token(home.tenant, "terminal", "viewer", timedelta(days=1))
    await window.open(f"/versions/{version}/exports", "Exports of shop, version 1")
    await window.page.get_by_label("Rollouts as").select_option("atif")
    await window.page.get_by_label("Pairs as").select_option("trl")
    await window.page.get_by_label("Answers").select_option("divergence")
    await window.role("combobox", "Pairs", exact=True).select_option("all")
    await window.page.reload()
    chosen = f"{window.url}/versions/{version}/exports?format=atif&pairFormat=trl&pair=divergence&pairs=all"
    assert window.page.url == chosen
    failed = window.role("article", "failed", exact=True)
    await expect(failed.get_by_role("status").first).to_have_text("at most 2 lines")
    preference = window.role("article", "preference", exact=True)
    await expect(preference.get_by_role("status").first).to_have_text("up to 100 pairs of each version")
    await window.is_accessible()
    for article, name, filename, lines in (
        (failed, "failed", "agentforge-rollouts-failed-atif.jsonl", 1),
        (preference, "preference", "agentforge-preferences-trl.jsonl", 0),
    ):
        await article.get_by_text("At a terminal").click()
        for way in ("curl", "agentforge export"):
            await run_in(tmp_path, await window.role("region", f"{way}, {name}").inner_text(), token)
        plain = (tmp_path / filename).read_bytes()
        assert zstandard.ZstdDecompressor().stream_reader((tmp_path / f"{filename}.zst").read_bytes()).read() == plain
        assert plain.count(b"\n") == lines
    document = json.loads((tmp_path / "agentforge-rollouts-failed-atif.jsonl").read_text())
    assert (document["format"], document["trajectory"]["schema_version"]) == ("atif", "ATIF-v1.7")


async def test_a_download_tells_how_far_it_is_and_can_be_stopped(window: Window, home: House) -> None:
    version = await attempts(home)
    await window.open(f"/versions/{version}/exports", "Exports of shop, version 1")
    going = asyncio.Event()

    async def held(route: Route) -> None:
        await going.wait()
        await route.continue_()

    await window.page.route("**/api/v1/rollouts?kind=all*", held)
    button = window.role("button", "Download agentforge-rollouts-all.jsonl")
    await button.click()
    await expect(window.role("progressbar", "Download agentforge-rollouts-all.jsonl")).to_be_visible()
    await expect(window.text("0 of 4 lines")).to_be_visible()
    await window.is_accessible()
    await window.role("button", "Stop: Download agentforge-rollouts-all.jsonl").click()
    await expect(button).to_be_visible()
    going.set()
    await window.page.unroute_all(behavior="ignoreErrors")


async def test_a_service_that_is_killed_saves_nothing(window: Window, home: House, service: Service) -> None:
    version = await create_version(home.tenant, "shop")
    huge = Attempt(1.0, steps=[step(n, "shell", "cat", token_hex(50_000)) for n in range(80)])
    await create_run(home.tenant, version, [huge] * 8)
    with running_api(service.data_dir) as api:
        window.url = api.url
        await window.context.add_cookies([{"name": COOKIE, "value": home.cookie, "url": api.url}])
        client = await window.context.new_cdp_session(window.page)
        await window.open(f"/versions/{version.id}/exports", "Exports of shop, version 1")
        await expect(window.role("article", "all", exact=True).get_by_role("status").first).to_have_text("8 lines")
        await client.send("Network.enable")
        slow = {"offline": False, "latency": 0, "downloadThroughput": 3_000_000, "uploadThroughput": -1}
        await client.send("Network.emulateNetworkConditions", slow)
        await window.role("button", "Download agentforge-rollouts-all.jsonl").click()
        await expect(window.text("of 8 lines, ")).to_contain_text("MB")
        api.process.kill()
        api.process.wait()
        await expect(window.text("The transfer broke off. Nothing was saved; try again.")).to_be_visible()


async def test_a_newcomer_is_told_what_comes_first(window: Window, home: House) -> None:
    await window.open("/exports", "Exports")
    await expect(window.role("article", "all", exact=True).get_by_role("status").first).to_have_text("0 lines")
    await expect(window.role("button", "Download agentforge-rollouts-all.jsonl")).to_be_disabled()
    await expect(window.text("agentforge environment publish DIR")).to_be_visible()
    await window.is_accessible()


async def test_names_are_text_and_versions_of_others_are_not_found(window: Window, home: House) -> None:
    async with home.tenant.transaction() as transaction:
        await transaction.fetch(environments.CREATE, "hostile", HOSTILE)
    await window.open(f"/versions/{await attempts(home, 'hostile')}/exports", f"Exports of {SHOWN}, version 1")
    assert await window.page.locator("main img, main script").count() == 0
    await window.is_accessible()
    theirs = await attempts(await house(home.tenant.pool))
    for other in (theirs, UNKNOWN_ID, "none"):
        await window.page.goto(f"{window.url}/versions/{other}/exports")
        await expect(window.role("heading", "Not found")).to_be_visible()
    await window.is_accessible()
