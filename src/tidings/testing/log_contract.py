"""The contract of an event log, as tests: run it on your own implementation of `EventLog`.

Subclass `LogContract` in a test module and give it a `log` fixture that yields an empty log and
closes it afterwards; pytest collects the rest. Only this module needs pytest. Every wait has a
deadline of `DEADLINE` seconds.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from threading import Thread

import pytest

from tidings.errors import LogUnavailableError, LogUsageError, SubscriberLaggedError
from tidings.log import EventLog, LogRecord, Verified
from tidings.testing.log_contract_purge import PurgeContract

DEADLINE = 10.0
BAD_NAMES = ("", " ", "two words", "tab\t", "line\n", "nul\0", "x" * 513, "\ud800", 7, None, ["t"])
BAD_CURSORS = (-1, 1.5, "3", None, True)


async def take(records: AsyncGenerator[LogRecord, None], count: int) -> list[LogRecord]:
    """Receive `count` records within the deadline, then stop listening."""
    taken: list[LogRecord] = []
    async with asyncio.timeout(DEADLINE), aclosing(records):
        async for record in records:
            taken.append(record)
            if len(taken) == count:
                break
    return taken


async def until_live(records: AsyncGenerator[LogRecord, None]) -> asyncio.Task[LogRecord]:
    """Start waiting for the next record and return once the subscriber sleeps."""
    task = asyncio.ensure_future(anext(records))
    for _ in range(5):
        await asyncio.sleep(0)
    return task


class LogContract(PurgeContract):
    """What every event log promises."""

    def test_an_appended_record_is_returned_as_every_reader_gets_it(self, log: EventLog) -> None:
        """Append and read agree."""
        record = log.append("t", "k", {"list": (1, 2), "deep": {"ä": None}, "n": 2**70})
        expected = {"list": [1, 2], "deep": {"ä": None}, "n": 2**70}
        assert record == LogRecord(1, "t", "k", expected, record.occurred_at_ms)
        assert list(log.read("t")) == [record]

    def test_cursors_count_from_one_in_each_topic_by_itself(self, log: EventLog) -> None:
        """Topics do not share cursors."""
        cursors = [log.append(topic, "k", {}).cursor for topic in ("a", "b", "a", "a", "b")]
        assert cursors == [1, 1, 2, 3, 2]
        assert (log.latest("a"), log.latest("b"), log.latest("none")) == (3, 2, 0)
        assert log.topics() == ("a", "b")

    def test_a_batch_gives_its_records_in_order(self, log: EventLog) -> None:
        """Batches interleave topics."""
        records = log.append_batch([("a", "k", {"n": 1}), ("b", "k", {}), ("a", "l", {"n": 2})])
        assert [(r.topic, r.cursor, r.kind) for r in records] == [
            ("a", 1, "k"),
            ("b", 1, "k"),
            ("a", 2, "l"),
        ]
        assert [*log.read("a"), *log.read("b")] == [records[0], records[2], records[1]]

    def test_an_empty_batch_writes_nothing(self, log: EventLog) -> None:
        """No drafts, no records."""
        assert log.append_batch([]) == ()
        assert (log.topics(), log.verify()) == ((), Verified(0, 0, 0))

    def test_a_batch_with_one_bad_draft_writes_none_of_it(self, log: EventLog) -> None:
        """All or nothing."""
        with pytest.raises(LogUsageError, match=r"batch\[1\]: payload\.x"):
            log.append_batch([("t", "k", {}), ("t", "k", {"x": object()}), ("t", "k", {})])
        assert (log.latest("t"), log.topics()) == (0, ())

    def test_changing_a_payload_afterwards_changes_nothing_in_the_log(self, log: EventLog) -> None:
        """Nothing is shared between writers and readers."""
        payload: dict[str, object] = {"items": ["first"]}
        returned = log.append("t", "k", payload)
        payload["items"] = "changed"
        returned.payload["items"] = "changed too"
        next(log.read("t")).payload.clear()
        assert [record.payload for record in log.read("t")] == [{"items": ["first"]}]

    @pytest.mark.parametrize("name", BAD_NAMES)
    def test_a_bad_topic_or_kind_is_refused(self, log: EventLog, name: str) -> None:
        """Names are checked wherever they come in."""
        with pytest.raises(LogUsageError, match=r"^topic is "):
            log.append(name, "k", {})
        with pytest.raises(LogUsageError, match=r"^kind is "):
            log.append("t", name, {})
        for refused in (log.latest, log.read, log.subscribe):
            with pytest.raises(LogUsageError, match=r"^topic is "):
                refused(name)
        assert log.topics() == ()

    @pytest.mark.parametrize(
        ("payload", "where"),
        [
            ({"a": {"b": [0, object()]}}, r"payload\.a\.b\[1\] cannot be stored as JSON"),
            ({"a": "\ud800"}, r"payload\.a cannot be stored as JSON"),
            ({"big": 10**5000}, r"payload\.big cannot be stored as JSON"),
            (["a"], "payload is list; give a dict"),
            ("text", "payload is str; give a dict"),
            (None, "payload is NoneType; give a dict"),
        ],
    )
    def test_a_payload_json_cannot_hold_is_refused_by_its_field(
        self, log: EventLog, payload: dict[str, object], where: str
    ) -> None:
        """The error names the offending field."""
        with pytest.raises(LogUsageError, match=f"^{where}"):
            log.append("t", "k", payload)
        assert log.topics() == ()

    def test_a_payload_that_nests_too_deep_or_in_itself_is_refused(self, log: EventLog) -> None:
        """What is stored can be read back."""
        deep: dict[str, object] = {}
        endless: dict[str, object] = {}
        endless["self"] = endless
        for _ in range(300):
            deep = {"in": deep}
        for payload in (deep, endless):
            with pytest.raises(LogUsageError, match="payload"):
                log.append("t", "k", payload)

    def test_reading_starts_strictly_after_the_cursor(self, log: EventLog) -> None:
        """A cursor names the last record one has."""
        records = log.append_batch([("t", "k", {"n": n}) for n in range(600)])
        assert list(log.read("t", 598)) == list(records[598:])
        assert list(log.read("t", 600)) == list(log.read("t", 700)) == []
        assert list(log.read("t", 100, limit=300)) == list(records[100:400])
        assert list(log.read("t", limit=0)) == []
        assert list(log.read("nothing")) == []

    def test_reading_does_not_run_after_records_appended_meanwhile(self, log: EventLog) -> None:
        """A read is of what existed when it began."""
        log.append("t", "k", {})
        records = log.read("t")
        log.append("t", "k", {})
        assert [record.cursor for record in records] == [1]

    def test_a_kind_prefix_filters_exactly(self, log: EventLog) -> None:
        """A prefix is text, not a pattern."""
        kinds = ["a.b", "a.c", "a", "A.b", "a%b", "a_b", "ä.b", "b.a.b"]
        log.append_batch([("t", kind, {}) for kind in kinds])
        for prefix in ("", "a", "a.", "a.b", "A", "a%", "a_", "ä", "b", "x"):
            found = [record.kind for record in log.read("t", kind_prefix=prefix)]
            assert found == [kind for kind in kinds if kind.startswith(prefix)]

    @pytest.mark.parametrize("cursor", BAD_CURSORS)
    def test_a_bad_cursor_limit_or_lag_is_refused(self, log: EventLog, cursor: int) -> None:
        """Numbers are checked at the call, not at the first record."""
        with pytest.raises(LogUsageError, match=r"^from_cursor is "):
            log.read("t", cursor)
        with pytest.raises(LogUsageError, match=r"^from_cursor is "):
            log.subscribe("t", cursor)
        with pytest.raises(LogUsageError, match=r"^max_lag is "):
            log.subscribe("t", max_lag=cursor)
        if cursor is not None:
            with pytest.raises(LogUsageError, match=r"^limit is "):
                log.read("t", limit=cursor)

    def test_awaited_appends_of_many_producers_are_all_kept(self, log: EventLog) -> None:
        """Group commit gives every producer its own record."""

        async def produce(name: int) -> list[LogRecord]:
            return [await log.append_durable("t", "k", {"p": name, "n": n}) for n in range(20)]

        async def main() -> list[list[LogRecord]]:
            async with asyncio.timeout(DEADLINE):
                return await asyncio.gather(*map(produce, range(20)))

        given = asyncio.run(main())
        assert sorted((r for own in given for r in own), key=_cursor) == list(log.read("t"))
        assert [r.cursor for r in log.read("t")] == list(range(1, 401))
        for name, own in enumerate(given):
            assert [r.payload for r in own] == [{"p": name, "n": n} for n in range(20)]

    def test_threads_that_append_at_once_leave_no_gap(self, log: EventLog) -> None:
        """Writers in threads take turns."""
        threads = [Thread(target=_append_many, args=(log, 50)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(DEADLINE)
        assert [record.cursor for record in log.read("t")] == list(range(1, 201))
        assert log.verify().records == 200

    def test_a_subscriber_gets_history_then_live_without_gap(self, log: EventLog) -> None:
        """The seam between history and live does not show."""

        async def main() -> list[LogRecord]:
            log.append_batch([("t", "k", {"n": n}) for n in range(700)])
            following = asyncio.ensure_future(take(log.subscribe("t", 5), 745))
            for n in range(50):
                await log.append_durable("t", "k", {"live": n})
                log.append("other", "k", {})
            return await following

        assert asyncio.run(main()) == list(log.read("t", 5))

    def test_a_subscriber_with_a_prefix_gets_only_those_kinds(self, log: EventLog) -> None:
        """Filtered live records do not stop the ones that follow."""

        async def main() -> list[LogRecord]:
            log.append("t", "x", {})
            log.append("t", "y.1", {})
            following = asyncio.ensure_future(take(log.subscribe("t", kind_prefix="y."), 3))
            for kind in ("x", "y.2", "x", "y.3"):
                await log.append_durable("t", kind, {})
            return await following

        assert [record.kind for record in asyncio.run(main())] == ["y.1", "y.2", "y.3"]

    def test_a_subscriber_is_woken_by_a_thread(self, log: EventLog) -> None:
        """Signals cross from any thread into the loop."""

        async def main() -> list[LogRecord]:
            seen = []
            async with asyncio.timeout(DEADLINE), aclosing(log.subscribe("t")) as records:
                for _ in range(3):
                    waiting = await until_live(records)
                    await asyncio.to_thread(_append_many, log, 1)
                    seen.append(await waiting)
            return [*seen, *await take(log.subscribe("t"), 3)]

        assert [record.cursor for record in asyncio.run(main())] == [1, 2, 3, 1, 2, 3]

    def test_a_live_subscriber_that_falls_behind_is_told_where_to_resume(self, log: EventLog) -> None:
        """Lag is an error with which nothing is lost."""

        async def main() -> tuple[SubscriberLaggedError, list[LogRecord]]:
            records = log.subscribe("t", max_lag=10)
            first = await until_live(records)
            log.append("t", "k", {})
            await first
            log.append_batch([("t", "k", {}) for _ in range(11)])
            with pytest.raises(SubscriberLaggedError) as raised:
                await take(records, 1)
            return raised.value, await take(log.subscribe("t", raised.value.resume_from), 11)

        error, rest = asyncio.run(main())
        assert (error.topic, error.resume_from, error.latest, error.missed) == ("t", 1, 12, 0)
        assert [record.cursor for record in rest] == list(range(2, 13))

    def test_history_longer_than_the_lag_is_no_lag(self, log: EventLog) -> None:
        """Only a subscriber that was live can fall behind."""
        log.append_batch([("t", "k", {}) for _ in range(50)])
        assert len(asyncio.run(take(log.subscribe("t", max_lag=1), 50))) == 50

    def test_reading_a_long_history_lets_the_loop_turn(self, log: EventLog) -> None:
        """A subscriber that never waits still yields between pages."""
        log.append_batch([("t", "k", {}) for _ in range(3000)])

        async def main() -> int:
            following = asyncio.ensure_future(take(log.subscribe("t"), 3000))
            turns = 0
            while not following.done():
                await asyncio.sleep(0)
                turns += 1
            return turns

        assert asyncio.run(main()) >= 10

    def test_closing_the_log_ends_its_subscribers_cleanly(self, log: EventLog) -> None:
        """The end of the log is the end of the iteration, not an error."""

        async def main() -> list[LogRecord]:
            records = log.subscribe("t")
            first = await until_live(records)
            log.append("t", "k", {})
            seen = [await first]
            late = log.subscribe("t")
            asyncio.get_running_loop().call_soon(log.close)
            async with asyncio.timeout(DEADLINE):
                seen += [record async for record in records]
                return seen + [record async for record in late]

        assert [record.cursor for record in asyncio.run(main())] == [1]

    def test_a_closed_log_refuses_everything(self, log: EventLog) -> None:
        """Closed means closed, and closing again is harmless."""
        log.append("t", "k", {})
        log.close()
        log.close()
        uses = (
            lambda: log.append("t", "k", {}),
            lambda: log.append_batch([("t", "k", {})]),
            lambda: asyncio.run(_append_durable(log)),
            lambda: log.latest("t"),
            log.topics,
            lambda: log.read("t"),
            lambda: log.subscribe("t"),
            log.verify,
        )
        for use in uses:
            with pytest.raises(LogUnavailableError, match="closed"):
                use()

    def test_verify_counts_what_it_found(self, log: EventLog) -> None:
        """One batch for each commit and topic."""
        log.append("a", "k", {})
        log.append_batch([("a", "k", {}), ("b", "k", {}), ("a", "k", {})])
        assert log.verify() == Verified(topics=2, records=4, batches=3)

    def test_a_log_is_a_context_manager(self, log: EventLog) -> None:
        """Leaving the block closes it."""
        with log as same:
            same.append("t", "k", {})
        with pytest.raises(LogUnavailableError, match="closed"):
            log.topics()


async def _append_durable(log: EventLog) -> LogRecord:
    return await log.append_durable("t", "k", {})


def _append_many(log: EventLog, count: int) -> None:
    for number in range(count):
        log.append("t", "k", {"n": number})


def _cursor(record: LogRecord) -> int:
    return record.cursor
