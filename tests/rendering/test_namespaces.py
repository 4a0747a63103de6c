"""Two external origins may use the same id: neither is taken for the other (decision 3)."""

from __future__ import annotations

import msgspec
import pytest

import tidings as td
from tests.core.build import reminder, transcript
from tidings.core.records import LIFECYCLE_TOPIC
from tidings.rendering.request import Issued
from tidings.shell.transforms import admit_reminder

HI = [{"role": "user", "content": "hi"}]
LATER = [*HI, {"role": "assistant", "content": "ok"}, {"role": "user", "content": "go on"}]
ORIGINS = ("ci", "tests")
ROUTES = ("anthropic/claude-opus-5-5", "openai/gpt-5", "gemini/gemini-2.5-pro", "plain/x")


def from_both(**fields: object) -> td.Transcript:
    made = td.Transcript(session_id="s")
    for origin in ORIGINS:
        options = {"body": f"news of {origin}", "id": "n1", **fields}
        made = admit_reminder(made, options, producer="mcp", origin=origin).transcript
    return made


def append(route: str, of: td.Transcript, messages: list, issued: object = ()) -> td.Request:
    return td.render(route, messages=messages, reminders=of.pending, placement="append_only", issued=issued)


def on(route: str, messages: list[dict[str, str]]) -> list[dict[str, object]]:
    if not route.startswith("gemini"):
        return list(messages)
    roles = {"user": "user", "assistant": "model"}
    return [{"role": roles[m["role"]], "parts": [{"text": m["content"]}]} for m in messages]


@pytest.mark.parametrize("route", ROUTES)
def test_both_are_issued_once_and_each_has_its_own_record(route: str) -> None:
    with td.open_log("memory:") as log, td.active_log(log):
        before = from_both(ttl_turns=3)
        first = append(route, before, on(route, HI))
        shown = td.mark_fired(before, first, turn=1).transcript
        second = append(route, shown, on(route, LATER), first.issued)
        fired = [r.payload["reminder_id"] for r in log.read(LIFECYCLE_TOPIC) if r.kind.endswith("fired")]
        assert td.replay(log, "s") == shown
    assert [(each.reminder_id, each.scope) for each in first.fired] == [("n1", "ci"), ("n1", "tests")]
    assert all(f"news of {origin}" in str(first.body) for origin in ORIGINS)
    assert (fired, second.fired) == (["n1", "n1"], ())


def test_one_that_comes_later_is_issued_although_its_id_stands_there() -> None:
    late = from_both()
    early = td.clear_reminders(late, id="n1").transcript
    early = admit_reminder(early, {"body": "a", "id": "n1"}, producer="mcp", origin="ci").transcript
    first = append("openai/gpt-5", early, HI)
    both = td.mark_fired(early, first, turn=1).transcript
    both = admit_reminder(both, {"body": "b", "id": "n1"}, producer="mcp", origin="tests").transcript
    both = td.inject_reminder(both, body="c").transcript
    second = append("openai/gpt-5", both, LATER, first.issued)
    assert [each.scope for each in second.fired] == ["tests", None]


def test_an_operators_reminder_of_the_same_id_is_another_one() -> None:
    mine, theirs = reminder("n1"), reminder("n1", trust="external", origin="ci", body="theirs")
    first = append("openai/gpt-5", transcript(mine), HI)
    assert first.issued[0].reminder_ids == ("n1",)
    second = append("openai/gpt-5", transcript(mine, theirs), LATER, first.issued)
    assert [each.slot for each in second.fired] == [("ci", "n1")]


def test_no_ttl_is_spent_for_the_others_showing() -> None:
    before = from_both(ttl_turns=1, tags=["t"])
    only = td.render("plain/x", messages="hi", reminders=before.pending[:1])
    shown = td.mark_fired(before, only, turn=1).transcript
    after = td.post_turn(shown, turn=1).transcript
    assert [(r.scope, r.ttl_turns) for r in after.pending] == [("tests", 1)]


def test_only_the_one_that_was_replaced_is_said_to_be_off() -> None:
    before = from_both(dedupe_key="build")
    first = append("openai/gpt-5", before, HI)
    shown = td.mark_fired(before, first, turn=1).transcript
    newer = {"body": "newer of ci", "dedupe_key": "build"}
    replaced = admit_reminder(shown, newer, producer="mcp", origin="ci").transcript
    second = append("openai/gpt-5", replaced, LATER, first.issued)
    assert second.announced == {("ci", "n1")}
    assert str(second.body).count("was replaced by a newer one") == 1
    told = td.mark_fired(replaced, second, turn=2).transcript
    assert append("openai/gpt-5", told, [*LATER, *LATER], second.issued).announced == frozenset()


def test_issued_entries_and_marks_of_the_former_form_are_read() -> None:
    entry = {
        "at": 1,
        "place": "message",
        "content": {"role": "user", "content": "x"},
        "reminder_ids": ["n1"],
    }
    issued = msgspec.convert([entry], tuple[Issued, ...])
    second = append("openai/gpt-5", from_both(), LATER, issued)
    assert [each.slot for each in second.fired] == [("ci", "n1"), ("tests", "n1")]
    marks = {
        "turn": 1,
        "standing": ["n1"],
        "withdrawn": [{"reminder_id": "n1", "reason": "x", "body": "y"}],
    }
    stored = {**from_both().to_dict(), "reminder_lifecycle": marks}
    assert td.Transcript.from_dict(stored).to_dict()["reminder_lifecycle"]["standing"] == ["n1"]


def test_issued_entries_survive_being_stored() -> None:
    first = append("openai/gpt-5", from_both(), HI)
    stored = msgspec.json.decode(msgspec.json.encode(first.issued), type=tuple[Issued, ...])
    assert stored == first.issued
    assert first.issued[0].reminder_ids == (("ci", "n1"), ("tests", "n1"))
