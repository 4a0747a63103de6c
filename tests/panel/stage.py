"""The browser of the panel's tests: Debian's Chromium under Playwright, one for all of them.

Every page is watched: an error on its console, an exception, a breach of its content security policy or a
request to anywhere but its hub fails the test that opened it.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from pathlib import Path
from typing import Any

from tests.panel.hubs import HubProcess

ARTEFACTS = Path(__file__).parents[2] / "artefacts" / "panel"
TIMEOUT_MS = 20_000
_WATCH = """
addEventListener("securitypolicyviolation", (event) => {
  console.error(`breach of ${event.violatedDirective} by ${event.blockedURI}`);
});
"""


def missing() -> str | None:
    """Why there can be no browser; None when there can."""
    try:
        import playwright  # noqa: F401
    except ModuleNotFoundError:
        return "playwright is not installed: pip install '.[dev]'"
    if shutil.which("chromium") is None:
        return "chromium is not installed: apt-get install chromium"
    return None


class Stage:
    """Starts the browser when the first page is opened; `close` ends it.

    Playwright keeps an event loop running in the thread that uses it, so it is ended before tests of
    other folders run.
    """

    def __init__(self) -> None:
        self._driver: Any = None
        self._browser: Any = None

    @property
    def browser(self) -> Any:
        if self._browser is None:
            from playwright.sync_api import sync_playwright

            self._driver = sync_playwright().start()
            self._browser = self._driver.chromium.launch(
                executable_path=shutil.which("chromium"),
                args=["--no-sandbox"] if os.geteuid() == 0 else [],
            )
        return self._browser

    def close(self) -> None:
        if self._driver is not None:
            self._browser.close()
            self._driver.stop()
        self._driver = self._browser = None


class Visitor:
    """One person with a browser of their own: pages of a hub, all of them watched."""

    def __init__(self, stage: Stage, hub: HubProcess, **options: object) -> None:
        asked = {"viewport": {"width": 1280, "height": 800}, "reduced_motion": "reduce", **options}
        self.hub = hub
        self.context = stage.browser.new_context(**asked)
        self.context.set_default_timeout(TIMEOUT_MS)
        self.context.add_init_script(_WATCH)
        self.troubles: list[str] = []
        self.requests: list[str] = []
        self._expected: list[re.Pattern[str]] = []

    def expect_trouble(self, pattern: str) -> None:
        """Errors on the console that match are part of the test."""
        self._expected.append(re.compile(pattern))

    def page(self) -> Any:
        """A new, empty page."""
        page = self.context.new_page()
        page.on("console", self._hear)
        page.on("pageerror", lambda error: self.troubles.append(f"{error}"))
        page.on("request", lambda request: self.requests.append(request.url))
        return page

    def open(self, place: str = "") -> Any:
        """A page that is signed in, at a place of the panel."""
        page = self.page()
        page.goto(f"{self.hub.url}/#token={self.hub.token}")
        page.locator(".connection.is-live").wait_for()
        if place:
            page.evaluate("place => { location.hash = place; }", place)
        return page

    def _hear(self, message: Any) -> None:
        if message.type in ("error", "warning"):
            self.troubles.append(message.text)

    def close(self) -> None:
        """Leave; whatever went wrong on a page is raised now."""
        self.context.close()
        strange = [url for url in self.requests if not url.startswith((f"{self.hub.url}/", "data:"))]
        assert not strange, strange
        troubles = [one for one in self.troubles if not any(each.search(one) for each in self._expected)]
        assert not troubles, troubles


def no_scrolling_sideways(page: Any) -> None:
    """Nothing is wider than the window, neither the page nor a part of it that scrolls."""
    wide = page.evaluate(
        """() => [document.documentElement, ...document.querySelectorAll("*")]
          .filter((one) => {
            const style = getComputedStyle(one);
            const scrolls = one === document.documentElement || /auto|scroll/.test(style.overflowX);
            return scrolls && one.scrollWidth > one.clientWidth + 1;
          })
          .map((one) => `${one.tagName}.${one.className} ${one.scrollWidth} > ${one.clientWidth}`)"""
    )
    assert not wide, wide


def picture(page: Any, name: str) -> Path:
    """A screenshot among the artefacts."""
    ARTEFACTS.mkdir(parents=True, exist_ok=True)
    path = ARTEFACTS / f"{name}.png"
    page.screenshot(path=path)
    return path


def expect(locator: Any) -> Any:
    """Playwright's assertions, which wait; imported late, because it may be missing."""
    from playwright.sync_api import expect as expecting

    return expecting(locator)


def becomes(page: Any, script: str, value: object) -> None:
    """Wait until `script` gives `value`; if it never does, say what it gives instead."""
    from playwright.sync_api import TimeoutError as Late

    same = f"wanted => JSON.stringify(({script})()) === wanted"
    try:
        page.wait_for_function(same, arg=json.dumps(value, separators=(",", ":"), ensure_ascii=False))
    except Late:
        assert page.evaluate(script) == value
        raise
