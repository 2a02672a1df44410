"""A Chromium for each file of tests of the workspace, against the running service that others use too."""

import shutil
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import timedelta
from uuid import uuid4

import asyncpg
import pytest
from playwright.async_api import Browser, async_playwright

from agentforge.auth import COOKIE
from db.embedded import embedded_server
from db.pool import nothing_to_reset
from db.tenant import Pool, Tenant
from resolvers import accounts, members
from tests.contract.conftest import Practice, practice
from tests.factory import create_organization
from tests.service import Service
from tests.web.browser.window import SLOW, Window

NAMES = ("chromium", "chromium-browser", "google-chrome")


@pytest.fixture(scope="session")
def chromium() -> str:
    found = next((path for name in NAMES if (path := shutil.which(name))), None)
    if found is None:
        pytest.skip("Chromium is not installed: `apt-get install chromium`, and the workspace is tested in it")
    return found


@pytest.fixture(scope="module")
async def browser(chromium: str) -> AsyncIterator[Browser]:
    # One for each file, so that one that ends or hangs takes no other file's tests with it.
    # Chromium's own sandbox refuses to work as root; every page it opens here is ours.
    async with async_playwright() as driver:
        browser = await driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield browser
        await browser.close()


@pytest.fixture(scope="session")
async def service_pool(service: Service) -> AsyncIterator[Pool]:
    """The running service's own database, to put rows there that no agent would leave so soon."""
    with embedded_server(service.data_dir) as urls:
        async with asyncpg.create_pool(urls.app, min_size=1, max_size=3, reset=nothing_to_reset) as pool:
            yield pool


@dataclass(frozen=True)
class House:
    """A new, empty organization in the running service, and its owner's session."""

    tenant: Tenant
    slug: str
    email: str
    cookie: str


async def house(pool: Pool, role: str = "owner") -> House:
    slug = f"house-{uuid4().hex[:12]}"
    tenant = await create_organization(pool, slug)
    return await person(tenant, slug, f"{role}@{slug}.example", role)


async def person(tenant: Tenant, slug: str, email: str, role: str) -> House:
    """A member with a session."""
    membership = await members.add_member(tenant, email, role)
    secret = await accounts.create_sign_in_link(tenant, membership.id)
    session = await accounts.redeem_sign_in_link(tenant.pool, secret, timedelta(days=1))
    assert session is not None
    return House(tenant, slug, email, f"{session.id.hex}.{session.secret}")


@pytest.fixture
async def home(chromium: str, service_pool: Pool) -> House:
    """An empty organization of this test's own."""
    return await house(service_pool)


Open = Callable[[House | None], Awaitable[Window]]


@pytest.fixture
async def window_of(browser: Browser, service: Service) -> AsyncIterator[Open]:
    """Opens windows, signed in or not; in none of them may anything have gone wrong in the end."""
    async with AsyncExitStack() as stack:
        windows: list[Window] = []

        async def opened(who: House | None) -> Window:
            context = await browser.new_context()
            stack.push_async_callback(context.close)
            context.set_default_timeout(SLOW)
            if who:
                await context.add_cookies([{"name": COOKIE, "value": who.cookie, "url": service.url}])
            windows.append(Window(await context.new_page(), context, service.url))
            return windows[-1]

        yield opened
        for window in windows:
            # A request that is still held would fail when its window closes.
            await window.page.unroute_all(behavior="ignoreErrors")
        assert [problem for window in windows for problem in window.problems] == []


@pytest.fixture
async def window(window_of: Open, home: House) -> Window:
    """Of the owner of `home`."""
    return await window_of(home)


@pytest.fixture
async def demo(service: Service, home: House) -> House:
    """An owner in the organization whose worker runs."""
    return await person(
        await accounts.tenant_of(home.tenant.pool, "demo"), "demo", f"{home.slug}@demo.example", "owner"
    )


@pytest.fixture
async def own(service: Service) -> Practice:
    return practice(service.client, "admin-console")
