"""Everything that waits has a bound, and everything beyond it is told."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.acp.host.running import kinds, play, talk
from tidings.acp import AgentDeadlineError, BusyError, Client, Deadlines, Host, Note, Session
from tidings.acp.host import feed, link, notes, process
from tidings.acp.host.feed import Feeds, Subscription, Turn, Update
from tidings.acp.host.notes import Notes

QUICK = Deadlines(prompt=0.2, cancel=0.1, stop=0.1)


def chunk(text: str) -> Update:
    return Update("s1", "agent_message_chunk", {"content": {"type": "text", "text": text}})


def test_an_agent_that_does_not_read_is_not_written_to_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "UNREAD", 200_000)

    async def scene(session: Session) -> None:
        with pytest.raises(AgentDeadlineError):
            await session.prompt("stubborn")
        with pytest.raises(AgentDeadlineError):
            await session.remind("x" * 190_000, deadline=0.2)
        with pytest.raises(BusyError, match="200000 bytes wait for the agent, which does not read"):
            await session.remind("x" * 190_000)

    talk(tmp_path, scene, deadlines=QUICK)


def test_an_agent_that_answers_nothing_is_not_asked_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(link, "UNANSWERED", 2)

    async def scene(session: Session) -> None:
        for _ in range(2):
            with pytest.raises(AgentDeadlineError):
                await session.remind("answer never", deadline=0.05)
        with pytest.raises(BusyError, match="2 requests wait for the agent"):
            await session.remind("answer never", deadline=0.05)

    talk(tmp_path, scene)


def test_a_turn_keeps_the_first_updates_and_counts_the_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feed, "KEPT", 3)

    async def scene(session: Session) -> tuple[str, int, int]:
        answer = await session.prompt("many 5")
        return answer.text, len(answer.updates), answer.dropped

    assert talk(tmp_path, scene) == ("zzzzz", 3, 2)


def test_the_text_of_a_turn_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feed, "TEXT_KEPT", 5)
    turn = Turn()
    for text in ("abc", "def", "ghi"):
        turn.heard(chunk(text))
    assert turn.text == "abcde"


def test_updates_of_sessions_that_nobody_opened_make_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feed, "SESSIONS", 2)
    noted = Notes()
    feeds = Feeds(noted)
    held = feeds.of("held")
    held.claim()
    for name in ("a", "b", "c"):
        feeds.update({"sessionId": name, "update": {"sessionUpdate": "plan"}})
    assert [note.kind for note in noted.all()] == ["unknown_session"]
    assert feeds.of("held") is held
    assert [len(feeds.of(name).claim().updates) for name in ("c", "b", "a")] == [1, 1, 0]


def test_a_turn_ends_with_the_answer_and_not_when_somebody_reads_it() -> None:
    feeds = Feeds(Notes())
    turn = feeds.of("s1").begin()
    update = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "x"}}
    feeds.update({"sessionId": "s1", "update": update})
    feeds.answered("session/pending_injections", "s1", {})
    feeds.update({"sessionId": "s1", "update": update})
    feeds.answered("session/prompt", "s1", {"stopReason": "end_turn"})
    feeds.update({"sessionId": "s1", "update": update})
    assert (turn.text, len(turn.updates)) == ("xx", 2)


def test_a_closed_subscription_takes_nothing_more() -> None:
    noted = Notes()
    subscription: Subscription[int] = Subscription("numbers", noted, size=2)
    for number in range(4):
        subscription.put(number)
    subscription.close()
    subscription.put(9)
    assert (subscription.dropped, [note.kind for note in noted.all()]) == (2, ["subscriber_lagged"])


def test_notes_keep_the_newest_and_count_the_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[Note] = []
    noted = Notes(heard.append)
    for number in range(notes.KEPT + 3):
        noted.add("k", str(number))
    kept = noted.all()
    assert (len(kept), kept[0], noted.forgotten, len(heard)) == (
        notes.KEPT,
        Note("k", "3"),
        3,
        notes.KEPT + 3,
    )


def test_a_listener_that_fails_is_noted_and_does_no_harm(tmp_path: Path) -> None:
    def listener(_: Note) -> None:
        raise RuntimeError("mine")

    async def scene(host: Host) -> tuple[str, list[str]]:
        session = await host.new_session(tmp_path)
        return (await session.prompt("raw garbage\nsay on")).text, kinds(host)

    expected = ("on", ["unreadable_line", "listener_failed"])
    assert play(tmp_path, scene, client=Client(note=listener)) == expected


def test_the_past_of_a_session_is_bounded_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feed, "KEPT", 0)

    async def scene(host: Host) -> tuple[int, list[str]]:
        session = await host.new_session(tmp_path)
        return len(session.history), kinds(host)

    assert play(tmp_path, scene) == (0, ["history_dropped"])


def test_a_cancel_that_cannot_be_sent_hides_no_other_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scene(host: Host) -> list[str]:
        session = await host.new_session(tmp_path)
        with session.updates() as updates:
            working = asyncio.create_task(session.prompt("say started\nhang"))
            await anext(updates)
        monkeypatch.setattr(process, "UNREAD", 1)
        working.cancel()
        with pytest.raises(asyncio.CancelledError):
            await working
        return kinds(host)

    assert play(tmp_path, scene) == ["cancel_failed"]
