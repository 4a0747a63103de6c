"""The transcript value: shape in, shape out, never changed."""

from __future__ import annotations

import json

import pytest

from tests.core.build import ids, reminder, transcript
from tidings.core.lifecycle import post_turn
from tidings.core.transcript import Transcript, event_of
from tidings.errors import TranscriptError

SEED_PAYLOAD = {
    "id": "0190abcd-0000-7000-8000-000000000001",
    "tags": ["token_pressure"],
    "dedupe_key": "token_pressure",
    "ttl_turns": 3,
    "preserve_on_compact": True,
    "propagate": "session",
    "role_hint": "developer",
    "source": "stdlib_provider",
    "body": "Approaching context window cap.",
    "fired_at_turn": 4,
}
SEED_EVENT = {
    "id": "0190abcd-0000-7000-8000-000000000002",
    "kind": "system_reminder",
    "role": "developer",
    "visibility": "public",
    "text": "Approaching context window cap.",
    "blocks": [{"type": "text", "text": "Approaching context window cap.", "visibility": "public"}],
    "reminder": SEED_PAYLOAD,
    "metadata": SEED_PAYLOAD,
}


def test_the_specifications_own_event_goes_in_and_comes_out_as_it_is() -> None:
    stored = Transcript(events=[SEED_EVENT]).to_dict()
    assert stored == {"messages": [], "events": [SEED_EVENT], "session_id": None, "agent_id": None}
    assert json.loads(json.dumps(stored)) == stored


def test_an_event_built_here_has_the_keys_of_the_specification_in_its_order() -> None:
    made = transcript(reminder(tags=("a",), dedupe_key="k", ttl_turns=2)).events[0]
    assert list(made) == list(SEED_EVENT)
    assert list(made["reminder"]) == list(SEED_PAYLOAD)
    assert made["reminder"] == made["metadata"]
    assert made["reminder"] is not made["metadata"]


def test_messages_and_events_compare_with_lists_and_encode_as_json() -> None:
    made = Transcript(messages=[{"role": "user", "content": "hi"}])
    assert made.messages == [{"role": "user", "content": "hi"}]
    assert made.events == []
    assert made.pending == []
    assert made.messages != []
    assert json.dumps(made.messages) == '[{"role": "user", "content": "hi"}]'


def test_append_gives_another_transcript_and_leaves_the_first() -> None:
    first = Transcript(session_id="s")
    second = first.append({"role": "user", "content": "hi"})
    assert (len(first.messages), len(second.messages)) == (0, 1)
    assert second.session_id == "s"


def test_many_appends_keep_every_version() -> None:
    versions = [Transcript()]
    for number in range(300):
        versions.append(versions[-1].append({"n": number}))
    assert [[m["n"] for m in v.messages] for v in versions] == [list(range(n)) for n in range(301)]


@pytest.mark.parametrize("name", ["messages", "events", "pending", "session_id", "turn", "other"])
def test_nothing_can_be_set(name: str) -> None:
    with pytest.raises(AttributeError):
        setattr(Transcript(), name, [])


def test_a_stored_event_keeps_fields_of_other_versions_while_its_ttl_counts_down() -> None:
    payload = {**SEED_PAYLOAD, "fired_at_turn": 0, "authority": "contract", "_meta": {"other": {"x": 1}}}
    event = {**SEED_EVENT, "reminder": payload, "metadata": payload, "timestamp": "then"}
    after = post_turn(Transcript(events=[event]), 1).transcript
    assert after.events == [
        {**event, "reminder": {**payload, "ttl_turns": 2}, "metadata": {**payload, "ttl_turns": 2}}
    ]


def test_other_events_keep_their_places_between_reminders() -> None:
    note = {"kind": "note", "text": "n"}
    second = {**SEED_EVENT, "reminder": {**SEED_PAYLOAD, "id": "other", "dedupe_key": None}}
    made = Transcript(events=[note, SEED_EVENT, note, second])
    assert made.events == [note, SEED_EVENT, note, second]
    assert ids(made) == [SEED_PAYLOAD["id"], "other"]


@pytest.mark.parametrize(
    "change",
    [
        {"body": "  "},
        {"body": None},
        {"id": None},
        {"propagate": "wide"},
        {"role_hint": "shout"},
        {"source": "me"},
        {"fired_at_turn": "x"},
        {"preserve_on_compact": None},
    ],
)
def test_an_event_without_a_valid_reminder_is_kept_but_not_pending(change: dict[str, object]) -> None:
    event = {**SEED_EVENT, "reminder": {**SEED_PAYLOAD, **change}}
    made = Transcript(events=[event])
    assert made.events == [event]
    assert made.pending == []
    assert made.pending.invalid == (event,)


def test_missing_tags_are_no_tags() -> None:
    payload = {name: value for name, value in SEED_PAYLOAD.items() if name != "tags"}
    assert Transcript(events=[{**SEED_EVENT, "reminder": payload}]).pending[0].tags == ()


def test_a_second_event_with_the_same_reminder_id_is_not_pending() -> None:
    made = Transcript(events=[SEED_EVENT, SEED_EVENT])
    assert (len(made.pending), len(made.pending.invalid), len(made.events)) == (1, 1, 2)


def test_stored_events_with_the_same_key_both_stay_until_something_collapses_them() -> None:
    twin = {**SEED_EVENT, "reminder": {**SEED_PAYLOAD, "id": "twin"}}
    assert ids(Transcript(events=[SEED_EVENT, twin])) == [SEED_PAYLOAD["id"], "twin"]


def test_to_dict_and_from_dict_are_inverse_also_for_what_the_lifecycle_remembers() -> None:
    made = transcript(reminder("a", ttl_turns=3), reminder("b"), session_id="s", agent_id="g")
    made = post_turn(made.append({"role": "user"}), 2).transcript
    stored = json.loads(json.dumps(made.to_dict()))
    assert Transcript.from_dict(stored) == made
    assert stored["reminder_lifecycle"] == {"turn": 2, "warned": ["HARN-RMD-004 in_pipeline"]}


@pytest.mark.parametrize(
    ("stored", "message"),
    [
        ([], "a stored transcript is an object, not list"),
        ({"messages": "hi"}, "`messages` must be a list of objects, not str"),
        ({"messages": [1]}, "`messages[0]` must be an object, not int: 1"),
        ({"events": [[]]}, "`events[0]` must be an object, not list: []"),
        ({"session_id": 3}, "`session_id` must be a string or null, not 3"),
        (
            {"reminder_lifecycle": {"turn": "x"}},
            "`reminder_lifecycle` cannot be read: Expected `int`, got `str` - at `$.turn`",
        ),
    ],
)
def test_what_cannot_be_read_is_named(stored: object, message: str) -> None:
    with pytest.raises(TranscriptError) as caught:
        Transcript.from_dict(stored)
    assert str(caught.value) == message


def test_event_id_and_reminder_id_differ() -> None:
    made = event_of(reminder("r"), "e")
    assert (made["id"], made["reminder"]["id"]) == ("e", "r")
