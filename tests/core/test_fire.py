"""What an answered request does to the transcript (decisions 1, 2, 7, 16 and 18)."""

from __future__ import annotations

import msgspec
import pytest

from tests.core.build import ids, reminder, transcript
from tidings.core.fire import Shot, Shown, Unused, Warned, fire, refire
from tidings.core.lifecycle import inject, post_turn
from tidings.core.transcript import Transcript


def shot(*shown: str, **parts: object) -> Shot:
    return Shot(placement="seed", shown=tuple(Shown(name, "system") for name in shown), **parts)


def test_each_shown_reminder_writes_fired_with_turn_role_and_placement() -> None:
    result = fire(transcript(reminder("a", ttl_turns=2)), shot("a"), 7)
    assert [(r.kind, r.payload) for r in result.records] == [
        (
            "transcript.reminder.fired",
            {"reminder_id": "a", "turn_number": 7, "rendered_role": "system", "placement": "seed"},
        )
    ]
    assert ids(result.transcript) == ["a"]
    assert result.transcript.turn == 7


def test_what_the_request_did_not_show_spends_no_ttl_on_it() -> None:
    before = transcript(reminder("shown", ttl_turns=1), reminder("unseen", ttl_turns=1))
    after = post_turn(fire(before, shot("shown"), 1).transcript, 1).transcript
    assert [(r.id, r.ttl_turns, r.fired_at_turn) for r in after.pending] == [("unseen", 1, 2)]
    assert ids(post_turn(fire(after, shot("unseen"), 2).transcript, 2).transcript) == []


def test_a_part_spent_ttl_is_kept_when_a_later_request_cannot_show_it() -> None:
    before = transcript(reminder("a", ttl_turns=3))
    first = post_turn(fire(before, shot("a"), 1).transcript, 1).transcript
    skipped = post_turn(fire(first, shot(), 2).transcript, 2).transcript
    assert [r.ttl_turns for r in skipped.pending] == [2]


def test_what_arrives_between_answer_and_pass_is_for_the_next_turn() -> None:
    from tidings.core.lifecycle import stamp_turn

    answered = fire(Transcript(), shot(), 1).transcript
    late = inject(answered, reminder("late", ttl_turns=1, fired_at_turn=stamp_turn(answered)), "e")
    assert ids(post_turn(late.transcript, 1).transcript) == ["late"]


def test_invalid_events_are_recorded_once_and_leave() -> None:
    broken = {"kind": "system_reminder", "id": "e1", "reminder": {"id": "r1", "body": ""}}
    before = Transcript(events=[broken, {"kind": "note"}])
    unused = (Unused("r1", "invalid"),)
    result = fire(before, shot(unused=unused), 1)
    assert [(r.kind, r.payload) for r in result.records] == [
        ("transcript.reminder.dropped", {"reminder_id": "r1", "reason": "invalid"})
    ]
    assert result.transcript.events == [{"kind": "note"}]


def test_a_reminder_without_a_legal_slot_is_recorded_and_stays() -> None:
    before = transcript(reminder("a", ttl_turns=1))
    unused = (Unused("a", "capability_mismatch", "why"),)
    result = fire(before, shot(unused=unused), 1)
    assert result.records[0].payload == {
        "reminder_id": "a",
        "reason": "capability_mismatch",
        "detail": "why",
    }
    assert ids(post_turn(result.transcript, 1).transcript) == ["a"]


def test_a_warning_is_written_once_per_code_and_producer() -> None:
    found = (Warned("HARN-RMD-003", "hook", "text", "a"),)
    first = fire(Transcript(), shot(warnings=found), 1)
    second = fire(first.transcript, shot(warnings=found), 2)
    assert [(r.kind, r.payload) for r in first.records] == [
        (
            "transcript.reminder.warning",
            {"code": "HARN-RMD-003", "producer": "hook", "message": "text", "reminder_id": "a"},
        )
    ]
    assert second.records == ()


def test_a_standing_reminder_that_is_replaced_or_cleared_is_noted_until_announced() -> None:
    before = transcript(reminder("a", dedupe_key="k", body="old text"))
    standing = fire(before, shot("a", standing=frozenset({"a"})), 1).transcript
    replaced = inject(standing, reminder("b", dedupe_key="k"), "e").transcript
    assert [(w.reminder_id, w.reason, w.body) for w in replaced.pending.withdrawn] == [
        ("a", "replaced", "old text")
    ]
    said = fire(replaced, shot("b", announced=frozenset({"a"})), 2).transcript
    assert said.pending.withdrawn == ()


def test_what_leaves_while_the_model_answers_is_noted_because_the_history_shows_it() -> None:
    issued = reminder("a", body="old text")
    done = fire(Transcript(), shot("a", issued=(issued,), standing=frozenset({"a"})), 1)
    assert [(w.reminder_id, w.reason, w.body) for w in done.transcript.pending.withdrawn] == [
        ("a", "cleared", "old text")
    ]


BROKEN = {"kind": "system_reminder", "id": "e1", "reminder": {"id": "r1", "body": ""}}
"""An event that no request can use."""


@pytest.mark.parametrize(
    ("part", "answered"),
    [
        ("postponed", shot("a")),
        ("invalid", shot("a", "b", unused=(Unused("r1", "invalid"),))),
        ("standing", shot("a", "b", standing=frozenset({"a"}))),
        ("withdrawn", shot("a", "b", issued=(reminder("gone"),))),
        ("warned", shot("a", "b", warnings=(Warned("code", "hook", "said", "a"),))),
        ("waiting", shot("a", "b", waiting=("b",))),
    ],
)
def test_replay_knows_everything_that_a_request_changed(part: str, answered: Shot) -> None:
    before = inject(Transcript(events=[BROKEN]), reminder("a", ttl_turns=2), "e2").transcript
    before = inject(before, reminder("b", ttl_turns=2), "e3").transcript
    fired = fire(before, answered, 3)
    (change,) = fired.changes
    stored = msgspec.json.decode(msgspec.json.encode(change.payload))
    assert stored.keys() == {"turn", part}
    assert refire(before, stored).to_dict() == fired.transcript.to_dict()
    assert fired.transcript.to_dict() != refire(before, {"turn": 3}).to_dict()
