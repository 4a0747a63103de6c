"""How the panel looks: at every width without scrolling sideways, dark and light, still when asked to be.

Screenshots are artefacts. `make panel-picture` writes the one that the docs show.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.panel.hubs import HubProcess
from tests.panel.stage import Visitor, becomes, expect, no_scrolling_sideways, picture
from tests.panel.stories import Story, nothing, workspace_story

PLACES = {
    "transcript": "#/sessions/cart/transcript",
    "detail": "#/sessions/cart/transcript/frozen",
    "reminders": "#/sessions/cart/reminders",
    "timeline": "#/sessions/cart/timeline",
    "records": "#/sessions/cart/records",
    "queue": "#/queue",
    "consent": "#/consent",
    "workspaces": "#/workspaces",
}
WIDTHS = {400: 800, 760: 900, 1280: 800, 2000: 1200}
CURATED = Path(__file__).parents[2] / "docs" / "images" / "panel.png"
LARGEST = 300 * 1024
BACKGROUND = "() => getComputedStyle(document.documentElement).backgroundColor"
LIGHT, DARK = "rgb(253, 253, 252)", "rgb(22, 23, 22)"


@pytest.fixture(scope="module")
def shop(hub: HubProcess) -> Iterator[HubProcess]:
    """A hub with a working day, a second session, one that ended, and something on its way."""
    folder = hub.folder / "shop"
    folder.mkdir()
    hub.register("yesterday", agent="release-notes", workspace="/home/ada/site")
    hub.ask("POST", "/v1/sessions/unregister", {"sessionId": "yesterday"})
    about = {"agent": "cart-fixer", "workspace": "/home/ada/shop", "tags": ["shop"]}
    day = Story(hub, workspace_story(folder), "cart", **about)
    with Story(hub, nothing, "reviewer", agent="reviewer", workspace="/home/ada/shop"), day:
        hub.remind("Staging is down until noon.", {"tag": "ops"}, tags=["ops"], dedupeKey="staging")
        yield hub


def at(visitor: Visitor, place: str) -> Any:
    page = visitor.open(place)
    if "/cart/" in place:
        expect(page.locator("#tab-reminders .count")).to_have_text("7")
    return page


@pytest.mark.parametrize(
    ("width", "scheme"), [*((width, "light") for width in WIDTHS), (400, "dark"), (1280, "dark")]
)
def test_every_view_fits_every_width(
    shop: HubProcess, visit: Callable[..., Visitor], width: int, scheme: str
) -> None:
    visitor = visit(shop, viewport={"width": width, "height": WIDTHS[width]}, color_scheme=scheme)
    page = at(visitor, PLACES["transcript"])
    for name, place in PLACES.items():
        page.evaluate("place => { location.hash = place; }", place)
        expect(page.locator("main > .view:visible")).to_have_count(1)
        no_scrolling_sideways(page)
        picture(page, f"{name}-{width}-{scheme}")


@pytest.mark.parametrize("width", [400, 1280])
def test_dialogs_fit_too(shop: HubProcess, visit: Callable[..., Visitor], width: int) -> None:
    page = at(visit(shop, viewport={"width": width, "height": 800}), PLACES["transcript"])
    for key in ("n", "c", "?"):
        page.keyboard.press(key)
        dialog = page.get_by_role("dialog")
        expect(dialog).to_be_visible()
        if key == "n":
            dialog.get_by_text("More fields").click()
        no_scrolling_sideways(page)
        picture(page, f"dialog-{ {'n': 'send', 'c': 'clear', '?': 'help'}[key] }-{width}")
        page.keyboard.press("Escape")
        expect(dialog).to_have_count(0)


def test_narrow_it_goes_from_the_list_to_the_session_and_back(
    shop: HubProcess, visit: Callable[..., Visitor]
) -> None:
    page = visit(shop, viewport={"width": 400, "height": 800}).open()
    page.locator("#side .session", has_text="cart-fixer").click()
    expect(page.locator("#side")).to_be_hidden()
    expect(page.locator(".session-head h1")).to_contain_text("cart-fixer")
    page.get_by_role("button", name="All sessions").click()
    expect(page.locator("#side .session")).to_have_count(3)
    picture(page, "sessions-400-light")


def test_dark_and_light_follow_the_system_or_the_choice_which_is_remembered(
    shop: HubProcess, visit: Callable[..., Visitor]
) -> None:
    page = visit(shop, color_scheme="dark").open()
    becomes(page, BACKGROUND, DARK)
    page.emulate_media(color_scheme="light")
    becomes(page, BACKGROUND, LIGHT)
    page.get_by_role("button", name="Colours: Auto").click()
    page.get_by_role("button", name="Colours: Light").click()
    becomes(page, BACKGROUND, DARK)
    page.reload()
    expect(page.get_by_role("button", name="Colours: Dark")).to_be_visible()
    becomes(page, BACKGROUND, DARK)
    page.keyboard.press("t")
    becomes(page, BACKGROUND, LIGHT)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_can_be_read(shop: HubProcess, visit: Callable[..., Visitor], scheme: str) -> None:
    page = at(visit(shop, color_scheme=scheme), PLACES["detail"])
    for place in PLACES.values():
        page.evaluate("place => { location.hash = place; }", place)
        expect(page.locator("main > .view:visible")).to_have_count(1)
        assert page.evaluate(CONTRAST) == []


def test_nothing_moves_for_one_who_asked_for_that(shop: HubProcess, visitor: Visitor) -> None:
    page = at(visitor, PLACES["detail"])
    moving = """() => [...document.querySelectorAll("*")]
      .map((one) => getComputedStyle(one))
      .filter((style) => style.animationName !== "none" || style.transitionDuration !== "0s").length"""
    becomes(page, moving, 0)


def test_the_picture_of_the_docs_is_there_and_small(
    shop: HubProcess, visit: Callable[..., Visitor]
) -> None:
    visitor = visit(shop, viewport={"width": 1280, "height": 800}, color_scheme="light")
    page = at(visitor, "#/sessions/cart/transcript")
    page.locator(".scroll.transcript").evaluate("one => { one.scrollTop = 0; }")
    page.locator(".note", has_text="pytest: 2 failed").first.click()
    expect(page.locator("#detail .fragment.first")).to_be_visible()
    drawn = picture(page, "curated")
    if os.environ.get("PANEL_PICTURE"):
        CURATED.parent.mkdir(exist_ok=True)
        CURATED.write_bytes(drawn.read_bytes())
    assert drawn.stat().st_size <= LARGEST
    assert CURATED.stat().st_size <= LARGEST


CONTRAST = """() => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgb = (color) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = color;
    canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
  };
  const light = ([r, g, b]) => [r, g, b]
    .map((part) => part / 255)
    .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4))
    .reduce((sum, part, at) => sum + part * [0.2126, 0.7152, 0.0722][at], 0);
  const behind = (one) => {
    for (let at = one; at; at = at.parentElement) {
      const color = rgb(getComputedStyle(at).backgroundColor);
      if (color[3] === 255) return color;
    }
    return [255, 255, 255, 255];
  };
  const weak = new Set();
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const one = texts.currentNode.parentElement;
    if (!texts.currentNode.data.trim() || !one.checkVisibility()) continue;
    if (one.closest(":disabled, title")) continue;
    const style = getComputedStyle(one);
    if (parseFloat(style.fontSize) === 0) continue;
    const [a, b] = [light(rgb(one.closest("svg") ? style.fill : style.color)), light(behind(one))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) weak.add(`${one.tagName}.${one.className} ${ratio.toFixed(2)} ${one.textContent}`);
  }
  return [...weak];
}"""
"""Texts whose contrast with what is behind them is less than WCAG's AA asks for."""
