"""Envelopes and addresses: who is meant, and what can become of a delivery."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tidings.core.mailbox import RevokeError
from tidings.core.records import Alike, Record, one_by_one
from tidings.errors import CallerError
from tidings.hub import board as shelf
from tidings.hub import envelope as letters
from tidings.hub.address import Address, Registration, checked, reached
from tidings.hub.board import Board
from tidings.hub.envelope import STATES, Delivery, Envelope, Unaddressed

HOME = Registration(session_id="home", workspace="/w/app", tags=("ci",))
SUB = Registration(session_id="sub", workspace="/w/app/web", tags=("ci", "web"))
AWAY = Registration(session_id="away", workspace="/w/apple")
BARE = Registration(session_id="bare")
ALL = (HOME, SUB, AWAY, BARE)


def letter(to: Address, name: str = "r1", until: int = 100) -> Envelope:
    return Envelope(
        reminder_id=name, reminder={"id": name, "body": "b"}, mode="finish_step", to=to, digest="d",
        deliver_until_ms=until,
    )  # fmt: skip


def after(start: Envelope, *records: Record) -> Envelope:
    for record in records:
        start = letters.evolve(start, record)
    return start


@pytest.mark.parametrize(
    ("to", "expected"),
    [
        (Address(session="sub"), ("sub",)),
        (Address(session="nobody"), ()),
        (Address(workspace="/w/app"), ("home", "sub")),
        (Address(workspace="/w/app/web/src"), ("home", "sub")),
        (Address(workspace="/w/app/docs"), ("home",)),
        (Address(workspace="/w"), ("home", "sub", "away")),
        (Address(tag="web"), ("sub",)),
        (Address(all=True), ("home", "sub", "away", "bare")),
    ],
)
def test_an_address_reaches_those_it_names_and_nobody_else(to: Address, expected: tuple[str, ...]) -> None:
    assert reached(to, ALL) == expected


@pytest.mark.parametrize(
    ("to", "told"),
    [
        (Address(), "`to` names nobody; give exactly one of session, workspace, tag, all"),
        (
            Address(tag="a", all=True),
            "`to` names tag and all; give exactly one of session, workspace, tag, all",
        ),
        (Address(tag=" "), "`to.tag` is ' '; give a name that is not blank"),
        (Address(workspace="web"), "`to.workspace` is 'web'; give an absolute path"),
    ],
)
def test_an_address_that_names_no_one_thing_is_refused_with_the_fix(to: Address, told: str) -> None:
    with pytest.raises(CallerError) as caught:
        checked(to)
    assert str(caught.value) == told


def test_a_session_that_is_named_has_a_delivery_before_it_is_there() -> None:
    told = letters.accepted(letter(Address(session="late")), ())
    assert after(letters.opened(told[0].payload), *told[1:]).deliveries == {"late": Delivery()}
    assert letters.accepted(letter(Address(tag="x")), ())[1:] == []


def test_a_lease_that_runs_out_waits_again_and_can_be_acknowledged_late() -> None:
    start = after(letter(Address(session="s")), *letters.addressed(letter(Address(session="s")), ["s"]))
    held = after(start, *letters.leased(start, "s", 50))
    assert letters.leased(held, "s", 60) == []
    assert letters.overdue(held, 49) == []
    back = after(held, *letters.overdue(held, 50))
    assert back == replace(start, deliveries={"s": Delivery(given=True)})
    (late,) = letters.acknowledged(back, "s")
    assert late.payload == {"reminder_id": "r1", "session_id": "s", "late": True}
    done = after(back, late)
    assert (done.state, done.finished, letters.acknowledged(done, "s")) == ("acknowledged", True, [])


def test_past_its_deadline_nothing_is_leased_but_what_is_leased_may_be_acknowledged() -> None:
    start = letter(Address(all=True))
    both = after(start, *letters.addressed(start, ["a", "b"]))
    one = after(both, *letters.leased(both, "a", 150))
    ended = after(one, *letters.overdue(one, 100))
    assert ended.deliveries == {"a": Delivery("leased", 150), "b": Delivery("expired")}
    assert letters.leased(ended, "b", 200) == []
    assert letters.addressed(ended, ["c"]) == []
    assert after(ended, *letters.acknowledged(ended, "a")).state == "acknowledged"
    assert after(ended, *letters.overdue(ended, 150)).state == "expired"


def test_revoking_takes_back_what_waits_and_says_when_every_host_has_it() -> None:
    start = letter(Address(session="s"))
    waiting = after(start, *letters.addressed(start, ["s"]))
    gone = after(waiting, *letters.revoked(waiting))
    assert (gone.state, letters.revoked(gone)) == ("revoked", [])
    held = after(waiting, *letters.leased(waiting, "s", 50))
    with pytest.raises(RevokeError, match="already_delivered"):
        letters.revoked(held)
    late = after(waiting, *letters.overdue(waiting, 100))
    with pytest.raises(RevokeError, match="expired"):
        letters.revoked(late)


def test_withholding_from_one_session_leaves_the_others_alone_and_outlives_a_lease() -> None:
    start = letter(Address(all=True))
    both = after(start, *letters.addressed(start, ["a", "b", "c"]))
    held = after(both, *letters.leased(both, "b", 50))
    kept = after(held, *letters.withheld(held, ["a", "b", "x"]))
    assert kept.deliveries == {
        "a": Delivery("revoked"), "b": Delivery("leased", 50, withheld=True), "c": Delivery(),
    }  # fmt: skip
    assert letters.withheld(kept, ["a", "b"]) == []
    assert (letters.leased(kept, "a", 60), letters.addressed(kept, ["a"])) == ([], [])
    back = after(kept, *letters.overdue(kept, 50))
    assert back.deliveries["b"] == Delivery("revoked", given=True)
    came = after(kept, *letters.acknowledged(kept, "b"))
    assert (came.deliveries["b"], came.state) == (Delivery("acknowledged"), "waiting")


def test_withholding_from_the_one_session_that_is_meant_is_revoking() -> None:
    start = letter(Address(session="s"))
    waiting = after(start, *letters.addressed(start, ["s"]))
    held = after(waiting, *letters.leased(waiting, "s", 50))
    gone = after(held, *letters.withheld(held, ["s"]))
    assert (gone.ended, gone.state, gone.finished) == ("revoked", "leased", False)
    over = after(gone, *letters.overdue(gone, 50))
    assert (over.state, over.finished) == ("revoked", True)


def test_a_session_cannot_acknowledge_what_it_was_never_given() -> None:
    with pytest.raises(Unaddressed, match="was never given to session 'x'"):
        letters.acknowledged(letter(Address(all=True)), "x")


SESSIONS = st.sampled_from(["a", "b", "c"])
ADDRESSES = st.sampled_from([Address(session="a"), Address(all=True), Address(tag="t")])
STEP = st.tuples(
    st.sampled_from(["accept", "address", "lease", "return", "ack", "time", "revoke", "withhold"]),
    st.integers(0, 1),
    SESSIONS,
    ADDRESSES,
)


def decided(kind: str, found: Envelope, who: str, now: int) -> list[Record]:
    try:
        match kind:
            case "address":
                return letters.addressed(found, [who])
            case "lease":
                return letters.leased(found, who, now + 7)
            case "return":
                return letters.returned(found, who, "session_left")
            case "ack":
                return letters.acknowledged(found, who)
            case "time":
                return letters.overdue(found, now)
            case "withhold":
                return letters.withheld(found, [who])
        return letters.revoked(found)
    except (Unaddressed, RevokeError):
        return []


@given(st.lists(STEP, min_size=15, max_size=60))
def test_accepted_is_waiting_and_leased_and_acknowledged_and_expired_and_revoked(
    steps: list[tuple[str, int, str, Address]],
) -> None:
    board, written = Board(), list[Record]()
    delivered: set[tuple[str, str]] = set()
    kept_back: set[tuple[str, str]] = set()
    for now, (kind, number, who, to) in enumerate(steps):
        name = f"r{number}"
        found = board.find(name)
        if kind == "accept":
            told = [] if found else letters.accepted(letter(to, name, now + 20), ())
        else:
            told = decided(kind, found, who, now) if found else []
        for record in told:
            pair = (name, str(record.payload.get("session_id")))
            if record.kind == letters.LEASED:
                assert pair not in delivered, "what was acknowledged is never given again"
                assert pair not in kept_back, "what is withheld is never given again"
            kept_back |= {
                (name, str(each))
                for each in record.payload.get("session_ids", ())
                if record.kind == letters.REVOKED
            }
            if record.kind == letters.ACKNOWLEDGED:
                assert pair not in delivered, "it is acknowledged once"
                delivered.add(pair)
            board.apply(record)
        written += told
    accepted = sum(record.kind == letters.ACCEPTED for record in written)
    assert sum(board.counts().values()) == accepted
    again = Board(written)
    assert (again.open, again.finished, again.counts()) == (board.open, board.finished, board.counts())
    for name, who in delivered:
        found = board.find(name)
        assert found is not None
        assert found.deliveries[who] == Delivery("acknowledged")
    for who in ("a", "b", "c"):
        boxed = [one.reminder_id for one in board.box(who)]
        under_way = {
            one.reminder_id
            for one in board.open.values()
            if who in one.deliveries and one.deliveries[who].state in ("waiting", "leased")
        }
        assert (set(boxed), len(boxed)) == (under_way, len(under_way))


@given(
    accepted=st.lists(st.tuples(ADDRESSES, st.lists(SESSIONS, unique=True)), max_size=6),
    taken=st.permutations([f"r{number}" for number in range(7)]),
    who=SESSIONS,
)
def test_what_is_taken_together_folds_as_it_would_one_by_one(
    accepted: list[tuple[Address, list[str]]], taken: list[str], who: str
) -> None:
    told = [
        record
        for number, (to, names) in enumerate(accepted)
        for record in letters.accepted(letter(to, f"r{number}"), names)
    ]
    alike = letters.taken([letter(Address(all=True), name) for name in taken[:5]], who)
    together, apart = Board(told), Board([*told, *one_by_one(alike)])
    for each in alike:
        together.apply(each)
    assert (together.open, together.boxes) == (apart.open, apart.boxes)
    assert list(together.finished.items()) == list(apart.finished.items())
    known = [one for name in taken[:5] if (one := together.find(name)) is not None]
    assert {one.deliveries[who] for one in known} <= {Delivery("acknowledged")}


def test_what_is_taken_is_a_record_for_each_in_order_and_none_for_nothing() -> None:
    taken = letters.taken([letter(Address(all=True), name) for name in ("r2", "r1")], "s")
    assert one_by_one(taken) == (
        Record(letters.ACKNOWLEDGED, {"reminder_id": "r2", "session_id": "s", "late": False}),
        Record(letters.ACKNOWLEDGED, {"reminder_id": "r1", "session_id": "s", "late": False}),
    )
    assert letters.taken([], "s") == []


def test_records_of_another_kind_that_are_alike_fold_as_they_would_one_by_one() -> None:
    names = ("r1", "r2")
    accepted = [
        record for name in names for record in letters.accepted(letter(Address(session="s"), name), ())
    ]
    alike = Alike(letters.LEASED, "reminder_id", ("r2", "r1"), {"session_id": "s", "until_ms": 50})
    together = Board(accepted)
    together.apply(alike)
    assert together.open == Board([*accepted, *alike.records()]).open
    assert [one.deliveries for one in together.open.values()] == [{"s": Delivery("leased", 50)}] * 2


def test_a_finished_envelope_is_kept_without_its_text() -> None:
    board = Board(letters.accepted(letter(Address(session="s")), ()))
    for record in letters.acknowledged(board.open["r1"], "s"):
        board.apply(record)
    assert board.open == {}
    assert board.finished["r1"].reminder == {"id": "r1"}
    assert set(board.counts()) == set(STATES)


def test_only_the_last_finished_envelopes_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shelf, "REMEMBERED", 2)
    board = Board()
    for name in ("r1", "r2", "r3"):
        for record in letters.accepted(letter(Address(session="s"), name), ()):
            board.apply(record)
        for record in letters.acknowledged(board.open[name], "s"):
            board.apply(record)
    assert list(board.finished) == ["r2", "r3"]
    assert list(board.box("s")) == []


def test_transitions_leave_the_envelope_they_were_given_alone() -> None:
    start = letter(Address(all=True))
    same = replace(start)
    after(start, *letters.addressed(start, ["a"]))
    assert start == same
