"""Inject, clear and the post-turn pass, with the records they write (decisions 1 to 6, 16)."""

from __future__ import annotations

import pytest

from tests.core.build import ids, reminder, transcript
from tidings.core.lifecycle import Selector, clear, inject, post_turn, stamp_turn
from tidings.core.records import KINDS, Record
from tidings.core.transcript import Transcript
from tidings.errors import CallerError, DiagnosticError, DuplicateReminderError


def kinds(records: tuple[Record, ...]) -> list[str]:
    return [record.kind.removeprefix("transcript.reminder.") for record in records]


def test_injecting_appends_and_leaves_the_input_alone() -> None:
    before = transcript(messages=[{"role": "user"}])
    result = inject(before, reminder("a", ttl_turns=2), "e")
    assert ids(before) == []
    assert ids(result.transcript) == ["a"]
    assert result.transcript.messages == before.messages
    assert result.replaced == ()


def test_a_newer_reminder_replaces_pending_ones_with_its_key() -> None:
    before = transcript(reminder("a", dedupe_key="k"), reminder("b"), reminder("c", dedupe_key="k2"))
    result = inject(before, reminder("d", dedupe_key="k", ttl_turns=1), "e")
    assert ids(result.transcript) == ["b", "c", "d"]
    assert [old.id for old in result.replaced] == ["a"]
    assert kinds(result.records) == ["deduped", "injected"]


def test_reminders_without_a_key_never_replace_each_other() -> None:
    same = [reminder(name, body="same", ttl_turns=1) for name in "abc"]
    assert ids(transcript(*same)) == ["a", "b", "c"]


def test_keys_compare_exactly_after_trimming() -> None:
    stored = transcript(reminder("a", dedupe_key="K"), reminder("b", dedupe_key="k")).to_dict()
    stored["events"][1]["reminder"]["dedupe_key"] = " k "
    after = inject(Transcript.from_dict(stored), reminder("c", dedupe_key="k"), "e")
    assert ids(after.transcript) == ["a", "c"]


def test_one_deduped_record_names_the_first_and_all_replaced() -> None:
    events = transcript(reminder("a", dedupe_key="k"), reminder("b", dedupe_key="k2")).to_dict()
    events["events"][1]["reminder"]["dedupe_key"] = "k"
    result = inject(Transcript.from_dict(events), reminder("c", dedupe_key="k", ttl_turns=1), "e")
    assert result.records[0] == Record(
        "transcript.reminder.deduped",
        {
            "reminder_id": "c",
            "replaced_id": "a",
            "replaced_ids": ["a", "b"],
            "replacing_id": "c",
            "dedupe_key": "k",
        },
    )


def test_inherited_and_preserved_ones_are_replaced_too() -> None:
    before = transcript(
        reminder("a", dedupe_key="k", source="inherited", originating_agent_id="p"),
        reminder("b", dedupe_key="k2", preserve_on_compact=True),
    )
    after = inject(before, reminder("c", dedupe_key="k"), "e").transcript
    assert ids(inject(after, reminder("d", dedupe_key="k2"), "f").transcript) == ["c", "d"]


def test_a_lower_trust_tier_never_replaces_a_higher_one() -> None:
    operator = reminder("operator", dedupe_key="k")
    host = reminder("host", dedupe_key="k", trust="host")
    external = reminder("external", dedupe_key="k", trust="external", origin="o")
    assert ids(transcript(operator, host)) == ["operator", "host"]
    assert ids(transcript(host, operator)) == ["operator"]
    assert ids(transcript(operator, host, reminder("host2", dedupe_key="k", trust="host"))) == [
        "operator",
        "host2",
    ]
    assert ids(transcript(external, operator)) == ["external", "operator"]


def test_keys_and_ids_of_external_origins_live_in_their_own_namespace() -> None:
    first = reminder("same", dedupe_key="k", trust="external", origin="one")
    second = reminder("same", dedupe_key="k", trust="external", origin="two")
    both = transcript(first, second)
    assert [r.provenance.origin for r in both.pending] == ["one", "two"]
    again = inject(both, reminder("new", dedupe_key="k", trust="external", origin="one"), "e")
    assert [(r.id, r.provenance.origin) for r in again.transcript.pending] == [
        ("same", "two"),
        ("new", "one"),
    ]


