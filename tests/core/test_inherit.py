"""Sub-agents: the three propagation policies through several generations."""

from __future__ import annotations

import json
from itertools import count

import pytest

from tests.core.build import ids, reminder, transcript
from tidings.core.inherit import handoff, receive
from tidings.core.lifecycle import post_turn
from tidings.core.transcript import Transcript
from tidings.errors import CallerError


def pass_down(parent: Transcript, parent_id: str, child: Transcript, child_id: str):
    numbers = count()
    envelope = json.loads(json.dumps(handoff(parent, parent_id)))
    return receive(child, envelope, sub_agent_id=child_id, new_id=lambda: f"{child_id}-{next(numbers)}")


def test_all_goes_through_every_generation_session_only_to_children_none_nowhere() -> None:
    root = transcript(
        reminder("all", propagate="all"),
        reminder("session", propagate="session"),
        reminder("none", propagate="none"),
    )
    child = pass_down(root, "root", Transcript(), "child")
    grandchild = pass_down(child.transcript, "child", Transcript(), "grandchild")
    great = pass_down(grandchild.transcript, "grandchild", Transcript(), "great")
    assert [ids(x.transcript) for x in (child, grandchild, great)] == [
        ["all", "session"],
        ["all"],
        ["all"],
    ]
    assert [r.originating_agent_id for r in great.transcript.pending] == ["root"]
    assert (child.inherited_count, grandchild.inherited_count) == (2, 1)


def test_a_childs_own_session_reminder_goes_to_its_own_children() -> None:
    child = transcript(reminder("own", propagate="session"))
    assert ids(pass_down(child, "child", Transcript(), "grandchild").transcript) == ["own"]


def test_a_copy_keeps_id_tags_key_and_remaining_ttl_and_gets_the_childs_turn() -> None:
    root = transcript(
        reminder("a", tags=("t",), dedupe_key="k", ttl_turns=5, role_hint="developer", fired_at_turn=1)
    )
    root = post_turn(post_turn(root, 1).transcript, 2).transcript
    child = post_turn(Transcript(), 40).transcript
    (copy,) = pass_down(root, "root", child, "child").transcript.pending
    assert copy.to_dict() == {
        "id": "a",
        "tags": ["t"],
        "dedupe_key": "k",
        "ttl_turns": 3,
        "preserve_on_compact": False,
        "propagate": "session",
        "role_hint": "developer",
        "source": "inherited",
        "body": "body of a",
        "fired_at_turn": 41,
        "originating_agent_id": "root",
    }


def test_the_child_logs_injected_then_inherited() -> None:
    result = pass_down(transcript(reminder("a", ttl_turns=1)), "root", Transcript(), "child")
    assert [r.kind for r in result.records] == [
        "transcript.reminder.injected",
        "transcript.reminder.inherited",
    ]
    assert result.records[1].payload == {
        "reminder_id": "a",
        "originating_agent_id": "root",
        "sub_agent_id": "child",
        "propagate": "session",
    }


def test_receiving_the_same_handoff_twice_changes_nothing() -> None:
    root = transcript(reminder("a", ttl_turns=2))
    once = pass_down(root, "root", Transcript(), "child")
    twice = pass_down(root, "root", once.transcript, "child")
    assert (twice.transcript, twice.inherited_count, twice.records) == (once.transcript, 0, ())


def test_an_inherited_reminder_replaces_the_childs_own_with_the_same_key() -> None:
    child = transcript(reminder("old", dedupe_key="k"))
    result = pass_down(transcript(reminder("new", dedupe_key="k")), "root", child, "child")
    assert ids(result.transcript) == ["new"]


def test_trust_never_rises_on_the_way_down() -> None:
    root = transcript(
        reminder("operator"), reminder("external", trust="external", origin="o", propagate="all")
    )
    envelope = handoff(root, "root")
    kept = receive(Transcript(), envelope, sub_agent_id="c", new_id=lambda: "e")
    capped = receive(Transcript(), envelope, sub_agent_id="c", new_id=lambda: "e", trust="host")
    assert [r.trust for r in kept.transcript.pending] == ["operator", "external"]
    assert [r.trust for r in capped.transcript.pending] == ["host", "external"]
    assert kept.transcript.pending[1].provenance.origin == "o"


def test_a_malformed_entry_is_dropped_with_a_record_and_the_others_go_in() -> None:
    good = handoff(transcript(reminder("good")), "root")
    bad = [{"id": "bad", "body": ""}, "text", *good, {**good[0], "body": "another text"}]
    result = receive(Transcript(), bad, sub_agent_id="c", new_id=lambda: "e")
    assert ids(result.transcript) == ["good"]
    dropped = [r.payload for r in result.records if r.kind.endswith("dropped")]
    assert [(d["reminder_id"], d["reason"]) for d in dropped] == [
        ("bad", "invalid"),
        ("invalid-reminder", "invalid"),
        ("good", "invalid"),
    ]


def test_the_whole_envelope_is_taken_too() -> None:
    envelope = {"task": "x", "reminder_propagation": handoff(transcript(reminder("a")), "root")}
    result = receive(Transcript(), envelope, sub_agent_id="c", new_id=lambda: "e")
    assert ids(result.transcript) == ["a"]


@pytest.mark.parametrize("envelope", [None, 3, {}, "x"])
def test_something_else_is_refused(envelope: object) -> None:
    with pytest.raises(CallerError, match="a handoff is the list that `handoff` gave"):
        receive(Transcript(), envelope, sub_agent_id="c", new_id=lambda: "e")
