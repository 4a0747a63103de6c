"""Watchers beside a session: their news is external, and their failures are records."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

import pytest

import tidings as td
from tests.watchers.waiting import until
from tidings import watchers
from tidings.log.memory import MemoryLog
from tidings.watchers.joining import watching
from tidings.watchers.told import News, Noticed, Told, Watcher


async def build(*news: News) -> AsyncGenerator[News, None]:
    for one in news:
        yield one


class Named:
    """A watcher with a name of its own, which says one thing and waits to be closed."""

    def __init__(self, name: str, *news: News) -> None:
        self.name = name
        self.closed = False
        self._news = news

    async def watch(self) -> AsyncGenerator[News, None]:
        try:
            for one in self._news:
                yield one
            await asyncio.Event().wait()
        finally:
            self.closed = True


def records(log: MemoryLog, kind: str) -> list[dict[str, Any]]:
    rows = log.read("transcript.reminder.lifecycle")
    return [dict(row.payload) for row in rows if row.kind == f"transcript.reminder.{kind}"]


def play(*sources: Any, expected: int = 1, kind: str = "queued") -> tuple[td.Session, MemoryLog]:
    log = MemoryLog()
    session = td.Session("s", log=log)

    async def run() -> None:
        async with watching(session, *sources):
            await until(lambda: len(records(log, kind)) >= expected)

    asyncio.run(run())
    return session, log


def test_what_a_watcher_says_waits_in_the_mailbox_as_external_news_of_that_watcher() -> None:
    session, _ = play(build(Told("It builds.", "build:status", ("build",), 1)))
    (item,) = session.stored.mailbox.items
    reminder: Any = item.what
    assert (reminder.body, reminder.dedupe_key, reminder.tags, reminder.ttl_turns) == (
        "It builds.",
        "build:status",
        ("build",),
        1,
    )
    assert (reminder.source, reminder.trust, reminder.provenance.origin) == ("bridge", "external", "build")


def test_what_a_watcher_notices_is_a_record_and_nothing_more() -> None:
    session, log = play(build(Noticed("odd", "something is odd", {"count": 3})), kind="warning")
    (row,) = records(log, "warning")
    found = {key: row[key] for key in ("code", "producer", "message", "count")}
    assert found == {"code": "odd", "producer": "watcher:build", "message": "something is odd", "count": 3}
    assert session.stored.mailbox.items == ()


def test_a_watcher_that_fails_is_recorded_and_the_others_go_on() -> None:
    async def failing() -> AsyncGenerator[News, None]:
        raise RuntimeError("no disk")
        yield Told("never")

    _, log = play(failing(), Named("other", Told("still here")))
    assert [row["message"] for row in records(log, "warning")] == ["RuntimeError: no disk"]
    assert [row["origin"] for row in records(log, "queued")] == ["other"]


def test_news_that_the_session_refuses_is_recorded_and_the_watcher_goes_on() -> None:
    _, log = play(build(Told("  ", "k"), Told("fine")))
    (row,) = records(log, "warning")
    assert (row["code"], row["dedupe_key"]) == ("watcher_refused", "k")
    assert "HARN-RMD-002" in row["message"]


def test_leaving_closes_the_watchers() -> None:
    watcher = Named("one", Told("x"))
    play(watcher)
    assert watcher.closed


def test_two_watchers_of_one_name_are_refused() -> None:
    with pytest.raises(td.CallerError, match="two watchers are named 'a'"):
        play(Named("a"), Named("a"))


def test_the_shipped_watchers_are_watchers_and_loading_the_package_loads_none() -> None:
    assert sorted(watchers.__all__) == dir(watchers)
    for name in watchers.__all__:
        assert getattr(watchers, name) is not None
    assert isinstance(Named("a"), Watcher)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        watchers.nothing  # noqa: B018
