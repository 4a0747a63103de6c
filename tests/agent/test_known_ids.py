"""Ids that a sender chose: the same again does nothing, other content under it is refused (decision 6)."""

from __future__ import annotations

from typing import Any

import pytest

import tidings as td
from tests.agent.test_loop import play
from tidings.agent import store
from tidings.agent.models.scripted import ScriptedModel
from tidings.agent.session import Reminded, Session
from tidings.core.mailbox import UserMessage
from tidings.errors import DuplicateReminderError


def waiting(session: Session) -> list[object]:
    return [
        item.what.content for item in session.stored.mailbox.items if isinstance(item.what, UserMessage)
    ]


def test_a_delivered_reminder_that_is_pending_keeps_its_id_to_its_content() -> None:
    session = Session("s")
    session.remind(body="one", id="r", ttl_turns=3)
    play(model=ScriptedModel(["done"]), session=session)
    assert session.remind(body="one", id="r", ttl_turns=3) == Reminded("r", 0)
    with pytest.raises(DuplicateReminderError, match="different body"):
        session.remind(body="other", id="r", ttl_turns=3)
    assert session.pending_injections()["pendingCount"] == 0


def test_a_reminder_that_was_limited_at_the_door_is_known_when_it_is_sent_again() -> None:
    session = Session("s")
    asked: dict[str, Any] = {"body": "b", "id": "r", "ttl_turns": 2, "propagate": "all"}
    for _ in range(2):
        session.remind(asked, producer="mcp", origin="server", mode="interrupt_immediate")
    assert session.pending_injections()["pendingCount"] == 1
    play(model=ScriptedModel(["done"]), session=session)
    assert session.remind(asked, producer="mcp", origin="server") == Reminded("r", 0)


def test_the_same_message_again_waits_once_and_other_words_under_its_id_are_refused() -> None:
    log = td.open_log("memory:")
    session = Session("s", log=log)
    session.inject("first", id="m", mode="interrupt_immediate")
    assert session.inject("first", id="m", mode="interrupt_immediate") == "m"
    with pytest.raises(td.CallerError, match=r"message `id` 'm' waits with other content; .* new id"):
        session.inject("second", id="m")
    session.inject("second", id="n")
    with session.step():
        session.drain("pre_tool_dispatch")
    assert waiting(session) == ["second"]
    assert store.load(log, "s") == session.stored


def test_a_reminder_and_a_message_cannot_wait_under_one_id() -> None:
    log = td.open_log("memory:")
    session = Session("s", log=log)
    session.inject("words", id="m")
    with pytest.raises(DuplicateReminderError, match="different kind"):
        session.remind(body="b", id="m")
    session.remind(body="b", id="r")
    with pytest.raises(td.CallerError, match="message `id` 'r' waits"):
        session.inject("words", id="r")
    session.revoke_reminder("r")
    assert waiting(session) == ["words"]
    assert store.load(log, "s") == session.stored
