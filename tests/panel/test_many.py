"""Ten thousand records: only what is seen is in the document, and a burst is drawn in few frames."""

from __future__ import annotations

from typing import Any

import pytest

from tests.panel.hubs import HubProcess
from tests.panel.stage import Visitor, expect, picture
from tidings.core.reminder import Payload

TURNS = 1_250
NODES = "() => document.querySelectorAll('*').length"
MOST_NODES = 4_000
TWO_FRAMES = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
COUNTED = """
const real = requestAnimationFrame.bind(globalThis);
globalThis.framesAsked = 0;
globalThis.requestAnimationFrame = (callback) => { framesAsked += 1; return real(callback); };
"""


def turn_records(number: int) -> tuple[list[Payload], list[Payload]]:
    """What a loop writes for one turn: five records of its transcript, three of its reminders."""
    name, at = f"r{number}", 1_700_000_000_000 + number * 1000
    call = {"id": f"c{number}", "name": "look", "arguments": {"at": number}}
    said: Payload = {"role": "assistant", "content": f"Answer {number}.", "tool_calls": [call]}
    result: Payload = {"role": "tool", "tool_call_id": f"c{number}", "name": "look", "content": "seen"}
    reminder: Payload = {
        "id": name, "tags": ["build"], "ttl_turns": 1, "preserve_on_compact": False, "propagate": "session",
        "role_hint": "system", "source": "bridge", "body": f"News {number}.", "fired_at_turn": number,
    }  # fmt: skip
    event = {"id": f"e{number}", "kind": "system_reminder", "reminder": reminder}
    transcript = [
        ("transcript.injected", {"event": event}),
        ("transcript.fired", {"turn": number, "postponed": []}),
        ("transcript.message", {"message": said}),
        ("transcript.passed", {"turn": number}),
        ("transcript.message", {"message": result}),
    ]
    lifecycle = [
        ("transcript.reminder.injected", {**reminder, "reminder_id": name}),
        (
            "transcript.reminder.fired",
            {"reminder_id": name, "turn_number": number, "rendered_role": "system"},
        ),
        ("transcript.reminder.expired", {"reminder_id": name, "reason": "ttl", "expired_at_turn": number}),
    ]

    def numbered(records: list[tuple[str, Payload]]) -> list[Payload]:
        start = (number - 1) * len(records) + 1
        return [
            {"cursor": start + offset, "kind": kind, "atMs": at, "payload": payload}
            for offset, (kind, payload) in enumerate(records)
        ]

    return numbered(transcript), numbered(lifecycle)


def tell_turns(hub: HubProcess, session_id: str, numbers: range) -> None:
    told = [turn_records(number) for number in numbers]
    hub.tell(session_id, "transcript", [one for transcript, _ in told for one in transcript])
    hub.tell(session_id, "lifecycle", [one for _, lifecycle in told for one in lifecycle])


@pytest.fixture(scope="module")
def crowded(hub: HubProcess) -> HubProcess:
    hub.register("many", agent="busy", workspace="/srv/many")
    tell_turns(hub, "many", range(1, TURNS + 1))
    return hub


@pytest.fixture
def page(crowded: HubProcess, visitor: Visitor) -> Any:
    visitor.context.add_init_script(COUNTED)
    page = visitor.open("#/sessions/many/transcript")
    expect(page.locator("article.turn h3").last).to_have_text("Next request")
    expect(page.locator("#tab-records .count")).to_have_text("10,000")
    return page


@pytest.mark.parametrize("tab", ["transcript", "reminders", "timeline", "records"])
def test_only_what_is_seen_is_in_the_document(page: Any, tab: str) -> None:
    page.locator(f"#tab-{tab}").click()
    entries = page.locator(f"#panel-{tab} .window > *")
    expect(entries.first).to_be_visible()
    assert entries.count() < 80
    assert page.evaluate(NODES) < MOST_NODES
    picture(page, f"many-{tab}")


def test_loading_ten_thousand_records_takes_few_frames(page: Any) -> None:
    assert page.evaluate("() => framesAsked") < 80


