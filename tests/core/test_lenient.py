"""The lenient builder takes anything and fills defaults (seed: transcript_reminder_event)."""

from __future__ import annotations

import hypothesis.strategies as st
from hypothesis import given

import tidings as td
from tidings.core.lenient import build_leniently
from tidings.core.reminder import read_payload


def test_wrong_values_become_defaults() -> None:
    made = build_leniently(
        {
            "body": 3,
            "tags": ["a", 1, " ", "a"],
            "dedupe_key": " k ",
            "ttl_turns": "soon",
            "preserve_on_compact": "yes",
            "propagate": "wide",
            "role_hint": None,
            "source": "me",
            "fired_at_turn": -4,
            "extra": object(),
        },
        id="new",
    )
    assert made.to_dict() == {
        "id": "new",
        "tags": ["a"],
        "dedupe_key": "k",
        "preserve_on_compact": False,
        "propagate": "session",
        "role_hint": "system",
        "source": "in_pipeline",
        "body": "",
        "fired_at_turn": 0,
    }


def test_right_values_are_kept_also_those_that_tidings_stamps() -> None:
    given_ = {
        "id": "mine",
        "tags": ["a"],
        "dedupe_key": "k",
        "ttl_turns": 0,
        "preserve_on_compact": True,
        "propagate": "all",
        "role_hint": "user_block",
        "source": "inherited",
        "body": "b",
        "fired_at_turn": 7,
        "originating_agent_id": "parent",
        "_meta": {"tidings": {"trust": "external", "origin": "o"}},
    }
    assert build_leniently(given_, id="new").to_dict() == given_


def test_the_event_has_the_shape_of_the_specification() -> None:
    event = td.reminder_event({"id": "r", "body": "b", "role_hint": "developer", "ttl_turns": 2})
    payload = {
        "id": "r",
        "tags": [],
        "ttl_turns": 2,
        "preserve_on_compact": False,
        "propagate": "session",
        "role_hint": "developer",
        "source": "in_pipeline",
        "body": "b",
        "fired_at_turn": 0,
    }
    event_id = event.pop("id")
    assert isinstance(event_id, str)
    assert event_id != "r"
    assert event == {
        "kind": "system_reminder",
        "role": "developer",
        "visibility": "public",
        "text": "b",
        "blocks": [{"type": "text", "text": "b", "visibility": "public"}],
        "reminder": payload,
        "metadata": payload,
    }
    assert list(event) == ["kind", "role", "visibility", "text", "blocks", "reminder", "metadata"]


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
names = st.sampled_from(
    ["id", "body", "tags", "dedupe_key", "ttl_turns", "preserve_on_compact", "propagate", "role_hint",
     "source", "fired_at_turn", "originating_agent_id", "_meta", "other"]
)  # fmt: skip


@given(st.dictionaries(names, anything))
def test_it_never_raises_and_reads_back_unless_the_body_is_blank(options: dict[str, object]) -> None:
    made = build_leniently(options, id="new")
    assert read_payload(made.to_dict()) == (made if made.body.strip() else None)
