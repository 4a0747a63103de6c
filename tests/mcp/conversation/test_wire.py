"""What stands on the wire: offers, messages, and context in all its shapes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidings.mcp.conversation.names import CAPABILITY, EXTENSION
from tidings.mcp.conversation.wire import (
    LONGEST_ITEM,
    MOST_ALREADY,
    MOST_ITEMS,
    Found,
    Item,
    Offer,
    Room,
    Turn,
    asked_params,
    message_params,
    read_context,
    read_offer,
    recent,
    with_offer,
)


def test_the_extension_is_read_before_the_seeds_own_key() -> None:
    offer = Offer(assistant_response=True, history=True, purpose="recalls what you said")
    both = {"extensions": {EXTENSION: offer.to_wire()}, CAPABILITY: {"onUserMessage": True}}
    assert read_offer(both) == offer


def test_a_server_with_the_seeds_key_alone_is_spoken_to_literally() -> None:
    assert read_offer({CAPABILITY: {"onUserMessage": True}}) == Offer(form="notification", history=True)


@pytest.mark.parametrize(
    "capabilities", [None, {}, {"extensions": {}}, {"extensions": 1}, {CAPABILITY: True}]
)
def test_a_server_that_offers_nothing_wants_nothing(capabilities: object) -> None:
    assert read_offer(capabilities) is None


def test_an_offer_says_what_would_have_to_be_granted_for_it() -> None:
    offers = [
        Offer(),
        Offer(history=True, assistant_response=True),
        Offer(user_message=False, history=True, assistant_response=True),
        Offer(user_message=False),
    ]
    assert [offer.scopes for offer in offers] == [
        ("message",),
        ("message", "history", "assistant"),
        ("assistant",),
        (),
    ]


def test_a_flag_that_is_not_true_is_no_offer() -> None:
    told = {"onUserMessage": "yes", "onAssistantResponse": 1, "history": "all", "purpose": ["x"]}
    assert read_offer({"extensions": {EXTENSION: told}}) == Offer(user_message=False)


def test_a_legacy_server_advertises_in_both_places() -> None:
    offer = Offer(assistant_response=True)
    told = with_offer({"tools": {}, "extensions": {"com.example/x": {}}}, offer)
    assert told == {
        "tools": {},
        "extensions": {"com.example/x": {}, EXTENSION: offer.to_wire()},
        CAPABILITY: {"onUserMessage": True, "onAssistantResponse": True},
    }
    assert read_offer(told) == offer


def test_the_params_are_those_of_the_seed_and_the_request_says_how_much_by_when() -> None:
    literal = message_params("m1", "which schema?", (Turn("user", "hello"), Turn("assistant", "hi")))
    assert literal == {
        "messageId": "m1",
        "content": "which schema?",
        "recentHistory": [{"role": "user", "content": "hello"}, {"role": "assistant", "content": "hi"}],
    }
    assert asked_params({"messageId": "m1"}, "c1", Room(bytes=100, items=2), 0.5) == {
        "messageId": "m1",
        "conversationId": "c1",
        "budget": {"maxItems": 2, "maxBytes": 100, "deadlineMs": 500},
    }
    assert message_params("m1", "hello", ()) == {"messageId": "m1", "content": "hello"}


def test_the_request_names_the_project_and_what_the_server_gave_before_within_a_bound() -> None:
    asked = asked_params({}, "c1", Room(), 0.5, project="shop", already=[f"i{n}" for n in range(1_000)])
    assert asked["scope"] == {"project": "shop"}
    assert asked["alreadyInContext"] == [f"i{n}" for n in range(1_000 - MOST_ALREADY, 1_000)]


def test_text_memories_and_items_become_the_same() -> None:
    result = {
        "context": "The schema is in db/schema.sql.",
        "structuredContext": {
            "memories": [
                {"content": "It has 12 tables.", "relevance": 0.9, "source": "notes", "date": "2026-03-01"}
            ]
        },
        "items": [
            {
                "id": "1",
                "content": {"type": "text", "text": "Postgres 16."},
                "relevance": 0.5,
                "source": {"title": "Setup", "uri": "file:///setup.md", "createdAt": "2026-01-02"},
            },
            {"content": "Since May.", "annotations": {"lastModified": "2026-05-03"}, "id": 7},
        ],
    }
    assert read_context(result) == Found(
        (
            Item("The schema is in db/schema.sql."),
            Item("It has 12 tables.", 0.9, "notes", "2026-03-01"),
            Item("Postgres 16.", 0.5, "Setup", "2026-01-02", "1"),
            Item("Since May.", None, "", "2026-05-03"),
        )
    )


@pytest.mark.parametrize(
    ("result", "junk"),
    [
        (None, 1),
        ("text", 1),
        ([], 1),
        ({"context": 5}, 1),
        ({"structuredContext": "x"}, 1),
        ({"structuredContext": {"memories": {}}}, 1),
        ({"items": "many"}, 1),
        ({"items": [1, {"content": None}, {"content": {"type": "image"}}]}, 3),
    ],
)
def test_junk_gives_no_item_and_is_counted(result: object, junk: int) -> None:
    assert read_context(result) == Found((), junk)


@pytest.mark.parametrize("result", [{}, {"context": None}, {"context": "  \n"}, {"items": []}])
def test_nothing_relevant_is_no_junk(result: object) -> None:
    assert read_context(result) == Found()


def test_a_huge_answer_is_cut_and_the_rest_counted() -> None:
    found = read_context({"context": "x" * 10_000_000, "items": ["y"] * 10_000})
    assert [len(item.text) for item in found.items] == [LONGEST_ITEM] + [1] * (MOST_ITEMS - 1)
    assert found.junk == 10_001 - MOST_ITEMS


def test_control_characters_direction_marks_and_halves_of_pairs_do_not_pass() -> None:
    text = "a\x1b[31mb\u202ec\U000e0041d\ud800e\tf\ng\x00"
    assert read_context({"context": text}) == Found((Item("a[31mbcd?e\tf\ng"),))


@pytest.mark.parametrize("relevance", ["0.5", -0.1, 1.1, True, float("nan"), None])
def test_a_relevance_that_is_none_is_ignored(relevance: object) -> None:
    found = read_context({"items": [{"content": "a", "relevance": relevance}]})
    assert found == Found((Item("a", None),))


def test_a_source_is_one_short_line() -> None:
    found = read_context({"items": [{"content": "a", "source": "one\ntwo " + "x" * 500}]})
    assert found.items[0].source == "one two " + "x" * 192


def test_the_newest_turns_are_kept_within_both_bounds() -> None:
    turns = [Turn("user", "a" * 10), Turn("assistant", "b" * 10), Turn("user", "c" * 10)]
    assert recent(turns, 2, 100) == tuple(turns[1:])
    assert recent(turns, 3, 20) == tuple(turns[1:])
    assert recent(turns, 3, 19) == tuple(turns[2:])
    assert recent(turns, 0, 100) == ()


KEYS = ["context", "structuredContext", "memories", "items", "content", "text", "source"]
SCALARS = st.none() | st.booleans() | st.floats() | st.text() | st.integers()


@given(st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(KEYS), inner)))
def test_whatever_a_server_answers_becomes_items_that_can_be_written(result: object) -> None:
    found = read_context(result)
    for item in found.items:
        assert item.text.strip()
        assert item.text.encode()
        assert item.source.encode().count(b"\n") == 0