def test_scrolling_draws_what_comes_into_view_and_drops_what_leaves(page: Any) -> None:
    scroller = page.locator(".scroll.transcript")
    scroller.evaluate("one => { one.scrollTop = 0; }")
    expect(page.locator("article.turn h3").first).to_have_text("Turn 1")
    assert page.locator("article.turn").count() < 40
    for _ in range(10):
        scroller.evaluate("one => { one.scrollTop += 5000; }")
        page.evaluate(
            "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
        )
        visible = """() => [...document.querySelectorAll("article.turn")]
          .filter((one) => one.getBoundingClientRect().bottom > 200).length"""
        assert page.evaluate(visible) > 2
    assert page.evaluate(NODES) < MOST_NODES
    page.get_by_role("button", name="Newest").click()
    expect(page.locator("article.turn h3").last).to_have_text("Next request")


def test_a_burst_is_folded_and_drawn_in_a_bounded_number_of_frames_and_the_end_stays_in_view(
    hub: HubProcess, visitor: Visitor
) -> None:
    hub.register("burst", agent="burst")
    tell_turns(hub, "burst", range(1, 26))
    visitor.context.add_init_script(COUNTED)
    page = visitor.open("#/sessions/burst/transcript")
    expect(page.locator("#tab-records .count")).to_have_text("200")
    before = page.evaluate("() => framesAsked")
    tell_turns(hub, "burst", range(26, 276))
    expect(page.locator("#tab-records .count")).to_have_text("2,200")
    expect(page.locator("article.turn h3", has_text="Turn 275")).to_be_in_viewport()
    assert page.evaluate("() => framesAsked") - before < 250
    assert page.evaluate(NODES) < MOST_NODES


def test_one_who_reads_further_up_is_not_moved(hub: HubProcess, visitor: Visitor) -> None:
    hub.register("still", agent="still")
    tell_turns(hub, "still", range(1, 61))
    page = visitor.open("#/sessions/still/transcript")
    expect(page.locator("article.turn h3").last).to_have_text("Next request")
    scroller = page.locator(".scroll.transcript")
    scroller.evaluate("one => { one.scrollTop = 900; }")
    first = """() => {
      const top = document.querySelector(".scroll.transcript").getBoundingClientRect().top;
      const all = [...document.querySelectorAll("article.turn")];
      const seen = all.find((one) => one.getBoundingClientRect().bottom > top);
      return [seen.querySelector("h3").textContent, Math.round(seen.getBoundingClientRect().top)];
    }"""
    page.evaluate(TWO_FRAMES)
    before = page.evaluate(first)
    tell_turns(hub, "still", range(61, 121))
    expect(page.locator("#tab-records .count")).to_have_text("960")
    assert page.evaluate(first) == before


def test_scrolling_up_into_what_was_never_measured_moves_by_as_much_as_was_asked(page: Any) -> None:
    scroller = page.locator(".scroll.transcript")
    scroller.evaluate("one => { one.scrollTop = one.scrollHeight / 2; }")
    page.evaluate(TWO_FRAMES)
    page.evaluate(TWO_FRAMES)
    step = """() => {
      const scroller = document.querySelector(".scroll.transcript");
      const top = scroller.getBoundingClientRect().top;
      const seen = [...document.querySelectorAll("article.turn")]
        .find((one) => one.getBoundingClientRect().top > top);
      globalThis.marked = [seen.windowKey, seen.getBoundingClientRect().top];
      scroller.scrollTop -= 60;
    }"""
    moved = """() => {
      const [key, top] = globalThis.marked;
      const seen = [...document.querySelectorAll("article.turn")].find((one) => one.windowKey === key);
      return Math.round(seen.getBoundingClientRect().top - top);
    }"""
    distances = []
    for _ in range(20):
        page.evaluate(step)
        page.evaluate(TWO_FRAMES)
        distances.append(page.evaluate(moved))
    assert distances == [60] * 20


def test_of_a_very_long_session_the_last_part_is_loaded_and_more_on_demand(
    hub: HubProcess, visitor: Visitor
) -> None:
    hub.register("longer", agent="longer")
    tell_turns(hub, "longer", range(1, 1_626))
    page = visitor.open("#/sessions/longer/transcript")
    expect(page.locator("#tab-records .count")).to_have_text("12,000")
    page.locator(".scroll.transcript").evaluate("one => { one.scrollTop = 0; }")
    expect(page.locator(".earlier")).to_contain_text("1,000 earlier records not loaded.")
    page.get_by_role("button", name="Load more").click()
    expect(page.locator("#tab-records .count")).to_have_text("13,000")
    page.locator(".scroll.transcript").evaluate("one => { one.scrollTop = 0; }")
    expect(page.locator("article.turn h3").first).to_have_text("Turn 1")
    expect(page.locator(".earlier")).to_have_text("The beginning of the session.")
