"""Emitting: the gate answers the author at once; any task and any thread may do it."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest
from mcp.server.lowlevel import Server

from tests.mcp.emit.fixture import KINDS, high
from tests.mcp.emit.raw import DEADLINE, piped
from tidings.core.reminder import Reminder
from tidings.errors import CallerError, DiagnosticError
from tidings.mcp import Reminders, reminders_of
from tidings.mcp.emit.gate import LARGEST, LONGEST_BODY
from tidings.mcp.names import EXTENSION, METHOD
from tidings.shell.ids import new_id


@pytest.mark.parametrize(
    ("options", "code", "field"),
    [
        ({"body": ""}, "HARN-RMD-002", "body"),
        ({"body": "  "}, "HARN-RMD-002", "body"),
        ({"body": 7}, "HARN-RMD-002", "body"),
        ({"body": "\ud800"}, "HARN-RMD-002", "body"),
        ({"body": "x" * (LONGEST_BODY + 1)}, "HARN-RMD-002", "body"),
        ({"body": "b", "tags": "workspace"}, "HARN-RMD-002", "tags"),
        ({"body": "b", "ttl_turns": 0}, "HARN-RMD-002", "ttl_turns"),
        ({"body": "b", "propagate": "everyone"}, "HARN-RMD-005", "propagate"),
        ({"body": "b", "propagate": "all"}, "HARN-RMD-005", "propagate"),
        ({"body": "b", "role_hint": "user_block"}, "HARN-RMD-002", "role_hint"),
        ({"body": "b", "session": 7}, "HARN-RMD-002", "session"),
        ({"body": "b", "session": ""}, "HARN-RMD-002", "session"),
        ({"body": "b", "meta": ["c1"]}, "HARN-RMD-002", "meta"),
        ({"body": "b", "meta": {1: "c1"}}, "HARN-RMD-002", "meta"),
        ({"body": "b", "meta": {"correlationId": object()}}, "HARN-RMD-002", "meta"),
        ({"body": "b", "meta": {"correlationId": "\ud800"}}, "HARN-RMD-002", "meta"),
        ({"body": "b", "meta": {"correlationId": "x" * LARGEST}}, "HARN-RMD-002", ""),
        ({"body": "b", "resource": ""}, "HARN-RMD-002", "resource"),
        ({"body": "b", "resource": 7}, "HARN-RMD-002", "resource"),
    ],
)
def test_a_reminder_that_must_not_be_sent_is_an_error_in_the_authors_hand(
    options: dict[str, Any], code: str, field: str
) -> None:
    reminders = high()
    with pytest.raises(DiagnosticError) as caught:
        asyncio.run(reminders.emit(**options))
    assert (caught.value.code, caught.value.problems[0].field) == (code, field)
    assert reminders.stats.emitted == 0


def test_what_could_not_be_written_never_reaches_a_client() -> None:
    async def go() -> list[str]:
        reminders = high()
        async with asyncio.timeout(DEADLINE), piped(reminders) as client:
            await client.listen(1, {EXTENSION: {}})
            with pytest.raises(DiagnosticError):
                await reminders.emit("b", meta={"x": {1, 2, object()}})
            await reminders.emit("the pump still runs")
            return [(await client.next())["params"]["reminder"]["body"]]

    assert asyncio.run(go()) == ["the pump still runs"]


def test_every_problem_with_what_was_advertised_is_named_at_once() -> None:
    with pytest.raises(DiagnosticError) as caught:
        high().emit_soon("b", propagate="all", role_hint="user_block")
    assert [one.field for one in caught.value.problems] == ["propagate", "role_hint"]
    assert "is not advertised (session, none); advertise it" in str(caught.value)


def test_what_was_advertised_may_be_emitted() -> None:
    reminders = high(propagate=("all",), role_hints=("user_block",))
    reminder = reminders.emit_soon("b", propagate="all", role_hint="user_block")
    assert (reminder.propagate, reminder.role_hint) == ("all", "user_block")


def test_emitting_gives_the_reminder_with_an_id_of_its_own() -> None:
    before = new_id()
    reminder = asyncio.run(high().emit("  trimmed  ", tags=["a", "a"], dedupe_key=" k "))
    assert isinstance(reminder, Reminder)
    assert (reminder.body, reminder.tags, reminder.dedupe_key) == ("trimmed", ("a",), "k")
    assert before < reminder.id < new_id()
    assert reminder.id[14] == "7"


@pytest.mark.parametrize("kind", KINDS)
def test_a_server_has_one_emitter_and_it_can_be_found(kind: str) -> None:
    reminders = KINDS[kind]()
    assert reminders_of(reminders.server) is reminders
    assert reminders_of(Server("another")) is None
    with pytest.raises(CallerError, match="has reminders already"):
        Reminders(reminders.server)


def test_what_is_no_server_is_refused() -> None:
    with pytest.raises(CallerError, match="is no server of the MCP SDK: 'mcp'"):
        Reminders("mcp")


def test_an_unknown_profile_is_refused() -> None:
    with pytest.raises(CallerError, match="one of 2026-07-28, draft-2026-06; got '2025'"):
        high(profile="2025")


def test_an_unknown_list_is_refused() -> None:
    with pytest.raises(CallerError, match="one of tools, prompts, resources; got 'roots'"):
        high().list_changed("roots")


def test_threads_emit_before_and_while_the_server_runs() -> None:
    reminders = high(capacity=1_000)

    def work(name: str) -> None:
        for number in range(100):
            reminders.emit_soon(f"{name} {number}")

    def together(names: str) -> None:
        threads = [threading.Thread(target=work, args=(name,)) for name in names]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    async def go() -> list[str]:
        together("ab")
        async with asyncio.timeout(DEADLINE), piped(reminders) as client:
            await client.listen("s", {EXTENSION: {}})
            await asyncio.to_thread(together, "cd")
            return [(await client.until(method=METHOD))["params"]["reminder"]["body"] for _ in range(400)]

    bodies = asyncio.run(go())
    for name in "abcd":
        assert [body for body in bodies if body[0] == name] == [f"{name} {n}" for n in range(100)]
    assert reminders.stats.dropped == 0


def test_what_threads_emit_while_nobody_serves_is_bounded() -> None:
    reminders = high(capacity=10)
    for number in range(25):
        reminders.emit_soon(f"number {number}")
    assert reminders.stats.dropped == 15


def test_one_server_may_run_in_one_loop_after_another() -> None:
    reminders = high()

    async def go(body: str) -> object:
        async with asyncio.timeout(DEADLINE), piped(reminders) as client:
            await client.listen(1, {EXTENSION: {}})
            await reminders.emit(body)
            heard = (await client.next())["params"]["reminder"]["body"]
            assert await reminders.aclose()
            return heard

    first = asyncio.run(go("first"))
    reminders.emit_soon("between")
    assert (first, asyncio.run(go("second"))) == ("first", "between")
