"""The mailbox: order, revoking, and that arrived = queued + drained + revoked."""

from __future__ import annotations

import hypothesis.strategies as st
import pytest
from hypothesis import given

from tests.core.build import reminder
from tidings.core import mailbox as box
from tidings.core.mailbox import Item, Mailbox, MailboxFullError, UserMessage
from tidings.core.seams import DRAINS, MODES, SEAMS


def filled(*items: tuple[str, str]) -> Mailbox:
    made = Mailbox()
    for name, mode in items:
        made = made.push(Item(mode, reminder(name)))
    return made


def names(items: tuple[Item, ...]) -> list[str]:
    return [item.id for item in items]


def test_a_seam_takes_its_modes_first_come_first_and_leaves_the_rest_in_place() -> None:
    before = filled(
        ("a", "finish_step"), ("b", "audit_only"), ("c", "interrupt_immediate"), ("d", "finish_step")
    )
    after, taken = before.drain("post_tool_dispatch")
    assert names(taken) == ["c", "a", "d"]
    assert names(after.items) == ["b"]
    assert names(before.items) == ["a", "b", "c", "d"]


def test_same_key_items_all_wait_and_are_counted() -> None:
    made = Mailbox()
    for name in "ab":
        made = made.push(Item("finish_step", reminder(name, dedupe_key="k")))
    assert names(made.items) == ["a", "b"]
    assert made.same_key(reminder("c", dedupe_key="k")) == 2
    assert made.same_key(reminder("c", dedupe_key="k", trust="external", origin="o")) == 0
    assert made.same_key(reminder("c")) == 0


def test_revoking_answers_by_what_became_of_the_reminder() -> None:
    before = filled(("a", "finish_step"), ("b", "finish_step"))
    revoked, first = before.revoke("a")
    again, second = revoked.revoke("a")
    drained, _ = again.drain("iteration_start")
    assert (first, second) == ("revoked", "already_revoked")
    assert drained.revoke("b")[1] == "already_delivered"
    assert drained.revoke("never")[1] == "unknown_reminder_id"


def test_a_user_message_is_not_a_reminder_to_revoke() -> None:
    made = Mailbox().push(Item("finish_step", UserMessage("u", "hi")))
    assert made.revoke("u")[1] == "unknown_reminder_id"


def test_rows_are_those_of_the_specification_in_order() -> None:
    made = Mailbox().push(Item("finish_step", UserMessage("u", "hi")))
    made = made.push(Item("audit_only", reminder("r", tags=("t",), dedupe_key="k", ttl_turns=2)))
    assert made.rows() == [
        {
            "kind": "user_message",
            "id": "u",
            "messageId": "u",
            "mode": "finish_step",
            "position": 0,
            "content": "hi",
        },
        {
            "kind": "reminder",
            "id": "r",
            "reminderId": "r",
            "mode": "audit_only",
            "position": 1,
            "body": "body of r",
            "tags": ["t"],
            "dedupeKey": "k",
            "ttlTurns": 2,
            "preserveOnCompact": False,
            "propagate": "session",
            "roleHint": "system",
            "source": "in_pipeline",
            "firedAtTurn": 0,
            "originatingAgentId": None,
        },
    ]


def test_a_full_mailbox_tells_the_sender_and_keeps_what_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(box, "CAPACITY", 2)
    made = filled(("a", "finish_step"), ("b", "finish_step"))
    with pytest.raises(MailboxFullError, match="2 items wait"):
        made.push(Item("finish_step", reminder("c")))
    assert names(made.items) == ["a", "b"]


steps = st.lists(
    st.one_of(
        st.tuples(st.just("push"), st.sampled_from(MODES)),
        st.tuples(st.just("drain"), st.sampled_from(SEAMS)),
        st.tuples(st.just("revoke"), st.integers(0, 12)),
    ),
    max_size=40,
)


@given(steps)
def test_arrived_is_queued_plus_drained_plus_revoked(plan: list[tuple[str, object]]) -> None:
    made, arrived, drained, revoked = Mailbox(), [], [], []
    for name, detail in plan:
        if name == "push":
            arrived.append(f"r{len(arrived)}")
            made = made.push(Item(detail, reminder(arrived[-1])))
        elif name == "drain":
            made, taken = made.drain(detail)
            assert all(item.mode in DRAINS[detail] for item in taken)
            drained += names(taken)
        else:
            made, status = made.revoke(f"r{detail}")
            revoked += [f"r{detail}"] if status == "revoked" else []
    assert sorted(arrived) == sorted([*names(made.items), *drained, *revoked])
