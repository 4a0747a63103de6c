"""The panel without a mouse: everything can be reached, moved through, opened and closed, and is named."""

from __future__ import annotations

from typing import Any

import pytest

from tests.panel.hubs import HubProcess
from tests.panel.stage import Visitor, becomes, expect
from tests.panel.stories import Story, small

FOCUS = "() => document.activeElement.id || document.activeElement.textContent.trim().slice(0, 20)"


@pytest.fixture
def page(hub: HubProcess, visitor: Visitor) -> Any:
    hub.register("a-first", agent="first", workspace="/srv/first")
    hub.register("b-second", agent="second", workspace="/srv/second")
    for number in range(3):
        hub.remind(f"News {number}.", {"session": "b-second"}, id=f"news-{number}", tags=["news"])
    page = visitor.open("#/sessions/a-first/transcript")
    expect(page.locator(".session-head h1")).to_contain_text("first")
    return page


def active(page: Any) -> Any:
    """The entry that the list with the focus has marked, as soon as it has."""
    marked = page.wait_for_function(
        "() => document.activeElement && document.activeElement.getAttribute('aria-activedescendant')"
    )
    return page.locator(f"[id='{marked.json_value()}']")


def test_a_whole_visit_by_keyboard_alone(page: Any, visitor: Visitor) -> None:
    page.keyboard.press("s")
    becomes(page, FOCUS, "sessions")
    page.keyboard.press("Home")
    while "second" not in (active(page).text_content() or ""):
        page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page.locator(".session-head h1")).to_contain_text("second")
    page.keyboard.press("2")
    expect(page.locator("#tab-reminders")).to_have_attribute("aria-selected", "true")
    expect(page.locator(".reminders .reminder").first).to_contain_text("News 2.")
    page.keyboard.press("m")
    page.keyboard.press("Home")
    expect(active(page)).to_contain_text("News 2.")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page.locator("#detail")).to_contain_text("News 1.")
    page.keyboard.press("j")
    expect(page.locator("#detail")).to_contain_text("News 0.")
    page.keyboard.press("r")
    expect(page.get_by_role("dialog")).to_contain_text("News 0.")
    becomes(page, FOCUS, "Keep")
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Enter")
    expect(page.locator("#said")).to_have_text("Revoked.")
    page.keyboard.press("Escape")
    expect(page.locator("#detail")).to_be_hidden()
    page.keyboard.press("n")
    page.keyboard.type("Sent by hand.")
    page.keyboard.press("Control+Enter")
    expect(page.locator("#said")).to_have_text("Sent to 1 session.")
    expect(page.locator(".reminders .reminder").first).to_contain_text("Sent by hand.")


def test_a_list_that_loads_late_is_marked_for_the_focus_that_waits_there(page: Any) -> None:
    page.route("**/v1/sessions/records*", lambda route: None)
    page.evaluate("() => { location.hash = '#/sessions/b-second/reminders'; }")
    expect(page.locator(".session-head h1")).to_contain_text("second")
    page.keyboard.press("m")
    becomes(page, "() => document.activeElement.ariaLabel", "Reminders")
    expect(page.locator(".reminders .reminder")).to_have_count(0)
    page.unroute("**/v1/sessions/records*")
    expect(active(page)).to_be_visible()


def test_the_help_lists_the_keys_and_escape_returns_the_focus(page: Any) -> None:
    page.locator("#search").focus()
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Help").focus()
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog")
    expect(dialog).to_have_attribute("aria-labelledby", "dialog-title")
    expect(dialog.locator("kbd", has_text="n").first).to_be_visible()
    expect(dialog).to_contain_text("was kept for the audit; the model never sees it")
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    becomes(page, FOCUS, "Help")


def test_keys_of_one_letter_can_be_switched_off_and_that_is_remembered(page: Any) -> None:
    page.keyboard.press("?")
    page.get_by_label("Keys of one letter work").uncheck()
    page.keyboard.press("Escape")
    page.keyboard.press("n")
    page.reload()
    expect(page.locator(".connection")).to_contain_text("Live")
    page.keyboard.press("n")
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_letters_are_letters_while_typing(page: Any) -> None:
    page.keyboard.press("/")
    page.keyboard.type("snr?1")
    expect(page.locator("#search")).to_have_value("snr?1")
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_be_visible()


