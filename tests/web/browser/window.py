"""A window of a real Chromium on a real service, and what must hold on every page."""

from dataclasses import dataclass, field
from typing import Any, Literal

from axe_playwright_python.async_playwright import Axe  # type: ignore[import-untyped]
from playwright.async_api import BrowserContext, ConsoleMessage, Locator, Page, Request, expect

SLOW = 15_000
LOOKS: tuple[tuple[Literal["light", "dark"], int], ...] = (("light", 1280), ("dark", 360))
WIDTHS = (360, 1280, 2560)

#: What a session that has ended and a service that was killed leave in the console, which no page can prevent.
EXPECTED = (
    "status of 401",
    "status of 410",
    "ERR_CONNECTION_REFUSED",
    "ERR_CONNECTION_RESET",
    "ERR_EMPTY_RESPONSE",
    "ERR_INCOMPLETE_CHUNKED_ENCODING",
    "ERR_INTERNET_DISCONNECTED",
)


@dataclass
class Window:
    """One page of one person, and everything that went wrong in it."""

    page: Page
    context: BrowserContext
    url: str
    problems: list[str] = field(default_factory=list)
    operations: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.page.on("console", self._heard)
        self.page.on("pageerror", lambda error: self.problems.append(f"error: {error}"))
        self.page.on("dialog", lambda dialog: self.problems.append(f"dialog: {dialog.message}"))
        self.page.on("request", self._asked)

    def _heard(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning") and not any(one in message.text for one in EXPECTED):
            self.problems.append(f"console: {message.text}")

    def _asked(self, request: Request) -> None:
        if not request.url.startswith((self.url, "data:", "ws")):
            self.problems.append(f"another host: {request.url}")
        if request.url == f"{self.url}/graphql" and isinstance(request.post_data_json, dict):
            self.operations.append(request.post_data_json["query"].split("{")[0].split("(")[0].split()[-1])

    async def open(self, path: str, heading: str) -> None:
        """Loads the page and waits for its heading."""
        await self.page.goto(self.url + path)
        await self.shows(heading)

    async def shows(self, heading: str) -> None:
        await expect(self.page.get_by_role("heading", level=1)).to_have_text(heading)
        await expect(self.page.get_by_text("Loading…", exact=True)).to_have_count(0)

    def role(self, role: Any, name: str, **options: Any) -> Locator:
        return self.page.get_by_role(role, name=name, **options)

    def text(self, text: str, **options: Any) -> Locator:
        return self.page.get_by_text(text, **options)

    async def is_accessible(self) -> None:
        """axe-core finds nothing in light and dark, wide and narrow; and nothing is wider than its window."""
        for scheme, width in LOOKS:
            await self.page.emulate_media(color_scheme=scheme)
            await self.page.set_viewport_size({"width": width, "height": 800})
            found = await Axe().run(self.page)
            assert found.violations_count == 0, found.generate_report()
        for width in WIDTHS:
            await self.page.set_viewport_size({"width": width, "height": 800})
            wide = await self.page.evaluate("document.documentElement.scrollWidth")
            assert wide <= width, f"{wide} px wide in a window of {width}"