def test_the_same_id_with_the_same_content_is_acknowledged_without_effect() -> None:
    before = transcript(reminder("a", ttl_turns=3, dedupe_key="k"))
    later = post_turn(before, 1).transcript
    result = inject(later, reminder("a", ttl_turns=3, dedupe_key="k"), "e")
    assert (result.transcript, result.accepted) == (later, False)
    assert (result.records, result.changes) == ((), ())


@pytest.mark.parametrize(
    ("change", "differs"),
    [
        ({"body": "other"}, ("body",)),
        ({"tags": ("t",), "propagate": "all"}, ("tags", "propagate")),
        ({"ttl_turns": None}, ("ttl_turns",)),
        ({"ttl_turns": 1}, ("ttl_turns",)),
    ],
)
def test_the_same_id_with_different_content_is_refused(
    change: dict[str, object], differs: tuple[str, ...]
) -> None:
    before = transcript(reminder("a", ttl_turns=2))
    with pytest.raises(DuplicateReminderError) as caught:
        inject(before, reminder("a", **{"ttl_turns": 2, **change}), "e")
    assert caught.value.differs == differs
    assert ids(before) == ["a"]


def test_the_injected_record_carries_everything_but_the_body() -> None:
    result = inject(Transcript(), reminder("a", body="secret text", tags=("t",), ttl_turns=2), "e")
    assert result.records == (
        Record(
            "transcript.reminder.injected",
            {
                "reminder_id": "a",
                "tags": ["t"],
                "dedupe_key": None,
                "source": "in_pipeline",
                "role_hint": "system",
                "ttl_turns": 2,
                "propagate": "session",
                "preserve_on_compact": False,
                "originating_agent_id": None,
                "fired_at_turn": 0,
                "trust": "operator",
                "origin": None,
            },
        ),
    )


def test_a_reminder_that_may_live_forever_is_warned_about_once_per_producer() -> None:
    first = inject(Transcript(), reminder("a"), "e")
    second = inject(first.transcript, reminder("b"), "e")
    other = inject(second.transcript, reminder("c", source="hook"), "e")
    assert [kinds(r.records) for r in (first, second, other)] == [
        ["injected", "warning"],
        ["injected"],
        ["injected", "warning"],
    ]
    assert first.records[1].payload["code"] == "HARN-RMD-004"
    assert first.records[1].payload["producer"] == "in_pipeline"


@pytest.mark.parametrize("shape", [{"ttl_turns": 1}, {"preserve_on_compact": True}])
def test_a_ttl_or_preserving_gives_no_warning(shape: dict[str, object]) -> None:
    assert kinds(inject(Transcript(), reminder("a", **shape), "e").records) == ["injected"]


@pytest.mark.parametrize(
    ("selector", "left"),
    [
        ({"id": "b"}, ["a", "c"]),
        ({"tag": "t"}, ["c"]),
        ({"dedupe_key": " k "}, ["b", "c"]),
        ({"tag": "t", "dedupe_key": "k"}, ["b", "c"]),
        ({"tag": "t", "id": "c"}, ["a", "b", "c"]),
        ({"id": "a", "dedupe_key": "other"}, ["a", "b", "c"]),
        ({"id": "b", "tag": " "}, ["a", "c"]),
    ],
)
def test_clearing_removes_what_matches_everything_given(
    selector: dict[str, object], left: list[str]
) -> None:
    before = transcript(
        reminder("a", tags=("t",), dedupe_key="k"), reminder("b", tags=("t",)), reminder("c")
    )
    result = clear(before, Selector.of(selector))
    assert ids(result.transcript) == left
    assert result.removed_count == 3 - len(left)
    assert ids(before) == ["a", "b", "c"]


def test_clearing_by_id_or_key_reaches_external_ones_too() -> None:
    before = transcript(reminder("a", dedupe_key="k", trust="external", origin="o"), reminder("b"))
    assert ids(clear(before, Selector(id="a")).transcript) == ["b"]
    assert ids(clear(before, Selector(dedupe_key="k")).transcript) == ["b"]


