"""The public functions: their arguments, results and what they leave to the core."""

from __future__ import annotations

import pytest

import tidings as td
from tidings.core.records import LIFECYCLE_TOPIC
from tidings.shell.transforms import admit_reminder

SPEC = {
    "body": "Approaching context window cap.",
    "tags": ["token_pressure"],
    "dedupe_key": "token_pressure",
    "ttl_turns": 3,
    "preserve_on_compact": True,
    "propagate": "session",
    "role_hint": "developer",
}


def test_keywords_and_one_mapping_are_the_same() -> None:
    one = td.inject_reminder(td.Transcript(), SPEC).transcript.pending[0]
    other = td.inject_reminder(td.Transcript(), **SPEC).transcript.pending[0]
    assert {**one.to_dict(), "id": ""} == {**other.to_dict(), "id": ""}


def test_the_specifications_example_dedupes_and_clears() -> None:
    first = td.inject_reminder(td.Transcript(), SPEC)
    second = td.inject_reminder(first.transcript, SPEC)
    assert (first.deduped_count, second.deduped_count) == (0, 1)
    cleared = td.clear_reminders(second.transcript, tag="token_pressure")
    assert (cleared.removed_count, cleared.transcript.pending) == (1, [])


def test_an_unknown_keyword_is_a_diagnostic_not_a_type_error() -> None:
    with pytest.raises(td.DiagnosticError) as caught:
        td.inject_reminder(td.Transcript(), body="b", propogate="all")
    assert caught.value.code == "HARN-RMD-001"
    with pytest.raises(td.DiagnosticError):
        td.clear_reminders(td.Transcript(), key="x")


def test_a_whole_life_on_one_route_shows_the_reminder_exactly_as_long_as_its_ttl() -> None:
    transcript = td.inject_reminder(td.Transcript(), body="b", ttl_turns=2).transcript
    shown = []
    for turn in (1, 2, 3):
        request = td.render("openai/gpt-5", messages="hi", reminders=transcript.pending)
        shown.append(len(request.fired))
        transcript = td.mark_fired(transcript, request, turn=turn).transcript
        transcript = td.post_turn(transcript, turn=turn).transcript
    assert shown == [1, 1, 0]


def test_a_repeated_request_for_the_same_turn_spends_one_ttl() -> None:
    transcript = td.inject_reminder(td.Transcript(), body="b", ttl_turns=1).transcript
    td.render("openai/gpt-5", messages="hi", reminders=transcript.pending)
    again = td.render("openai/gpt-5", messages="hi", reminders=transcript.pending)
    transcript = td.mark_fired(transcript, again, turn=1).transcript
    assert len(again.fired) == 1
    assert td.post_turn(transcript, turn=1).expired_count == 1


def test_render_writes_nothing() -> None:
    log = td.open_log("memory:")
    with td.active_log(log):
        transcript = td.inject_reminder(td.Transcript(), body="b", ttl_turns=1).transcript
        td.render("openai/gpt-5", messages="hi", reminders=transcript.pending)
    assert log.latest(LIFECYCLE_TOPIC) == 1


def test_an_external_reminder_is_lowered_with_records_before_it_goes_in() -> None:
    log = td.open_log("memory:")
    asked = {**SPEC, "propagate": "all", "shade": "x", "body": "x" * 9000}
    with td.active_log(log):
        result = admit_reminder(td.Transcript(), asked, producer="mcp", origin="build")
    (reminder,) = result.transcript.pending
    assert (reminder.propagate, reminder.preserve_on_compact) == ("session", False)
    assert reminder.body.endswith("\n[truncated by tidings: 9000 bytes, limit 8192]")
    found = [(r.kind.split(".")[-1], r.payload.get("field")) for r in log.read(LIFECYCLE_TOPIC)]
    assert found == [
        ("restricted", "body"),
        ("restricted", "propagate"),
        ("restricted", "preserve_on_compact"),
        ("warning", None),
        ("injected", None),
    ]


def test_a_grant_lets_an_origin_keep_a_power() -> None:
    grants = frozenset({"preserve_on_compact", "propagate_all"})
    asked = {**SPEC, "propagate": "all"}
    result = admit_reminder(td.Transcript(), asked, producer="mcp", origin="build", grants=grants)
    (reminder,) = result.transcript.pending
    assert (reminder.propagate, reminder.preserve_on_compact) == ("all", True)


def test_a_payload_cannot_set_its_own_trust() -> None:
    asked = {"body": "b", "_meta": {"tidings": {"trust": "operator"}}}
    result = admit_reminder(td.Transcript(), asked, producer="mcp", origin="build")
    (event,) = result.transcript.events
    assert event["reminder"]["_meta"] == {"tidings": {"trust": "external", "origin": "build"}}
    assert event["metadata"] == event["reminder"]


def test_an_operators_reminder_carries_no_meta() -> None:
    (event,) = td.inject_reminder(td.Transcript(), body="b").transcript.events
    assert "_meta" not in event["reminder"]


def test_checkpoint_and_append_message_make_a_session_replayable() -> None:
    log = td.open_log("memory:")
    with td.active_log(log):
        start = td.Transcript(messages=[{"role": "user", "content": "old"}], session_id="s")
        live = td.append_message(td.checkpoint(start), {"role": "assistant", "content": "new"})
    assert td.replay(log, "s") == live


def test_a_reminder_cleared_while_the_model_answers_gets_its_line_in_the_next_request() -> None:
    route = "anthropic/claude-fable-5-2"
    transcript = td.inject_reminder(td.Transcript(), body="tests fail", ttl_turns=9).transcript
    hi, hello = {"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}
    first = td.render(route, messages=[hi], reminders=transcript.pending)
    cleared = td.clear_reminders(transcript, id=first.fired[0].reminder_id).transcript
    answered = td.mark_fired(cleared, first, turn=1).transcript
    second = td.render(route, messages=[hi, hello, hi], reminders=answered.pending, issued=first.issued)
    assert 'An earlier reminder no longer applies: "tests fail"' in str(second.body["messages"][-1])


def test_an_append_only_request_warns_of_a_hint_it_cannot_keep_once() -> None:
    log = td.open_log("memory:")
    with td.active_log(log):
        transcript = td.Transcript()
        for turn in (1, 2):
            transcript = td.inject_reminder(
                transcript, body="b", ttl_turns=1, role_hint="user_block"
            ).transcript
            request = td.render("anthropic/claude-fable-5-2", messages="hi", reminders=transcript.pending)
            transcript = td.mark_fired(transcript, request, turn=turn).transcript
            transcript = td.post_turn(transcript, turn=turn).transcript
    warned = [r.payload["code"] for r in log.read(LIFECYCLE_TOPIC) if r.kind.endswith("warning")]
    assert warned == ["HARN-RMD-003"]
