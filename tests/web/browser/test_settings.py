"""Settings: members and roles, tokens whose secret is shown once, and what another role sees of it."""

from datetime import timedelta
from uuid import uuid4

from playwright.async_api import expect

from db.accounts import Identity
from db.export_audits import ExportOutcome
from resolvers import accounts, export_audits, members
from tests.service import Client
from tests.web.browser.conftest import House, Open, person
from tests.web.browser.window import Window


async def test_a_token_is_shown_once_and_revoked(window: Window, home: House) -> None:
    await window.open("/settings", "Settings")
    await expect(window.text("on AgentForge 0.1.0")).to_be_visible()
    form = window.role("form", "Create a token")
    await form.get_by_label("Name").fill("x" * 300)
    await form.get_by_role("button").click()
    await expect(window.page.locator(".action-problem").filter(has_text="character")).to_be_visible()
    await form.get_by_label("Name").fill("<i>notebook</i>")
    await form.get_by_label("Role").select_option("VIEWER")
    await form.get_by_label("Name").press("Enter")
    secret = await window.role("region", "The new token").inner_text()
    assert Client(window.url, secret).graph("{ viewer { role } }") == {"viewer": {"role": "VIEWER"}}
    await expect(window.page.get_by_role("rowheader", name="<i>notebook</i>")).to_be_visible()
    await window.is_accessible()
    await window.page.reload()
    await window.shows("Settings")
    assert secret not in await window.page.content()
    await window.role("button", "Revoke <i>notebook</i>").click()
    await window.is_accessible()
    await window.role("button", "Revoke", exact=True).click()
    await expect(window.page.get_by_role("row").filter(has_text="notebook")).to_contain_text("revoked just now")
    assert Client(window.url, secret).get("/api/v1/rollouts").status_code == 401


async def test_members_are_added_given_a_role_and_removed(window: Window, home: House) -> None:
    await window.open("/settings", "Settings")
    form = window.role("form", "Add a member")
    await form.get_by_label("Email").fill("bo@bo.example")
    await form.get_by_role("button").click()
    await expect(window.text("bo@bo.example is member now.")).to_be_visible()
    await window.page.get_by_label("Role of bo@bo.example").select_option("VIEWER")
    await expect(window.text("bo@bo.example is viewer now.")).to_be_visible()
    assert (await members.member_by_email(home.tenant, "bo@bo.example")).role == "viewer"
    await window.role("button", "Remove bo@bo.example").click()
    await window.role("button", "Remove", exact=True).click()
    await expect(window.page.get_by_role("rowheader")).to_have_text([home.email])


async def test_an_owner_sees_who_exported_what(window: Window, home: House) -> None:
    await window.open("/settings", "Settings")
    await expect(window.text("Nobody has exported rollouts yet.")).to_be_visible()
    _, secret = await accounts.create_token(home.tenant, "<b>nightly</b>", "viewer", timedelta(days=1))
    identity = Identity(home.tenant.organization_id, uuid4(), home.email, "owner")
    for limit in range(1, 52):
        audit = await export_audits.start(home.tenant, identity, "all", "trl", {"limit": str(limit)})
        await audit.finish(ExportOutcome.LEFT, limit, 1000)
    assert Client(window.url, secret).get("/api/v1/rollouts?kind=failed&limit=52").status_code == 200
    await window.page.reload()
    rows = window.role("table", "Exports there were").get_by_role("row")
    await expect(rows).to_have_count(1 + 50)
    for text in (
        "just now",
        "<b>nightly</b>",
        "token, viewer",
        "failed",
        "limit=52",
        "format=atif-shaped",
        "completed",
    ):
        await expect(rows.nth(1)).to_contain_text(text)
    await window.is_accessible()
    await window.role("button", "Show older exports").press("Enter")
    await expect(rows).to_have_count(1 + 52)
    for text in (home.email, "person, owner", "format=trl limit=1", "1 kB", "the client left"):
        await expect(rows.last).to_contain_text(text)
    await expect(window.text("52 exports shown")).to_be_visible()
    await expect(window.role("button", "Show older exports")).to_have_count(0)


async def test_a_member_sees_who_is_there_and_changes_nothing(window_of: Open, home: House) -> None:
    window = await window_of(await person(home.tenant, home.slug, f"m@{home.slug}.example", "member"))
    await window.open("/settings", "Settings")
    await expect(window.page.get_by_role("rowheader")).to_have_count(2)
    await expect(window.text("Only owners see and make tokens.")).to_be_visible()
    await expect(window.role("heading", "Exports")).to_have_count(0)
    await expect(window.page.locator("main").get_by_role("button")).to_have_count(0)
    await expect(window.page.locator("main select")).to_have_count(0)
    await window.is_accessible()
