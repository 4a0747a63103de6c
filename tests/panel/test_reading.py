"""Reading on the panel: a real loop's session, its turns, its reminders with their states, its records."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.panel.hubs import HubProcess
from tests.panel.stage import Visitor, becomes, expect, picture
from tests.panel.stories import Story, nothing, small

NOTES = """() => [...document.querySelectorAll("article.turn")]
  .map((one) => [...one.querySelectorAll(".note")].map((each) => each.dataset.reminder))"""
STATES = """() => [...document.querySelectorAll(".reminders .reminder")]
  .map((one) => [one.dataset.reminder, one.querySelector(".badge").textContent])"""


@pytest.fixture(scope="module")
def told(hub: HubProcess) -> Iterator[Story]:
    """A session `s1` that went through the small story, and has one reminder waiting."""
    with Story(hub, small) as story:
        story.session.remind(body="Later.", id="later", ttl_turns=3)
        yield story


@pytest.fixture
def page(told: Story, visitor: Visitor) -> Any:
    return visitor.open("#/sessions/s1/transcript")


def test_the_transcript_shows_each_turn_with_the_reminders_that_it_showed(page: Any) -> None:
    expect(page.locator("article.turn h3")).to_have_text(["Turn 1", "Turn 2", "Turn 3", "Next request"])
    becomes(page, NOTES, [["green"], ["green", "green-left"], ["green-right"], ["green-right", "later"]])
    first = page.locator("article.turn").first
    expect(first.locator(".message.user .words")).to_have_text("Look around.")
    expect(first.locator(".tool .call b")).to_have_text("look")
    expect(page.locator("article.turn .message.assistant .words").last).to_have_text("All is well.")


def test_every_state_is_shown_with_its_reason(page: Any) -> None:
    page.locator("#tab-reminders").click()
    becomes(
        page,
        STATES,
        [
            ["later", "queued"],
            ["never-right", "revoked"],
            ["green-right", "emitted"],
            ["never-left", "revoked"],
            ["green-left", "replaced"],
            ["audit", "audited"],
            ["green", "expired"],
            ["red", "replaced"],
        ],
    )
    reasons = {
        "later": "In the mailbox; it is let in when the step is finished.",
        "green-right": "Shown in turn 3; still in the transcript, 1 turn left.",
        "red": "Replaced by green, which has the same key “build”.",
        "green": "Its 2 turns were over after turn 2. Shown in turns 1–2.",
        "audit": "Kept for the audit when the loop ended; the model never saw it.",
        "never-left": "Taken back before a seam let it in.",
    }
    for name, reason in reasons.items():
        expect(page.locator(f"[data-reminder='{name}'] .reason")).to_have_text(reason)


def test_an_open_reminder_shows_its_fields_the_fragment_with_its_place_and_its_history(page: Any) -> None:
    page.locator("#tab-reminders").click()
    page.locator(".reminders [data-reminder='green']").click()
    detail = page.locator("#detail")
    facts = {
        "Source": "bridge",
        "Trust": "host: from the owner of this machine",
        "Tags": "build",
        "Dedupe key": "build",
        "Mode": "finish_step",
        "Let in at": "iteration_start",
        "Propagate": "session",
        "Role hint": "system",
        "Reminder id": "green",
    }
    for name, value in facts.items():
        expect(detail.locator(f".facts dt:text-is('{name}') + dd")).to_have_text(value)
    first = detail.locator(".fragment.first")
    expect(first).to_contain_text("Turn 2, system")
    expect(first.locator("code.path")).to_have_text("messages[0].content")
    expect(first.locator(".words")).to_have_text("System reminder:\nThe build is green.")
    kinds = detail.locator(".history .kind").all_text_contents()
    assert [kind for kind in kinds if kind in ("queued", "deduped", "injected", "fired", "expired")] == [
        "queued", "deduped", "injected", "fired", "fired", "expired",
    ]  # fmt: skip
    page.keyboard.press("Escape")
    expect(detail).to_be_hidden()


def test_a_tool_call_is_folded_and_opens_to_its_result(page: Any) -> None:
    call = page.locator("article.turn .tool").first
    expect(call.locator(".state")).to_have_text("nothing left")
    expect(call.locator(".inside")).to_have_count(0)
    call.locator("summary").click()
    expect(call.locator(".inside .words")).to_have_text("nothing left")


def test_filters_and_search_choose_the_same_everywhere(page: Any) -> None:
    page.locator("#tab-reminders").click()
    page.locator(".more-filters summary").click()
    page.locator("[data-filter=tag]").select_option("build")
    expect(page.locator(".reminders .reminder")).to_have_count(2)
    expect(page.locator(".reminders-panel .found")).to_have_text("2 of 8 reminders match.")
    page.locator("[data-filter=kind]").select_option("transcript.reminder.fired")
    expect(page.locator(".reminders .reminder")).to_have_count(1)
    page.locator("#tab-transcript").click()
    expect(page.locator("article.turn h3")).to_have_text(["Turn 1", "Turn 2"])
    page.locator("#tab-records").click()
    expect(page.locator(".records .record .kind")).to_have_text(["fired", "fired"])
    page.locator("#tab-timeline").click()
    expect(page.locator(".lifeline .event")).to_have_count(2)
    page.get_by_role("button", name="Clear filter").click()
    page.locator("[data-filter=source]").select_option("bridge")
    page.locator("#tab-reminders").click()
    expect(page.locator(".reminders .reminder")).to_have_count(8)
    page.locator("#search").fill("AUDIT only")
    expect(page.locator(".reminders .reminder")).to_have_count(1)
    page.locator("#search").fill("no such words")
    expect(page.locator(".reminders-panel .found")).to_have_text("No reminder matches the filter.")


def test_the_timeline_has_a_line_for_each_reminder_by_turn_and_by_time(page: Any) -> None:
    page.locator("#tab-timeline").click()
    line = page.locator(".lifeline[data-reminder='green']")
    marks = """() => [...document.querySelectorAll(".lifeline[data-reminder='green'] .event")]
      .map((one) => one.classList[1])"""
    states = ["queued", "replaced", "pending", "emitted", "emitted", "expired"]
    becomes(page, marks, [f"is-{state}" for state in states])
    ticks = page.locator(".overview .tick-text")
    expect(ticks).to_have_text(["0", "1", "2", "3", "4"])
    page.get_by_label("Axis").select_option("time")
    expect(ticks.first).to_have_text(re.compile(r"^\d\d:\d\d:\d\d$"))
    line.click()
    expect(page.locator("#detail h2")).to_have_text("Reminder")


def test_records_open_whole_and_lead_to_their_reminder(page: Any) -> None:
    page.locator("#tab-records").click()
    page.locator(".records .record", has_text="revoked").first.click()
    detail = page.locator("#detail")
    expect(detail.locator("h2")).to_have_text("Record")
    expect(detail.locator(".code")).to_contain_text("never-")
    detail.locator(".links button").first.click()
    expect(detail.locator("h2")).to_have_text("Reminder")
    expect(detail).to_contain_text("Never mind.")


def test_the_place_stands_in_the_address_and_going_back_works(page: Any) -> None:
    page.locator("#tab-reminders").click()
    page.locator(".reminders [data-reminder='red']").click()
    expect(page).to_have_url(re.compile(r"#/sessions/s1/reminders/red$"))
    page.reload()
    expect(page.locator("#detail")).to_contain_text("The build is red.")
    page.go_back()
    expect(page.locator("#detail")).to_be_hidden()
    expect(page).to_have_url(re.compile(r"#/sessions/s1/reminders$"))


def test_the_sessions_are_listed_live_first_with_what_waits_for_each(
    own_hub: HubProcess, visit: Callable[..., Visitor]
) -> None:
    page = visit(own_hub).open()
    expect(page.locator(".welcome h1")).to_have_text("No session yet")
    picture(page, "empty")
    own_hub.register("gone", agent="past", workspace="/srv/past")
    own_hub.ask("POST", "/v1/sessions/unregister", {"sessionId": "gone"})
    own_hub.register("busy", agent="worker", workspace="/srv/app", capabilities={"delivery": "request"})
    own_hub.remind("One.", {"session": "busy"})
    own_hub.remind("Two.", {"workspace": "/srv/app"})
    expect(page.locator("#side .group")).to_have_text(["Live1", "Ended1"])
    live = page.locator("#side .session").first
    expect(live).to_contain_text("worker")
    expect(live).to_contain_text("delivery once")
    expect(live.locator(".count")).to_have_text("2")
    expect(page.locator("#side .session.ended")).to_contain_text("past")


def test_a_session_that_told_nothing_says_so(hub: HubProcess, visitor: Visitor) -> None:
    with Story(hub, nothing, "quiet"):
        page = visitor.open("#/sessions/quiet/transcript")
        expect(page.locator(".earlier")).to_have_text("Nothing was told of this session yet.")
        expect(page.locator("article.turn.next")).to_contain_text("Nothing is pending and nothing waits.")
