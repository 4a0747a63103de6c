"""Where records go, and that a failing log never stops a session."""

from __future__ import annotations

import logging

import pytest

import tidings as td
from tidings.core.records import LIFECYCLE_TOPIC
from tidings.errors import LogUnavailableError
from tidings.log.memory import MemoryLog
from tidings.shell.journal import current_journal


class FailingLog(MemoryLog):
    """A memory log that can be told to refuse, as a full disk does."""

    full = False

    def append_batch(self, entries):
        if self.full:
            raise LogUnavailableError("disk full: free some space")
        return super().append_batch(entries)


def kinds(log, topic: str = LIFECYCLE_TOPIC) -> list[str]:
    return [record.kind for record in log.read(topic)]


def test_without_an_active_log_nothing_is_written_and_everything_works() -> None:
    assert current_journal() is None
    assert len(td.inject_reminder(td.Transcript(), body="b").transcript.pending) == 1


def test_the_innermost_log_is_the_active_one_and_ends_with_its_block() -> None:
    outer, inner = td.open_log("memory:"), td.open_log("memory:")
    with td.active_log(outer):
        with td.active_log(inner):
            td.inject_reminder(td.Transcript(), body="b", ttl_turns=1)
        td.clear_reminders(td.Transcript(), id="nothing")
    td.inject_reminder(td.Transcript(), body="b")
    assert (kinds(outer), kinds(inner)) == ([], ["transcript.reminder.injected"])


def test_scopes_nest_and_fill_only_what_the_transcript_does_not_know() -> None:
    log = td.open_log("memory:")
    with td.active_log(log), td.scope(task_id="t", session_id="scope", agent_id="g"):
        td.inject_reminder(td.Transcript(session_id="own"), body="b", ttl_turns=1)
        with td.scope(task_id="inner"):
            td.inject_reminder(td.Transcript(), body="b", ttl_turns=1)
    first, second = log.read(LIFECYCLE_TOPIC)
    names = ("session_id", "task_id", "agent_id")
    assert [first.payload[name] for name in names] == ["own", "t", "g"]
    assert [second.payload[name] for name in names] == ["scope", "inner", "g"]


def test_unknown_context_is_null() -> None:
    log = td.open_log("memory:")
    with td.active_log(log):
        td.inject_reminder(td.Transcript(), body="b", ttl_turns=1)
    (record,) = log.read(LIFECYCLE_TOPIC)
    assert [record.payload[name] for name in ("session_id", "task_id", "agent_id")] == [None] * 3


def test_bodies_go_to_the_transcript_topic_of_the_session_only() -> None:
    log = td.open_log("memory:")
    with td.active_log(log):
        td.inject_reminder(td.Transcript(session_id="s"), body="the body", ttl_turns=1)
    assert "the body" not in str([record.payload for record in log.read(LIFECYCLE_TOPIC)])
    (change,) = log.read("session.s.transcript")
    assert change.kind == "transcript.injected"
    assert change.payload["event"]["reminder"]["body"] == "the body"


def test_a_session_id_with_odd_characters_still_gets_its_topic() -> None:
    log = td.open_log("memory:")
    with td.active_log(log):
        live = td.inject_reminder(td.Transcript(session_id="a b\n%"), body="b", ttl_turns=1).transcript
    assert log.latest("session.a%20b%0A%25.transcript") == 1
    assert td.replay(log, "a b\n%") == live


def test_a_full_log_is_reported_once_and_the_session_goes_on(caplog: pytest.LogCaptureFixture) -> None:
    log = FailingLog()
    transcript = td.Transcript(session_id="s")
    with caplog.at_level(logging.WARNING, "tidings"), td.active_log(log) as journal:
        log.full = True
        for number in range(3):
            transcript = td.inject_reminder(transcript, body=f"b{number}", ttl_turns=1).transcript
        assert (len(transcript.pending), len(journal.waiting)) == (3, 6)
        log.full = False
        transcript = td.post_turn(transcript, turn=1).transcript
    assert [record.message for record in caplog.records] == [
        "the event log cannot be written, records wait: disk full: free some space",
        "the event log works again, 0 records lost",
    ]
    expected = [*["transcript.reminder.injected"] * 3, *["transcript.reminder.expired"] * 3]
    assert kinds(log) == expected
    assert td.replay(log, "s") == transcript


def test_what_the_bound_cost_is_written_when_the_log_works_again() -> None:
    log = FailingLog()
    with td.active_log(log) as journal:
        journal._bound = 2
        log.full = True
        ids = [td.inject_reminder(td.Transcript(), body="b", ttl_turns=1).reminder_id for _ in range(5)]
        assert journal.lost == 3
        log.full = False
        td.inject_reminder(td.Transcript(), body="b", ttl_turns=1)
    records = list(log.read(LIFECYCLE_TOPIC))
    assert [record.kind for record in records] == [
        "log.gap",
        *["transcript.reminder.injected"] * 3,
    ]
    assert [record.payload["reminder_id"] for record in records[1:3]] == ids[-2:]
    assert records[0].payload == {"lost": 3, "reason": "disk full: free some space"}