def test_each_cleared_reminder_gets_its_record() -> None:
    before = transcript(reminder("a", tags=("t",)), reminder("b", tags=("t",), dedupe_key="k"))
    assert clear(before, Selector(tag="t")).records == (
        Record(
            "transcript.reminder.expired",
            {"reminder_id": "a", "reason": "cleared", "dedupe_key": None, "tags": ["t"]},
        ),
        Record(
            "transcript.reminder.expired",
            {"reminder_id": "b", "reason": "cleared", "dedupe_key": "k", "tags": ["t"]},
        ),
    )


@pytest.mark.parametrize("options", [{}, {"id": " "}, {"tags": "t"}, {"id": 3}, [], {"id": None}])
def test_a_selector_that_selects_nothing_or_is_unknown_is_refused(options: object) -> None:
    with pytest.raises(DiagnosticError) as caught:
        Selector.of(options)
    assert caught.value.code == "HARN-RMD-001"


def test_the_pass_counts_down_and_removes_what_ran_out() -> None:
    before = transcript(reminder("one", ttl_turns=1), reminder("three", ttl_turns=3), reminder("forever"))
    result = post_turn(before, 1)
    assert [(r.id, r.ttl_turns) for r in result.transcript.pending] == [("three", 2), ("forever", None)]
    assert (result.expired_count, result.decremented_count, result.remaining_count) == (1, 1, 2)
    assert result.records == (
        Record(
            "transcript.reminder.expired",
            {
                "reminder_id": "one",
                "reason": "ttl",
                "dedupe_key": None,
                "tags": [],
                "expired_at_turn": 1,
            },
        ),
    )
    assert [r.ttl_turns for r in before.pending] == [1, 3, None]


def test_the_pass_rewrites_reminder_and_metadata_and_nothing_else() -> None:
    before = transcript(reminder("a", ttl_turns=3))
    event, after = before.events[0], post_turn(before, 1).transcript.events[0]
    payload = {**event["reminder"], "ttl_turns": 2}
    assert after == {**event, "reminder": payload, "metadata": payload}


def test_a_pass_leaves_alone_what_a_later_turn_shows_first() -> None:
    before = transcript(reminder("now", ttl_turns=2), reminder("later", ttl_turns=1, fired_at_turn=3))
    first = post_turn(before, 2)
    assert [(r.id, r.ttl_turns) for r in first.transcript.pending] == [("now", 1), ("later", 1)]
    assert (first.decremented_count, first.remaining_count) == (1, 2)
    assert ids(post_turn(first.transcript, 3).transcript) == []


def test_a_pass_for_an_earlier_turn_leaves_later_ones_alone_even_after_theirs_began() -> None:
    begun = post_turn(transcript(reminder("a", ttl_turns=5, fired_at_turn=4)), 4).transcript
    again = post_turn(begun, 3)
    assert [r.ttl_turns for r in again.transcript.pending] == [4]
    assert again.decremented_count == 0
    assert [r.ttl_turns for r in post_turn(again.transcript, 5).transcript.pending] == [3]


def test_a_stored_ttl_below_one_leaves_at_the_next_pass() -> None:
    stored = transcript(reminder("a", ttl_turns=2)).to_dict()
    stored["events"][0]["reminder"]["ttl_turns"] = 0
    read = Transcript.from_dict(stored)
    assert read.pending[0].ttl_turns == 0
    assert ids(post_turn(read, 1).transcript) == []


@pytest.mark.parametrize("turn", [-1, 1.0, True, "1", None])
def test_a_turn_is_a_whole_number_from_zero(turn: object) -> None:
    with pytest.raises(CallerError, match="`turn` must be a whole number, 0 or more; got"):
        post_turn(Transcript(), turn)


def test_reminders_are_stamped_with_the_turn_that_will_first_show_them() -> None:
    fresh = Transcript()
    assert stamp_turn(fresh) == 0
    assert stamp_turn(post_turn(fresh, 7).transcript) == 8


def test_every_record_kind_of_the_core_has_the_fields_of_the_table() -> None:
    before = transcript(reminder("a", dedupe_key="k"), reminder("b", tags=("t",), ttl_turns=1))
    found = [
        *inject(before, reminder("c", dedupe_key="k"), "e").records,
        *inject(Transcript(), reminder("d"), "e").records,
        *clear(before, Selector(id="a")).records,
        *post_turn(before, 1).records,
    ]
    for record in found:
        name = record.kind.removeprefix("transcript.reminder.")
        assert set(KINDS[name]) <= set(record.payload), name
        assert "body" not in record.payload
