"""Compaction: its order, what compactors see, what stays (decision 4)."""

from __future__ import annotations

import pytest

from tests.core.build import ids, reminder, transcript
from tidings.core.compaction import compact, truncated
from tidings.core.lifecycle import post_turn
from tidings.core.transcript import Transcript
from tidings.errors import CallerError


def reasons(result) -> list[tuple[str, object, object]]:
    return [
        (r.kind.removeprefix("transcript.reminder."), r.payload["reminder_id"], r.payload.get("reason"))
        for r in result.records
    ]


def test_only_preserved_reminders_are_copied_and_the_rest_get_a_record() -> None:
    before = transcript(reminder("a", preserve_on_compact=True), reminder("b"), reminder("c", ttl_turns=9))
    result = compact(before)
    assert ids(result.transcript) == ["a"]
    assert reasons(result) == [("expired", "b", "compaction"), ("expired", "c", "compaction")]
    assert [r.id for r in result.reminders] == ["a", "b", "c"]
    assert ids(before) == ["a", "b", "c"]


def test_ttls_count_down_first_so_that_a_last_turn_dies_even_if_preserved() -> None:
    before = transcript(
        reminder("one", ttl_turns=1, preserve_on_compact=True),
        reminder("two", ttl_turns=2, preserve_on_compact=True),
    )
    result = compact(before)
    assert [(r.id, r.ttl_turns) for r in result.transcript.pending] == [("two", 1)]
    assert result.records[0].payload == {
        "reminder_id": "one",
        "reason": "ttl",
        "dedupe_key": None,
        "tags": [],
        "ttl_turns_before": 1,
        "expired_at_boundary": "pre_compact",
    }


def test_with_a_turn_later_stamped_ones_keep_their_ttl() -> None:
    before = transcript(
        reminder("shown", ttl_turns=2, preserve_on_compact=True),
        reminder("later", ttl_turns=1, preserve_on_compact=True, fired_at_turn=4),
    )
    result = compact(before, turn=3)
    assert [(r.id, r.ttl_turns) for r in result.transcript.pending] == [("shown", 1), ("later", 1)]


def test_without_a_turn_everything_counts_down_and_still_waits_for_its_turn() -> None:
    before = transcript(reminder("later", ttl_turns=3, preserve_on_compact=True, fired_at_turn=4))
    after = compact(before).transcript
    assert after.pending[0].ttl_turns == 2
    assert post_turn(after, 3).transcript.pending[0].ttl_turns == 2
    assert post_turn(after, 4).transcript.pending[0].ttl_turns == 1


def same_key(*reminders) -> Transcript:
    stored = transcript(*reminders).to_dict()
    for event in stored["events"]:
        event["reminder"]["dedupe_key"] = "k"
    return Transcript.from_dict(stored)


def test_the_newest_of_each_key_stays_and_the_others_get_one_record() -> None:
    result = compact(same_key(*(reminder(n, preserve_on_compact=True) for n in "abc")))
    assert ids(result.transcript) == ["c"]
    assert [r.payload for r in result.records] == [
        {
            "reminder_id": "c",
            "replaced_id": "a",
            "replaced_ids": ["a", "b"],
            "replacing_id": "c",
            "dedupe_key": "k",
        }
    ]


def test_a_newer_reminder_of_lower_trust_does_not_push_out_an_older_one() -> None:
    before = transcript(
        reminder("old", dedupe_key="k", preserve_on_compact=True),
        reminder("new", dedupe_key="k", preserve_on_compact=True, trust="host"),
    )
    assert ids(compact(before).transcript) == ["old", "new"]


def test_a_custom_compactor_sees_all_survivors_of_ttl_and_dedupe() -> None:
    seen: list[object] = []

    def compactor(messages, reminders):
        seen.append((list(messages), [(r.id, r.body, r.ttl_turns) for r in reminders]))
        return [{"role": "system", "content": f"Summary plus {len(reminders)} active reminders."}]

    before = transcript(
        reminder("gone", ttl_turns=1),
        reminder("a", ttl_turns=3),
        reminder("b", preserve_on_compact=True),
        messages=[{"role": "user", "content": "hi"}],
    )
    result = compact(before, strategy="custom", custom_compactor=compactor)
    assert seen == [
        ([{"role": "user", "content": "hi"}], [("a", "body of a", 2), ("b", "body of b", None)])
    ]
    assert result.transcript.messages == [{"role": "system", "content": "Summary plus 2 active reminders."}]
    assert ids(result.transcript) == ["b"]


