"""Reading what an agent tells of reminders: every form, each thing once, nothing that breaks."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidings.acp import Deduped, Emitted, Expired
from tidings.acp.host.events import Told, kind_of, of_result, of_update
from tidings.bridge import updates
from tidings.core.producers import build
from tidings.core.reminder import Payload

EMITTED = {"sessionUpdate": "reminder_emitted", "reminderId": "r1", "body": "b"}
EVENT = Emitted(session_id="s", reminder_id="r1", body="b")
REMINDER = build(
    "bridge",
    {"body": "b", "tags": ["t"], "dedupe_key": "k", "ttl_turns": 2, "role_hint": "developer"},
    "r1",
    4,
)


def told(update: Payload, **more: object) -> Told:
    return of_update("s", {"sessionId": "s", "update": update, **more})


@pytest.mark.parametrize(
    ("sent", "event"),
    [
        (
            updates.emitted(REMINDER, "developer"),
            Emitted(
                session_id="s",
                reminder_id="r1",
                body="b",
                tags=("t",),
                dedupe_key="k",
                source="bridge",
                fired_at_turn=4,
                role_hint="developer",
                rendered_role="developer",
                ttl_turns=2,
            ),
        ),
        (
            updates.deduped("r2", "k", ["r1"]),
            Deduped(session_id="s", reminder_id="r2", dedupe_key="k", dropped_ids=("r1",)),
        ),
        (
            updates.expired("r1", "compaction", 7),
            Expired(session_id="s", reminder_id="r1", phase="compacted_out", expired_at_turn=7),
        ),
    ],
)
def test_what_our_own_agent_sends_is_read_whole_in_every_form(sent: Payload, event: object) -> None:
    alone = Told((event,), (), only=True)  # type: ignore[arg-type]
    beside = Told((event,))  # type: ignore[arg-type]
    copy = sent["_meta"]["harn"]["reminder"]  # type: ignore[index]
    prefixed = {**sent, "sessionUpdate": f"_harn_{sent['sessionUpdate']}"}
    hollow = {"sessionUpdate": sent["sessionUpdate"], "_meta": sent["_meta"]}
    chunk = {"sessionUpdate": "agent_message_chunk"}
    assert told(sent) == alone
    assert told(prefixed) == alone
    assert told(hollow) == alone
    assert told({**chunk, "_meta": {"harn": {"reminder": copy}}}) == beside
    assert told({**chunk, "_meta": {"harn": {"reminders": [copy]}}}) == beside
    assert told({**chunk, "_meta": {"harn": {"reminders": [copy], "reminder": copy}}}) == beside
    assert told(chunk, _meta={"harn": {"reminders": [copy]}}) == beside
    assert told({**chunk, "_meta": sent["_meta"]}, _meta=sent["_meta"]) == beside
    assert of_result("s", {"stopReason": "end_turn", "_meta": {"harn": {"reminders": [copy]}}}) == beside


def test_a_list_may_tell_of_the_same_reminder_twice_because_it_was_shown_twice() -> None:
    update = {"sessionUpdate": "plan", "_meta": {"harn": {"reminders": [EMITTED, EMITTED]}}}
    assert told(update) == Told((EVENT, EVENT))


def test_a_list_beside_a_reminder_update_follows_it() -> None:
    other = {"sessionUpdate": "reminder_expired", "reminderId": "r0", "phase": "cleared"}
    update = {**EMITTED, "_meta": {"harn": {"reminder": EMITTED, "reminders": [other]}}}
    gone = Expired(session_id="s", reminder_id="r0", phase="cleared")
    assert told(update) == Told((EVENT, gone), (), only=True)


def test_a_copy_about_another_reminder_is_an_event_of_its_own() -> None:
    other = {**EMITTED, "reminderId": "r2", "tags": ["x"]}
    update = {**EMITTED, "_meta": {"harn": {"reminder": other}}}
    second = Emitted(session_id="s", reminder_id="r2", body="b", tags=("x",))
    assert told(update) == Told((EVENT, second), (), only=True)


@pytest.mark.parametrize(
    ("item", "event"),
    [
        ({"reminderId": "r1", "body": "b"}, EVENT),
        ({"reminder_id": "r1", "body": "b"}, EVENT),
        (
            {"reminder_id": "r1", "dropped_reminder_ids": ["r0"], "dedupe_key": "k"},
            Deduped(session_id="s", reminder_id="r1", dedupe_key="k", dropped_ids=("r0",)),
        ),
        (
            {"reminderId": "r1", "phase": "cleared", "expired_at_turn": 3},
            Expired(session_id="s", reminder_id="r1", phase="cleared", expired_at_turn=3),
        ),
    ],
)
def test_an_item_without_a_name_is_known_by_its_fields(item: Payload, event: object) -> None:
    assert told({"sessionUpdate": "plan", "_meta": {"harn": {"reminder": item}}}).events == (event,)


def test_fields_of_the_wrong_type_are_left_out_and_the_event_stays() -> None:
    odd = {
        **EMITTED,
        "tags": ["t", 5, None],
        "dedupeKey": 3,
        "firedAtTurn": True,
        "source": [],
        "ttlTurns": "2",
    }
    assert told(odd).events == (Emitted(session_id="s", reminder_id="r1", body="b", tags=("t",)),)


@pytest.mark.parametrize("item", [5, None, {}, [], {"reminderId": 7, "body": "b"}, {"reminderId": "r1"}])
def test_what_cannot_be_read_is_told_apart(item: object) -> None:
    update: Payload = {"sessionUpdate": "plan", "_meta": {"harn": {"reminders": [item, EMITTED]}}}
    assert told(update) == Told((EVENT,), (item,))


def test_a_reminder_update_without_an_id_is_unreadable() -> None:
    broken = {"sessionUpdate": "reminder_emitted", "body": "b"}
    assert told(broken) == Told((), (broken,), only=True)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("reminder_emitted", "emitted"),
        ("_harn_reminder_emitted", "emitted"),
        ("_reminder_deduped", "deduped"),
        ("_harn/reminder_expired", "expired"),
        ("_dev.tidings_reminder_expired", "expired"),
        ("harn_reminder_emitted", None),
        ("_unreminder_emitted", None),
        ("reminder_emitted_x", None),
        ("reminder_lost", None),
        (None, None),
        (["reminder_emitted"], None),
    ],
)
def test_the_names_of_the_updates(name: object, kind: str | None) -> None:
    assert kind_of(name) == kind


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["_meta", "harn", "reminder", "reminders", "reminderId", "body", "phase", "update"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=20,
)


@given(json_values, json_values)
def test_no_message_breaks_the_reader(update: object, meta: object) -> None:
    whole = {"sessionUpdate": "reminder_emitted", **(update if isinstance(update, dict) else {"x": update})}
    for params in ({"update": update, "_meta": meta}, {"update": whole, "_meta": meta}):
        read = of_update("s", params)
        assert all(event.reminder_id for event in read.events)
        json.dumps(list(read.unreadable))
    of_result("s", meta)
