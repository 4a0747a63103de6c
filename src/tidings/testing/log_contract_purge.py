"""The part of the log's contract that is about purging: what goes, what stays, and what is told.

`LogContract` includes it, so an implementation of your own runs it without asking. Links are not looked
at: a log without a chain has none.
"""

from __future__ import annotations

import asyncio
from contextlib import aclosing

import msgspec
import pytest

from tidings.errors import LogUnavailableError, LogUsageError, SubscriberLaggedError
from tidings.log import Checkpoint, EventLog, LogRecord
from tidings.log.record import CHECKPOINTS
from tidings.log.search import first_mark

DEADLINE = 10.0
SESSION = "session.s.transcript"
WHOLE: dict[str, object] = {"transcript": {}, "session": {}}


def appended(log: EventLog, count: int, topic: str = "t") -> list[LogRecord]:
    """Append records one by one, each a commit of its own."""
    return [log.append(topic, "k", {"n": number}) for number in range(count)]


def cut(log: EventLog, topic: str, through: int) -> tuple[int, int] | None:
    """Purge; through which cursor, and how many went."""
    purged = log.purge(topic, through)
    return None if purged is None else (purged.purged_through, purged.count)


class PurgeContract:
    """What every event log promises about purging."""

    def test_a_purge_takes_the_records_up_to_a_cursor_and_no_others(self, log: EventLog) -> None:
        """What is left is as it was."""
        records = appended(log, 10)
        other = appended(log, 3, "u")
        assert cut(log, "t", 4) == (4, 4)
        assert (log.purged_through("t"), log.latest("t"), log.purged_through("u")) == (4, 10, 0)
        assert [*log.read("t", 4), *log.read("u")] == [*records[4:], *other]

    def test_cursors_go_on_after_a_purge_without_a_gap(self, log: EventLog) -> None:
        """A topic that is empty now still knows its number."""
        appended(log, 5)
        assert cut(log, "t", 5) == (5, 5)
        assert (log.latest("t"), list(log.read("t", 5)), "t" in log.topics()) == (5, [], False)
        record = log.append("t", "k", {})
        assert (record.cursor, list(log.read("t", 5)), "t" in log.topics()) == (6, [record], True)

    def test_a_purge_leaves_a_checkpoint_as_a_record(self, log: EventLog) -> None:
        """What it returns is what it wrote."""
        appended(log, 5)
        first, second = log.purge("t", 2), log.purge("t", 4)
        assert first is not None
        assert second is not None
        assert (second.topic, second.purged_through, second.count) == ("t", 4, 2)
        told = list(log.read(CHECKPOINTS))
        assert [msgspec.convert(record.payload, Checkpoint) for record in told] == [first, second]
        assert {record.kind for record in told} == {"log.checkpoint"}
        assert second.at_ms == told[1].occurred_at_ms

    def test_a_topic_is_known_by_its_first_record_after_that_is_gone(self, log: EventLog) -> None:
        """Purging it, and purging the checkpoints, changes nothing about it."""
        appended(log, 1, "u")
        appended(log, 5)
        marks = [first_mark(log, "t")]
        for topic, through in (("t", 2), ("t", 4), (CHECKPOINTS, 2), ("t", 5)):
            log.purge(topic, through)
            marks.append(first_mark(log, "t"))
        assert len(set(marks)) == 1
        assert first_mark(log, "u") not in (None, marks[0])
        assert first_mark(log, "none") is None

    def test_what_is_left_verifies_and_names_its_checkpoint(self, log: EventLog) -> None:
        """One record of `t` and two checkpoints are left, the newer one counts."""
        appended(log, 5)
        log.purge("t", 2)
        newest = log.purge("t", 4)
        found = log.verify()
        assert (found.topics, found.records, found.checkpoints) == (2, 3, (newest,))

    def test_a_commit_is_purged_whole_or_not_at_all(self, log: EventLog) -> None:
        """The cut is at the end of a commit."""
        appended(log, 2)
        log.append_batch([("t", "k", {}) for _ in range(3)])
        assert (cut(log, "t", 4), cut(log, "t", 4), cut(log, "t", 5)) == ((2, 2), None, (5, 3))

    def test_what_was_purged_is_not_purged_again(self, log: EventLog) -> None:
        """Nothing to do leaves no checkpoint."""
        appended(log, 3)
        assert (cut(log, "t", 2), cut(log, "t", 2), cut(log, "t", 0)) == ((2, 2), None, None)
        assert (cut(log, "none", 7), log.latest(CHECKPOINTS)) == (None, 1)

    def test_a_cursor_beyond_the_end_means_all_there_is(self, log: EventLog) -> None:
        """It purges nothing of the future."""
        appended(log, 3)
        assert cut(log, "t", 1_000) == (3, 3)
        assert appended(log, 1)[0].cursor == 4

    def test_a_dry_run_tells_what_would_go_and_changes_nothing(self, log: EventLog) -> None:
        """The same answer, and nothing done."""
        appended(log, 5)
        log.append_batch([("t", "k", {}) for _ in range(3)])
        planned = log.purge("t", 6, dry_run=True)
        assert planned is not None
        assert (planned.purged_through, planned.count) == (5, 5)
        assert (log.purged_through("t"), log.topics()) == (0, ("t",))

    def test_reading_from_before_the_cut_says_how_many_are_gone(self, log: EventLog) -> None:
        """Nobody takes a cut for the beginning."""
        appended(log, 10)
        log.purge("t", 6)
        with pytest.raises(SubscriberLaggedError) as raised:
            log.read("t", 2)
        error = raised.value
        assert (error.resume_from, error.latest, error.missed) == (6, 10, 4)
        assert [record.cursor for record in log.read("t", error.resume_from)] == [7, 8, 9, 10]

    def test_a_subscriber_from_before_the_cut_is_told_and_a_live_one_goes_on(self, log: EventLog) -> None:
        """Only what somebody still wanted to read is missed."""

        async def main() -> tuple[int, int, list[int]]:
            async with asyncio.timeout(DEADLINE):
                appended(log, 10)
                live = log.subscribe("t", 9)
                seen = [(await anext(live)).cursor]
                log.purge("t", 10)
                appended(log, 1)
                async with aclosing(live):
                    seen.append((await anext(live)).cursor)
                with pytest.raises(SubscriberLaggedError) as raised:
                    await anext(log.subscribe("t", 3))
            return raised.value.resume_from, raised.value.missed, seen

        assert asyncio.run(main()) == (10, 7, [10, 11])

    def test_a_subscriber_of_the_checkpoints_hears_of_a_purge(self, log: EventLog) -> None:
        """They are a topic like others, for those who watch."""

        async def main() -> list[LogRecord]:
            appended(log, 2)
            records = log.subscribe(CHECKPOINTS)
            waiting = asyncio.ensure_future(anext(records))
            for _ in range(5):
                await asyncio.sleep(0)
            log.purge("t", 1)
            async with asyncio.timeout(DEADLINE), aclosing(records):
                return [await waiting]

        assert asyncio.run(main()) == list(log.read(CHECKPOINTS))

    def test_only_purging_writes_checkpoints(self, log: EventLog) -> None:
        """Nobody can say by accident that something was purged."""
        for write in (
            lambda: log.append(CHECKPOINTS, "k", {}),
            lambda: log.append_batch([("t", "k", {}), (CHECKPOINTS, "k", {})]),
        ):
            with pytest.raises(LogUsageError, match="only purging writes there"):
                write()
        assert log.topics() == ()

    def test_the_checkpoints_can_be_purged_and_those_that_count_stay(self, log: EventLog) -> None:
        """They do not grow for ever."""
        appended(log, 10)
        appended(log, 5, "u")
        for through in range(1, 10):
            log.purge("t", through)
        log.purge("u", 5)
        counting = log.verify().checkpoints
        assert cut(log, CHECKPOINTS, log.latest(CHECKPOINTS)) == (10, 10)
        found = log.verify()
        assert [one.topic for one in found.checkpoints] == [CHECKPOINTS, "t", "u"]
        assert (found.checkpoints[1:], found.records) == (counting, 4)
        assert cut(log, "t", 10) == (10, 1)
        assert log.verify().records == 4

    def test_the_size_grows_with_records_and_shrinks_with_a_purge(self, log: EventLog) -> None:
        """Space that a purge freed does not count."""
        empty = log.size()
        log.append_batch([("t", "k", {"text": "x" * 1_000}) for _ in range(300)])
        appended(log, 1)
        full = log.size()
        log.purge("t", 300)
        assert empty < full
        assert log.size() < (empty + full) / 2

    def test_a_session_is_purged_only_before_a_snapshot_that_holds_all_of_it(self, log: EventLog) -> None:
        """Its mailbox is state too."""
        log.append(SESSION, "mailbox.queued", {})
        log.append(SESSION, "transcript.snapshot", {"transcript": {}})
        log.append(SESSION, "session.state", {})
        with pytest.raises(LogUsageError, match=r"only up to 0: .* call session\.checkpoint\(\)"):
            log.purge(SESSION, 1)
        log.append(SESSION, "transcript.snapshot", WHOLE)
        log.append(SESSION, "mailbox.queued", {})
        with pytest.raises(LogUsageError, match="up to 4, only up to 3"):
            log.purge(SESSION, 4)
        assert cut(log, SESSION, 3) == (3, 3)

    def test_a_snapshot_of_less_does_not_stand_for_one_of_all(self, log: EventLog) -> None:
        """What only the older one holds would be lost."""
        log.append(SESSION, "mailbox.queued", {})
        log.append(SESSION, "transcript.snapshot", WHOLE)
        log.append(SESSION, "transcript.snapshot", {"transcript": {}})
        for base in (0, 1):
            assert cut(log, SESSION, base) == ((1, 1) if base else None)
            with pytest.raises(LogUsageError, match="up to 2, only up to 1"):
                log.purge(SESSION, 2)

    def test_a_transcript_without_a_mailbox_needs_only_its_snapshot(self, log: EventLog) -> None:
        """`td.checkpoint` is enough where no session wrote."""
        log.append(SESSION, "transcript.message", {})
        log.append(SESSION, "transcript.snapshot", {"transcript": {}})
        log.append(SESSION, "transcript.message", {})
        with pytest.raises(LogUsageError, match="up to 2, only up to 1"):
            log.purge(SESSION, 2)
        assert cut(log, SESSION, 1) == (1, 1)

    def test_a_session_can_be_forgotten_as_a_whole(self, log: EventLog) -> None:
        """Everything, or what a snapshot holds."""
        log.append_batch([(SESSION, "mailbox.queued", {}), (SESSION, "session.state", {})])
        log.append("session.s.approvals", "approval.mode", {})
        with pytest.raises(LogUsageError, match="cannot be purged up to 1"):
            log.purge(SESSION, 1)
        assert (cut(log, SESSION, 2), cut(log, "session.s.approvals", 1)) == ((2, 2), (1, 1))

    @pytest.mark.parametrize("topic", ["bridge.sessions", "hub", "hub.snapshots"])
    def test_what_is_folded_without_end_is_not_forgotten(self, log: EventLog, topic: str) -> None:
        """Not even as a whole."""
        log.append(topic, "k", {})
        with pytest.raises(LogUsageError, match=f"topic '{topic}' cannot be purged up to 1, only up to 0"):
            log.purge(topic, 1)

    def test_a_snapshot_elsewhere_says_up_to_where_it_holds_everything(self, log: EventLog) -> None:
        """The hub's snapshots have a topic of their own, of which the last stays."""
        appended(log, 5, "hub")
        log.append("hub.snapshots", "hub.snapshot", {"cursor": 1, "before": 0})
        log.append("hub.snapshots", "hub.snapshot.part", {})
        log.append("hub.snapshots", "hub.snapshot", {"cursor": 3, "before": 1})
        with pytest.raises(LogUsageError, match="up to 4, only up to 3"):
            log.purge("hub", 4)
        with pytest.raises(LogUsageError, match="up to 2, only up to 1"):
            log.purge("hub.snapshots", 2)
        assert (cut(log, "hub", 3), cut(log, "hub.snapshots", 1)) == ((3, 3), (1, 1))

    @pytest.mark.parametrize("cursor", [-1, 1.5, "3", None, True])
    def test_a_bad_cursor_to_purge_through_is_refused(self, log: EventLog, cursor: int) -> None:
        """Like every cursor."""
        with pytest.raises(LogUsageError, match=r"^through_cursor is "):
            log.purge("t", cursor)
        with pytest.raises(LogUsageError, match=r"^topic is "):
            log.purge("two words", 1)

    def test_a_closed_log_purges_nothing(self, log: EventLog) -> None:
        """Closed means closed."""
        appended(log, 1)
        log.close()
        for use in (lambda: log.purge("t", 1), lambda: log.purged_through("t"), log.size):
            with pytest.raises(LogUnavailableError, match="closed"):
                use()
