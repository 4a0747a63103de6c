"""A bound for what was only seen: the oldest unused leave, what was told stays, and it is written down."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.memory.opening import NOW, open_store, redact
from tidings.memory.entry import iso
from tidings.memory.eviction import AT_ONCE, MOST_NOTES, Left
from tidings.memory.failure import MemoryInputError
from tidings.memory.health import check
from tidings.memory.ingest import Consent
from tidings.memory.server import MemoryServer
from tidings.memory.store import MemoryStore

MOST = 2 * AT_ONCE
DAY = 86_400_000


def opened(path: Path, most: int = MOST) -> MemoryStore:
    return MemoryStore(path, embedder=None, clock=lambda: NOW, most_seen=most)


def see(store: MemoryStore, number: int, **more: object) -> Left | None:
    text = f"Crate number{number} stands in hall{number % 3} and holds pears."
    return store.remember({"text": text, "kind": "turn", "created": NOW + number * DAY, **more}).left


def seen(store: MemoryStore) -> list[int]:
    return [(one.created - NOW) // DAY for one in reversed(store.list(limit=1_000)) if one.kind == "turn"]


def test_the_oldest_seen_messages_leave_and_it_is_written_down(tmp_path: Path) -> None:
    with opened(tmp_path / "m.db") as store:
        left = [see(store, number) for number in range(MOST + 1)]
        gone = Left(at=NOW, count=3, oldest=NOW, newest=NOW + 2 * DAY)
        assert left == [None] * MOST + [gone]
        assert seen(store) == list(range(3, MOST + 1))
        assert store.departures() == (gone,)
        assert store.recall("number1").items == ()
        assert store.recall("number40").items[0].content.startswith("Crate number40")
    assert check(tmp_path / "m.db") == []


def test_what_was_told_or_pinned_stays_however_old_it_is(tmp_path: Path) -> None:
    with opened(tmp_path / "m.db") as store:
        store.remember(text="Pears are kept at two degrees.", created=NOW - 900 * DAY)
        see(store, -500, pinned=True)
        for number in range(3 * MOST):
            see(store, number)
        assert [one.text for one in store.list(limit=1_000) if one.kind == "note"] == [
            "Pears are kept at two degrees."
        ]
        assert seen(store)[0] == -500
        assert len(seen(store)) <= MOST + 1


def test_what_was_shown_stays_longer_than_what_nobody_needed(tmp_path: Path) -> None:
    with opened(tmp_path / "m.db") as store:
        for number in range(MOST):
            see(store, number)
        used = store.recall("number0", budget=None).items[0]
        store.mark_surfaced([used.id])
        see(store, MOST)
        assert seen(store)[:2] == [0, 4]


def test_a_message_that_is_known_already_lets_nothing_leave(tmp_path: Path) -> None:
    with opened(tmp_path / "m.db") as store:
        for number in range(MOST):
            see(store, number)
        assert see(store, 7) is None
        assert len(seen(store)) == MOST


def test_the_record_of_departures_is_bounded_too(tmp_path: Path) -> None:
    with opened(tmp_path / "m.db", most=1) as store:
        for number in range(MOST_NOTES + 20):
            see(store, number)
        notes = store.departures()
    assert (len(notes), notes[-1].newest) == (MOST_NOTES, NOW + (MOST_NOTES + 18) * DAY)


def test_the_server_counts_and_logs_what_left(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with opened(tmp_path / "m.db", most=1) as store:
        with MemoryServer(store, redact=redact, consent=Consent(user=True)) as server:
            for number in range(3):
                server.user_message(f"The gate sensors in hall{number} are replaced every autumn.")
        assert server.background.counts["left"] == 2
        assert store.count() == 1
    day = iso(NOW)
    assert caplog.messages[0] == f"1 seen messages of {day} to {day} left: there is room for 1"


def test_a_file_from_before_there_was_a_bound_gets_it_when_it_is_opened(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    with open_store(path) as store, store.file.writing() as connection:
        connection.execute("DROP TABLE departures")
        connection.execute("DROP INDEX memories_seen")
    with opened(path, most=1) as store:
        assert [see(store, number) is not None for number in range(2)] == [False, True]


def test_a_bound_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(MemoryInputError, match="`most_seen` must be 1 or more; got 0"):
        opened(tmp_path / "m.db", most=0)
