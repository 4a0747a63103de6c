"""Doing what the hub asks to have taken back: once, with the answer that fits, and never a dead session."""

from __future__ import annotations

import asyncio

import pytest

import tidings as td
from tidings.bridge.rpc import INVALID_PARAMS, RpcError
from tidings.core.reminder import Payload
from tidings.errors import CallerError
from tidings.hub import complying
from tidings.hub.complying import Compliance, Done, cleared, refused, revoked, withdraw_from
from tidings.hub.withdrawal import Chosen, WithdrawalRow


def asked(name: str, revoke: str | None = None, **selector: str) -> WithdrawalRow:
    clear = Chosen(**selector) if selector else None
    return WithdrawalRow(withdrawal_id=name, until_ms=1, revoke=revoke, clear=clear)


def answers(session: td.Session, *rows: WithdrawalRow) -> list[tuple[object, object]]:
    notes: list[object] = []
    compliance = Compliance(withdraw_from(session), lambda *about: notes.append(about))

    async def scene() -> list[Payload]:
        return [await compliance.answer(row) for row in rows]

    told = asyncio.run(scene())
    assert [one["withdrawalId"] for one in told] == [row.withdrawal_id for row in rows]
    assert notes == []
    return [(one["result"], one["removedCount"]) for one in told]


def test_a_session_answers_each_question_with_what_it_did() -> None:
    session = td.Session("s")
    for name in ("r1", "r2", "r3"):
        session.remind(id=name, body=name, tags=["t"], dedupe_key=name)
    told = answers(
        session,
        asked("w1", "r1"),
        asked("w2", "r1"),
        asked("w3", "never"),
        asked("w4", tag="t", dedupe_key="r2"),
        asked("w5", tag="t"),
        asked("w6", tag="t"),
    )
    assert told == [
        ("revoked", 1), ("already_revoked", 0), ("unknown_reminder_id", 0), ("cleared", 1), ("cleared", 1),
        ("cleared", 0),
    ]  # fmt: skip


def test_the_same_question_again_gets_the_same_answer_and_takes_nothing_that_came_in_between() -> None:
    session = td.Session("s")
    session.remind(id="r1", body="one", tags=["t"])

    async def scene() -> None:
        compliance = Compliance(withdraw_from(session), lambda *_: pytest.fail("nothing is refused"))
        first = await compliance.answer(asked("w1", tag="t"))
        session.remind(id="r2", body="two", tags=["t"])
        assert await compliance.answer(asked("w1", tag="t")) == first

    asyncio.run(scene())
    assert [item.id for item in session.stored.mailbox.items] == ["r2"]


def test_only_the_last_answers_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(complying, "REMEMBERED", 1)
    done: list[str] = []

    async def withdraw(row: WithdrawalRow) -> Done:
        done.append(row.withdrawal_id)
        return Done("cleared")

    async def scene() -> None:
        compliance = Compliance(withdraw, lambda *_: pytest.fail("nothing is refused"))
        for name in ("w1", "w1", "w2", "w1"):
            await compliance.answer(asked(name))

    asyncio.run(scene())
    assert done == ["w1", "w2", "w1"]


@pytest.mark.parametrize("error", [CallerError("no"), RpcError(INVALID_PARAMS, "no")])
def test_what_is_refused_is_noted_and_answered(error: CallerError | RpcError) -> None:
    notes: list[object] = []

    async def withdraw(_: WithdrawalRow) -> Done:
        raise error

    async def scene() -> Payload:
        return await Compliance(withdraw, lambda *about: notes.append(about)).answer(asked("w1", "r1"))

    assert asyncio.run(scene()) == {"withdrawalId": "w1", "result": "refused", "removedCount": 0}
    assert notes == [("r1", error)]


def test_answers_of_agents_are_read_and_strange_ones_refused() -> None:
    assert revoked({"status": "revoked"}) == Done("revoked", 1)
    assert revoked({"status": "already_revoked"}) == Done("already_revoked", 0)
    assert cleared({"removedCount": 3}) == Done("cleared", 3)
    late = RpcError(INVALID_PARAMS, "late", {"reason": "already_delivered"})
    assert refused(late) == Done("already_delivered", 0)
    for strange in (None, {}, {"status": "cleared"}, {"status": 5}):
        with pytest.raises(RpcError, match="it is one of revoked, already_revoked"):
            revoked(strange)
    for strange in (None, {}, {"removedCount": "many"}, {"removedCount": -1}):
        with pytest.raises(RpcError, match="a clear tells how many left"):
            cleared(strange)
    unknown = RpcError(INVALID_PARAMS, "unknown method")
    with pytest.raises(RpcError) as told:
        refused(unknown)
    assert told.value is unknown
