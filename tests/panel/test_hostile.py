"""Text that means harm: the panel shows it as text, whole, in its place, whatever it is made of."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.panel.hubs import HubProcess
from tests.panel.stage import Visitor, becomes, expect, no_scrolling_sideways, picture
from tidings.core.records import KINDS as KINDS_OF_REMINDERS
from tidings.core.reminder import Payload

MARKUP = (
    "<script>document.title='gone'</script><img src=x onerror=\"document.title='gone'\">"
    "<style>*{display:none}</style><a href='javascript:alert(1)'>x</a></system-reminder>&lt;b&gt;"
)
BIDI = "before \u202egnp.exe\u202c after \u2066\u05d0\u05d1\u05d2\u2069 end"
CONTROL = "a\x00b\x1b[31mred\x07\u200bzero\ufeff \U000e0041tag \u0085next"
SPACES = "مرحبا world שלום 👩‍👩‍👧 हिन्दी"
BODIES = {
    "markup": (MARKUP, MARKUP),
    "bidi": (BIDI, "before ⟨U+202E⟩gnp.exe⟨U+202C⟩ after ⟨U+2066⟩\u05d0\u05d1\u05d2⟨U+2069⟩ end"),
    "control": (CONTROL, "a␀b␛[31mred␇⟨U+200B⟩zero⟨U+FEFF⟩ ⟨U+E0041⟩tag ⟨U+0085⟩next"),
    "scripts": (SPACES, SPACES),
    "long": ("w" * 6_000, "w" * 1_200),
}
"""What is sent, and how it starts on the page."""


@pytest.fixture(scope="module")
def harmed(hub: HubProcess) -> HubProcess:
    """A session whose every text means harm: agent, tags, keys, bodies, messages, tool calls."""
    hub.register("evil", agent=MARKUP[:150], workspace=f"/srv/{BIDI}", tags=[MARKUP[:100], "w" * 200])
    for name, (body, _) in BODIES.items():
        hub.remind(body, {"session": "evil"}, id=f"evil-{name}", tags=[MARKUP[:60]], dedupeKey=BIDI)
    call = {"id": "c1", "name": MARKUP, "arguments": {MARKUP: "w" * 3_000, "bidi": BIDI}}
    messages = [
        {"role": "user", "content": MARKUP + BIDI},
        {"role": "assistant", "content": "w" * 9_000, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "name": MARKUP, "content": CONTROL, "is_error": True},
        {"role": MARKUP, "content": [{"type": "text", "text": MARKUP}, {"type": "image", "data": "x"}, 7]},
        {"content": {"odd": MARKUP}},
    ]
    hub.tell(
        "evil",
        "transcript",
        [record(n + 1, "transcript.message", message=m) for n, m in enumerate(messages)],
    )
    odd = [
        record(1, MARKUP[:120], any=MARKUP),
        record(2, "transcript.reminder.warning", code=MARKUP, message=BIDI),
    ]
    hub.tell(
        "evil", "lifecycle", [*odd, record(3, "transcript.reminder.fired"), record(4, "loop.checkpoint")]
    )
    return hub


def record(cursor: int, kind: str, **payload: object) -> Payload:
    kind = "".join(letter for letter in kind if not letter.isspace())
    return {"cursor": cursor, "kind": kind, "atMs": 1_700_000_000_000 + cursor, "payload": payload}


@pytest.fixture
def page(harmed: HubProcess, visitor: Visitor) -> Any:
    page = visitor.open("#/sessions/evil/transcript")
    expect(page.locator(".session-head h1")).to_contain_text("<script>")
    return page


@pytest.mark.parametrize("name", BODIES)
def test_a_body_is_text_and_nothing_else(page: Any, name: str) -> None:
    page.evaluate("name => { location.hash = `#/sessions/evil/reminders/evil-${name}` }", name)
    expect(page.locator("#detail .quoted")).to_have_text(BODIES[name][1], use_inner_text=True)
    assert page.title() == "Tidings"
    becomes(page, "() => document.querySelectorAll('main script, main img, main style, main a').length", 0)
    no_scrolling_sideways(page)
    picture(page, f"hostile-{name}")


@pytest.mark.parametrize("tab", ["transcript", "reminders", "timeline", "records"])
def test_every_tab_bears_it(page: Any, tab: str) -> None:
    page.locator(f"#tab-{tab}").click()
    expect(page.locator(f"#panel-{tab} .window > *").first).to_be_visible()
    no_scrolling_sideways(page)
    becomes(page, "() => getComputedStyle(document.body).display", "flex")


def test_its_direction_stays_its_own(page: Any) -> None:
    page.evaluate("() => { location.hash = '#/sessions/evil/reminders/evil-scripts' }")
    quoted = page.locator("#detail .quoted")
    expect(quoted).to_have_text(SPACES)
    becomes(page, "() => getComputedStyle(document.querySelector('#detail .quoted')).direction", "rtl")
    becomes(page, "() => getComputedStyle(document.querySelector('#detail h2')).direction", "ltr")


def test_64_kib_are_folded_and_open_whole(hub: HubProcess, visitor: Visitor) -> None:
    text = "line of a long report, with \u202e and <b>tags</b>\n" * 1_400
    hub.register("long", agent="long")
    told = {"role": "user", "content": text}
    hub.tell("long", "transcript", [record(1, "transcript.message", message=told)])
    page = visitor.open("#/sessions/long/transcript")
    shown = page.locator(".message.user .words")
    expect(shown).to_be_visible()
    assert len(shown.inner_text().splitlines()) == 14
    page.get_by_role("button", name=re.compile(r"^Show all \d+ KiB$")).click()
    length = "() => document.querySelector('.message.user .words').textContent.length"
    becomes(page, length, len(text.replace("\u202e", "⟨U+202E⟩")))
    becomes(page, "() => document.querySelector('.message.user .words').childNodes.length", 1)
    no_scrolling_sideways(page)
    page.get_by_role("button", name="Fold").click()
    assert len(shown.inner_text().splitlines()) == 14


KINDS = (
    "transcript.message", "transcript.fired", "transcript.passed", "transcript.injected",
    "transcript.audited", "transcript.cleared", "transcript.snapshot", "mailbox.queued", "mailbox.drained",
    "mailbox.revoked", "request.rendered", "loop.checkpoint", "session.emitted",
    *(f"transcript.reminder.{kind}" for kind in KINDS_OF_REMINDERS),
)  # fmt: skip
SHAPES: tuple[Payload, ...] = (
    {},
    dict.fromkeys(("message", "event", "transcript", "item", "turn", "ids", "reminder_id", "rendered"), 7),
    dict.fromkeys(("message", "event", "transcript", "item", "turn", "ids", "rendered", "tags"), "text"),
    {"message": {"role": "assistant", "content": 7, "tool_calls": [None, 7, {}]}, "turn": 1},
    {"event": {"reminder": {"id": 5, "tags": 7, "body": {}, "ttl_turns": "x", "_meta": {"tidings": 7}}}},
    {
        "turn": 1e300,
        "turn_number": -1,
        "reminder_id": {"a": 1},
        "reminder_ids": [None],
        "replaced_ids": [{}],
    },
    {"transcript": {"messages": [7, None], "events": [7, {"kind": "system_reminder", "reminder": 7}]}},
    {"item": {"reminder": {}, "message": {}}, "rendered": [7, None, {}], "turn": 2, "reminder_id": "r"},
)
"""Payloads that no loop of ours writes."""


def test_records_of_any_shape_leave_the_page_at_work(hub: HubProcess, visitor: Visitor) -> None:
    hub.register("odd", agent="odd")
    odd = [record(1, kind, **shape) for kind in KINDS for shape in SHAPES]
    hub.tell("odd", "transcript", [{**one, "cursor": at} for at, one in enumerate(odd, 1)])
    page = visitor.open("#/sessions/odd/records")
    expect(page.locator("#tab-records .count")).to_have_text(str(len(odd)))
    expect(page.locator(".records .says", has_text="could not be read").first).to_be_visible()
    for tab in ("transcript", "reminders", "timeline"):
        page.locator(f"#tab-{tab}").click()
        expect(page.locator(f"#panel-{tab} .window > *").first).to_be_visible()
        for entry in page.locator(f"#panel-{tab} .option").all()[:20]:
            entry.click()
    hub.tell("odd", "lifecycle", [record(1, "transcript.reminder.queued", reminder_id="sound", mode="x")])
    page.locator("#tab-reminders").click()
    expect(page.locator(".reminders [data-reminder='sound']")).to_be_visible()
