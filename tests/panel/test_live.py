"""The panel lives: what happens is there without polling, on every page, also after the hub was away."""

from __future__ import annotations

import signal
from collections.abc import Callable
from typing import Any

import pytest

from tests.panel.hubs import HubProcess
from tests.panel.stage import Visitor, expect, picture
from tests.panel.stories import Story, nothing
from tidings.core.reminder import Payload


def lost(visitor: Visitor) -> None:
    """What Chromium says of a hub that is away."""
    visitor.expect_trouble(r"ERR_(CONNECTION_REFUSED|CONNECTION_RESET|INCOMPLETE_CHUNKED|EMPTY|FAILED)")


def test_a_reminder_is_followed_from_the_hub_through_the_mailbox_without_polling(
    hub: HubProcess, visitor: Visitor
) -> None:
    with Story(hub, nothing, "lively"):
        page = visitor.open("#/sessions/lively/transcript")
        expect(page.locator("article.turn.next")).to_contain_text("Nothing is pending")
        before = len(visitor.requests)
        hub.remind("The build is red.", {"session": "lively"}, id="live-1")
        note = page.locator("article.turn.next .note")
        expect(note).to_contain_text("The build is red.")
        expect(note).to_contain_text("finish_step")
        assert len(visitor.requests) == before


def test_two_pages_show_the_same_and_what_one_does_the_other_sees(
    hub: HubProcess, visit: Callable[..., Visitor]
) -> None:
    hub.register("pair", agent="pair", workspace="/srv/pair")
    one, two = (visit(hub).open("#/sessions/pair/reminders") for _ in range(2))
    hub.remind("Both see this.", {"session": "pair"}, id="pair-1")
    for page in (one, two):
        expect(page.locator("[data-reminder='pair-1']")).to_contain_text("Waits at the hub")
    one.locator("[data-reminder='pair-1']").click()
    one.get_by_role("button", name="Revoke", exact=True).click()
    one.get_by_role("button", name="Revoke it").click()
    for page in (one, two):
        expect(page.locator(".reminders [data-reminder='pair-1'] .badge")).to_have_text("revoked")


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL], ids=["stopped", "killed"])
def test_after_a_restart_of_the_hub_the_page_goes_on_where_it_was(
    own_hub: HubProcess, visit: Callable[..., Visitor], how: signal.Signals
) -> None:
    visitor = visit(own_hub)
    lost(visitor)
    own_hub.register("s", agent="worker")
    page = visitor.open("#/sessions/s/reminders")
    own_hub.remind("Before.", {"session": "s"}, id="before")
    expect(page.locator("[data-reminder='before']")).to_be_visible()
    own_hub.stop(how)
    expect(page.locator(".connection")).to_contain_text("Reconnecting")
    picture(page, "reconnecting")
    own_hub.start()
    own_hub.remind("Meanwhile.", {"session": "s"}, id="meanwhile")
    page.locator(".connection").click()
    expect(page.locator(".connection")).to_contain_text("Live")
    expect(page.locator(".reminders [data-reminder]")).to_have_count(2)
    own_hub.tell("s", "lifecycle", [told("queued", reminder_id="told", mode="finish_step")])
    expect(page.locator("[data-reminder='told'] .badge")).to_have_text("queued")


def told(kind: str, **payload: object) -> Payload:
    at_ms = 1_700_000_000_000
    return {"cursor": 1, "kind": f"transcript.reminder.{kind}", "atMs": at_ms, "payload": payload}


def test_a_page_reconnects_by_itself(own_hub: HubProcess, visit: Callable[..., Visitor]) -> None:
    visitor = visit(own_hub)
    lost(visitor)
    page = visitor.open()
    own_hub.stop()
    expect(page.locator(".connection")).to_contain_text("Reconnecting")
    own_hub.start()
    expect(page.locator(".connection")).to_contain_text("Live")


def test_a_hub_that_lost_its_log_is_read_anew(own_hub: HubProcess, visit: Callable[..., Visitor]) -> None:
    visitor = visit(own_hub)
    lost(visitor)
    for number in range(5):
        own_hub.remind(f"Old {number}.", {"all": True}, id=f"old-{number}")
    page = visitor.open("#/queue")
    expect(page.locator(".queue [data-reminder]")).to_have_count(5)
    own_hub.stop()
    for path in own_hub.place.home.glob("hub.db*"):
        path.unlink()
    own_hub.start()
    own_hub.remind("New.", {"all": True}, id="new")
    page.locator(".connection").click()
    expect(page.locator(".queue [data-reminder]")).to_have_count(1)
    expect(page.locator("[data-reminder='new']")).to_contain_text("New.")


def test_a_page_opened_while_the_hub_is_away_says_so_and_tries_again(
    own_hub: HubProcess, visit: Callable[..., Visitor]
) -> None:
    visitor = visit(own_hub)
    lost(visitor)
    page = visitor.open()
    page.route("**/v1/status", lambda route: route.abort())
    page.reload()
    expect(page.locator(".welcome h1")).to_have_text("The hub does not answer")
    picture(page, "unreachable")
    expect(page.locator(".connection")).to_contain_text("Reconnecting")
    expect(page.get_by_role("button", name="Try again")).to_be_visible()
    page.unroute("**/v1/status")
    expect(page.locator(".connection")).to_contain_text("Live")


def hide(page: Any, hidden: bool) -> None:
    """Tell the page that nobody sees it, as the browser does."""
    page.evaluate(
        """hidden => {
          Object.defineProperty(document, "hidden", { configurable: true, get: () => hidden });
          document.dispatchEvent(new Event("visibilitychange"));
        }""",
        hidden,
    )


def test_a_page_that_nobody_sees_holds_no_connection_and_catches_up_when_seen(
    own_hub: HubProcess, visit: Callable[..., Visitor]
) -> None:
    page = visit(own_hub).open("#/queue")
    assert own_hub.ask("GET", "/v1/status")["subscribers"] == 1
    hide(page, True)
    expect(page.locator(".connection")).to_contain_text("Paused")
    own_hub.remind("While away.", {"all": True}, id="away")
    hide(page, False)
    expect(page.locator("[data-reminder='away']")).to_contain_text("While away.")
    expect(page.locator(".connection")).to_contain_text("Live")
