"""Who is told, what waits, what is lost: without any SDK."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

from tidings.mcp.emit.connection import MOST_HANDLES, MOST_SUBSCRIBED, Connection
from tidings.mcp.emit.delivery import Delivery
from tidings.mcp.emit.leftovers import MOST_PEERS, Leftovers
from tidings.mcp.emit.tally import Dropped, Stats, Tally
from tidings.mcp.events import Event, Filter, list_changed, reminder_event, resource_updated
from tidings.mcp.names import EXTENSION, TOOLS_CHANGED

REMINDERS = Filter(extensions={EXTENSION: {}})


def run(script: Coroutine[Any, Any, Any]) -> Any:
    async def go() -> Any:
        async with asyncio.timeout(5):
            return await script

    return asyncio.run(go())


def told(body: str, key: str | None = None, session: str | None = None) -> Event:
    return reminder_event({"reminder": {"body": body, "id": body}}, key=key, session=session)


def body(event: Event) -> object:
    return event.params["reminder"]["body"]


def delivery(**options: Any) -> tuple[Delivery, list[tuple[object, str]]]:
    lost: list[tuple[object, str]] = []
    tally = Tally(lambda one: lost.append((one.event.params, one.where)))
    return Delivery(tally, **options), lost


def connection(lost: list[Event] | None = None, **options: Any) -> Connection:
    dropped = [] if lost is None else lost
    return Connection(on_drop=dropped.append, **options)


async def sent(one: Connection) -> list[object]:
    one.end()
    found = []
    while (frame := await one.next()) is not None:
        found.append(frame.params.get("reminder", frame.method))
    return found


def test_a_reminder_that_nobody_takes_waits_for_the_first_that_wants_it() -> None:
    async def script() -> tuple[int, object, int]:
        here, _ = delivery()
        here.publish(told("one"))
        here.publish(told("two", session="s2"))
        waiting = here.stats().waiting
        stream = here.router.open(1, REMINDERS)
        here.adopt(stream)
        frame = await stream.next()
        return waiting, frame and frame.params["reminder"], here.stats().waiting

    assert run(script()) == (2, {"body": "one", "id": "one"}, 1)


def test_a_list_that_changed_waits_for_nobody() -> None:
    here, _ = delivery()
    assert here.publish(list_changed(TOOLS_CHANGED)) == 0
    assert here.stats().waiting == 0


def test_a_full_outbox_loses_the_oldest_and_says_so() -> None:
    here, lost = delivery(capacity=2)
    for name in "abc":
        here.publish(told(name))
    assert lost == [({"reminder": {"body": "a", "id": "a"}}, "the outbox")]
    assert here.stats() == Stats(emitted=0, sent=0, shown=0, dropped=1, waiting=2, streams=0, connections=0)


def test_a_client_that_cannot_be_told_is_told_when_its_stream_opens() -> None:
    async def script() -> tuple[bool, bool, object]:
        here, _ = delivery()
        one = connection(session="h1", up=False)
        here.connect("one", one)
        here.publish(told("kept"))
        before = one.up
        here.listening("h1", on=True)
        frame = await one.next()
        during = one.up
        here.listening("h1", on=False)
        return before, during and not one.up, frame and frame.params

    assert run(script()) == (False, True, {"reminder": {"body": "kept", "id": "kept"}})


def test_a_stream_that_opened_before_the_handshake_was_noted_counts() -> None:
    here, _ = delivery()
    here.listening("h1", on=True)
    one = connection(session="h1", up=False)
    here.connect("one", one)
    assert one.up


def test_of_two_get_streams_one_is_enough() -> None:
    here, _ = delivery()
    one = connection(session="h1", up=False)
    here.connect("one", one)
    here.listening("h1", on=True)
    here.listening("h1", on=True)
    here.listening("h1", on=False)
    assert one.up
    here.listening("h1", on=False)
    assert not one.up


def test_over_http_an_addressed_reminder_goes_only_where_its_conversation_was_named() -> None:
    here, _ = delivery()
    one, two = connection(session="h1"), connection(session="h2")
    here.connect("one", one)
    here.connect("two", two)
    two.uses("s2")
    assert here.publish(told("for s2", session="s2")) == 1
    assert here.publish(told("for the session h1", session="h1")) == 1
    assert here.publish(told("for nobody here", session="s9")) == 0
    assert (run(sent(one)), run(sent(two)), here.stats().waiting) == (
        [{"body": "for the session h1", "id": "for the session h1"}],
        [{"body": "for s2", "id": "for s2"}],
        1,
    )


def test_what_a_connection_remembers_is_bounded() -> None:
    one = connection(session="h1")
    for number in range(MOST_HANDLES + 5):
        one.uses(f"s{number}")
    for number in range(MOST_SUBSCRIBED + 5):
        one.subscribe(f"file:///{number}")
    assert not one.wants(told("old", session="s0"))
    assert one.wants(told("new", session=f"s{MOST_HANDLES + 4}"))
    assert not one.wants(resource_updated("file:///0"))
    assert one.wants(resource_updated(f"file:///{MOST_SUBSCRIBED + 4}"))


def test_what_waited_for_a_client_that_left_is_told_as_lost() -> None:
    here, _ = delivery()
    lost: list[Event] = []
    one = connection(lost, session="h1", up=False, capacity=2)
    here.connect("one", one)
    for name in "abc":
        here.publish(told(name))
    here.disconnect("one")
    here.disconnect("one")
    assert [body(event) for event in lost] == ["a", "b", "c"]
    assert here.stats().connections == 0
    assert here.publish(told("d")) == 0


def test_closing_waits_for_the_streams_and_ends_what_comes_meanwhile() -> None:
    async def script() -> tuple[bool, bool, bool, bool]:
        here, _ = delivery()
        first = here.router.open(1, REMINDERS)
        closing = asyncio.create_task(here.aclose())
        await asyncio.sleep(0)
        second = here.router.open(2, REMINDERS)
        here.adopt(second)
        late = connection()
        here.connect("late", late)
        here.stream_closed(first)
        await asyncio.sleep(0)
        early = closing.done()
        here.stream_closed(second)
        await closing
        return first.ended, second.ended, late.ended, early

    assert run(script()) == (True, True, True, False)


def test_each_peer_is_shown_each_reminder_once_newest_per_key_from_its_first_request_on() -> None:
    kept = Leftovers(on_drop=lambda _: None)
    kept.add(told("before"))
    kept.meet("a")
    kept.add(told("old build", "build"))
    kept.add(told("plain"))
    kept.meet("b")
    kept.add(told("new build", "build"))
    kept.add(told("addressed", session="s1"))
    assert [body(one) for one in kept.take("a", None, 10)] == ["plain", "new build"]
    assert [body(one) for one in kept.take("b", "s1", 10)] == ["new build", "addressed"]
    assert kept.take("a", None, 10) == []


def test_what_does_not_fit_in_one_result_comes_with_the_next() -> None:
    kept = Leftovers(on_drop=lambda _: None)
    kept.meet("a")
    for name in "abcde":
        kept.add(told(name))
    assert [body(one) for one in kept.take("a", None, 2)] == ["a", "b"]
    assert [body(one) for one in kept.take("a", None, 2)] == ["c", "d"]
    assert [body(one) for one in kept.take("a", None, 2)] == ["e"]


def test_what_a_peer_never_saw_is_told_as_lost_and_peers_are_bounded() -> None:
    lost: list[Event] = []
    kept = Leftovers(1, on_drop=lost.append)
    kept.add(told("nobody is there"))
    kept.add(told("nor here"))
    kept.meet("slow")
    kept.add(told("unseen"))
    kept.add(told("seen"))
    assert [body(one) for one in lost] == ["unseen"]
    for number in range(MOST_PEERS + 1):
        kept.meet(number)
    assert kept.take("slow", None, 10) == []


def test_a_result_shows_what_nobody_was_sent_and_the_outbox_forgets_it() -> None:
    here, _ = delivery(keep_leftovers=True)
    here.publish(told("a"))
    here.publish(told("b", session="s1"))
    shown = here.unseen("peer", None, declared=True, most=5)
    assert ([body(one) for one in shown], here.stats().waiting, here.stats().shown) == (["a"], 1, 1)
    assert here.unseen("peer", "s1", declared=False, most=0) == []
    assert [body(one) for one in here.unseen("peer", "s1", declared=False, most=5)] == ["b"]
    assert here.unseen("peer", "s1", declared=False, most=5) == []


def test_a_result_takes_what_waits_for_a_client_that_cannot_be_told_and_leaves_the_rest() -> None:
    async def script() -> tuple[list[object], list[object]]:
        here, _ = delivery(keep_leftovers=True)
        one = connection(session="h1", up=False, declared=True)
        here.connect("one", one)
        for name in "abc":
            here.publish(told(name))
        here.publish(list_changed(TOOLS_CHANGED))
        shown = here.unseen("one", None, declared=True, most=2)
        one.up = True
        return [body(event) for event in shown], await sent(one)

    assert run(script()) == (["a", "b"], [{"body": "c", "id": "c"}, TOOLS_CHANGED])


def test_an_on_drop_that_fails_changes_nothing(caplog: Any) -> None:
    def fail(_: Dropped) -> None:
        raise RuntimeError("no disk")

    tally = Tally(fail)
    for _ in range(11):
        tally.lost(told("x"), "a test")
    assert tally.dropped == 11
    warned = [one.getMessage() for one in caplog.records if one.levelname == "WARNING"]
    assert warned == [f"dropped notifications/reminder from a test: {n} lost so far" for n in (1, 10)]