@pytest.mark.parametrize(
    "answer",
    [
        [{"role": "user"}],
        ({"role": "user"},),
        {"messages": [{"role": "user"}]},
        Transcript(messages=[{"role": "user"}]),
    ],
)
def test_a_compactor_may_return_messages_an_object_or_a_transcript(answer: object) -> None:
    result = compact(Transcript(), strategy="custom", custom_compactor=lambda m, r: answer)
    assert result.transcript.messages == [{"role": "user"}]


@pytest.mark.parametrize("answer", [None, 3, "text", [1], {"messages": "x"}])
def test_an_unusable_answer_is_refused_and_changes_nothing(answer: object) -> None:
    before = transcript(reminder("a", ttl_turns=1))
    with pytest.raises(CallerError, match="a custom compactor returns"):
        compact(before, strategy="custom", custom_compactor=lambda m, r: answer)
    assert ids(before) == ["a"]


def test_a_compactor_that_raises_leaves_the_transcript_as_it_was() -> None:
    before = transcript(reminder("a", ttl_turns=1))

    def broken(messages, reminders):
        raise RuntimeError("no summary today")

    with pytest.raises(RuntimeError, match="no summary today"):
        compact(before, strategy="custom", custom_compactor=broken)
    assert ids(Transcript.of(before.state)) == ["a"]


@pytest.mark.parametrize(
    "arguments",
    [
        {"strategy": "magic"},
        {"strategy": "custom"},
        {"custom_compactor": lambda m, r: []},
        {"keep": -1},
        {"keep": True},
        {"turn": -1},
    ],
)
def test_bad_arguments_are_named(arguments: dict[str, object]) -> None:
    with pytest.raises(CallerError):
        compact(Transcript(), **arguments)


CALLS = {
    "anthropic": (
        {"role": "assistant", "content": [{"type": "tool_use", "id": "1", "name": "f", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1", "content": "ok"}]},
    ),
    "openai_chat": (
        {"role": "assistant", "tool_calls": [{"id": "1"}]},
        {"role": "tool", "tool_call_id": "1", "content": "ok"},
    ),
    "openai_responses": (
        {"type": "function_call", "call_id": "1"},
        {"type": "function_call_output", "call_id": "1", "output": "ok"},
    ),
    "gemini": (
        {"role": "model", "parts": [{"functionCall": {"name": "f"}}]},
        {"role": "user", "parts": [{"functionResponse": {"name": "f"}}]},
    ),
}


@pytest.mark.parametrize("wire", CALLS)
def test_truncation_never_parts_a_tool_call_from_its_result(wire: str) -> None:
    call, result = CALLS[wire]
    system, old = {"role": "system", "content": "s"}, {"role": "user", "content": "old"}
    messages = [system, old, call, result]
    assert truncated(messages, 1) == (system, call, result)
    assert truncated(messages, 9) == tuple(messages)
    assert truncated([system, old], 0) == (system,)


def test_parallel_results_stay_with_the_message_that_called_them() -> None:
    call = {"role": "assistant", "tool_calls": [{"id": "1"}, {"id": "2"}]}
    results = [{"role": "tool", "tool_call_id": "1"}, {"role": "tool", "tool_call_id": "2"}]
    assert truncated([{"role": "user"}, call, *results], 1) == (call, *results)


def test_invalid_events_are_dropped_with_a_record_and_other_events_stay() -> None:
    note = {"kind": "note"}
    broken = {"kind": "system_reminder", "id": "e1", "reminder": {"id": "r1", "body": ""}}
    result = compact(Transcript(events=[note, broken]))
    assert result.transcript.events == [note]
    assert reasons(result) == [("dropped", "r1", "invalid")]
