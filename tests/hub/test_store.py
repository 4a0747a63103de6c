"""The hub's log: an answer waits for the disk, answers share a sync, and a failed disk is told."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.hub.desks import DEADLINE, remind
from tidings.core.records import Alike, Record
from tidings.errors import LogUnavailableError
from tidings.hub.service import Hub
from tidings.hub.store import Store
from tidings.log import open_log
from tidings.log.disk import sync_file
from tidings.log.sqlite import SqliteLog


class Disk:
    """Syncs, counts, and fails when told to."""

    def __init__(self) -> None:
        self.syncs = 0
        self.full = False

    def __call__(self, handle: int) -> None:
        if self.full:
            raise OSError("no space")
        sync_file(handle)
        self.syncs += 1


def test_a_reminder_is_on_disk_before_its_sender_is_told_and_many_share_a_sync(tmp_path: Path) -> None:
    async def scene() -> None:
        disk = Disk()
        with SqliteLog(tmp_path / "hub.db", durability="fsync", sync=disk) as log:
            hub = Hub(Store(log))
            await remind(hub, "one", {"all": True})
            assert disk.syncs == 1
            await asyncio.gather(*(remind(hub, f"{number}", {"all": True}) for number in range(100)))
            assert 1 < disk.syncs <= 3
            await hub.store.settle()
            assert disk.syncs <= 3

    asyncio.run(asyncio.wait_for(scene(), DEADLINE))


def test_a_disk_that_confirms_nothing_is_told_to_the_sender(tmp_path: Path) -> None:
    async def scene() -> None:
        disk = Disk()
        with SqliteLog(tmp_path / "hub.db", durability="fsync", sync=disk) as log:
            hub = Hub(Store(log))
            disk.full = True
            with pytest.raises(LogUnavailableError):
                await remind(hub, "one", {"all": True})

    asyncio.run(asyncio.wait_for(scene(), DEADLINE))


def test_what_the_log_refuses_changes_nothing(tmp_path: Path) -> None:
    log = SqliteLog(tmp_path / "hub.db", durability="fsync")
    store = Store(log)
    log.close()
    with pytest.raises(LogUnavailableError):
        store.commit([Record("hub.session.registered", {"session_id": "s"})])
    assert (store.board.sessions, store.cursor) == ({}, 0)


@pytest.mark.parametrize("kept", ["memory", "file"])
def test_the_cursor_counts_every_record_of_those_that_are_alike(kept: str, tmp_path: Path) -> None:
    told = Alike("hub.noted", "name", ("a", "b", "c"), {"n": 1})
    with open_log("memory:" if kept == "memory" else tmp_path / "hub.db") as log:
        store = Store(log)
        store.commit([Record("hub.noted", {"name": "first"}), told])
        store.commit([told, Record("hub.noted", {"name": "last"})])
        names = [record.payload["name"] for record in log.read("hub")]
        assert names == ["first", "a", "b", "c", "a", "b", "c", "last"]
        assert store.cursor == Store(log).cursor == 8