def test_arrows_move_from_turn_to_turn_and_between_tabs(hub: HubProcess, visitor: Visitor) -> None:
    with Story(hub, small, "told"):
        page = visitor.open("#/sessions/told/transcript")
        expect(page.locator("article.turn")).to_have_count(4)
        page.keyboard.press("m")
        page.keyboard.press("ArrowDown")
        expect(page.locator("article.turn").first).to_be_focused()
        page.keyboard.press("ArrowDown")
        expect(page.locator("article.turn").nth(1)).to_be_focused()
        page.keyboard.press("k")
        expect(page.locator("article.turn").first).to_be_focused()
        page.keyboard.press("Tab")
        expect(page.locator("article.turn summary").first).to_be_focused()
        page.locator("#tab-transcript").focus()
        page.keyboard.press("ArrowRight")
        expect(page.locator("#tab-reminders")).to_be_focused()
        expect(page.locator("#tab-reminders")).to_have_attribute("aria-selected", "true")


def test_tab_reaches_every_control_and_the_focus_is_always_seen(page: Any) -> None:
    page.locator("#skip").focus()
    seen: list[str] = []
    for _ in range(40):
        page.keyboard.press("Tab")
        outlined = "() => getComputedStyle(document.activeElement).outlineStyle"
        assert page.evaluate(f"() => document.activeElement === document.body || ({outlined})() !== 'none'")
        seen.append(
            page.evaluate("() => document.activeElement.ariaLabel || document.activeElement.textContent")
        )
        if page.evaluate("() => document.activeElement === document.body"):
            break
    wanted = ["Sessions", "On its way", "Consent", "Workspaces", "Connection", "Colours", "Help", "Send"]
    wanted += ["Sessions", "Transcript", "Search", "Filter", "Transcript"]
    rest = iter(seen)
    assert all(any(name in one for one in rest) for name in wanted), seen


def test_the_focus_stays_where_it_is_when_something_arrives(hub: HubProcess, visitor: Visitor) -> None:
    hub.register("steady", agent="steady")
    hub.remind("First.", {"session": "steady"}, id="steady-1")
    page = visitor.open("#/sessions/steady/transcript")
    note = page.locator("article.turn.next [data-reminder='steady-1']")
    note.focus()
    hub.remind("Second.", {"session": "steady"}, id="steady-2")
    expect(page.locator("article.turn.next .note")).to_have_count(2)
    expect(note).to_be_focused()
    page.keyboard.press("Enter")
    close = page.locator("#detail .close")
    close.focus()
    hub.ask("POST", "/v1/leases", {"sessionId": "steady"})
    expect(page.locator("#detail")).to_contain_text("The session's host has it")
    expect(close).to_be_focused()


def test_the_first_stop_skips_to_the_content(page: Any) -> None:
    page.locator("#skip").focus()
    expect(page.locator("#skip")).to_be_in_viewport()
    page.keyboard.press("Enter")
    expect(page.get_by_role("feed", name="Transcript")).to_be_focused()


def test_what_happens_is_said_and_named(page: Any) -> None:
    expect(page.locator("#said")).to_have_attribute("aria-live", "polite")
    expect(page.get_by_role("listbox", name="Sessions")).to_be_visible()
    expect(page.get_by_role("tablist", name="Parts of the session")).to_be_visible()
    expect(page.get_by_role("feed", name="Transcript")).to_be_visible()
    expect(page.locator("#side").get_by_role("option", selected=True)).to_have_count(1)
    unnamed = """() => [...document.querySelectorAll("button, input, select, textarea, a[href]")]
      .filter((one) => one.checkVisibility())
      .filter((one) => !(one.textContent.trim() || one.ariaLabel || one.labels?.length))
      .map((one) => one.outerHTML)"""
    assert page.evaluate(unnamed) == []
