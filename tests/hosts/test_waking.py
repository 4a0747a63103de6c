"""An idle session is woken by what is urgent, by those who may, and by nobody while it works."""

from __future__ import annotations

import asyncio

import pytest

from tests.hosts.desks import Desk
from tests.hosts.events import payload
from tests.hosts.test_drain import play
from tidings.hosts.happening import NEUTRAL, WAKE, Host
from tidings.hub import shapes

NEWS = shapes.WakeAnswer(news=True, over=False)
NOTHING = shapes.WakeAnswer(news=False, over=False)
OVER = shapes.WakeAnswer(news=False, over=True)
END: dict[Host, str] = {"claude-code": "Stop", "codex": "Stop", "opencode": "session.idle"}


async def waiting_call(
    desk: Desk, seconds: float = 20.0, stays: bool = False
) -> asyncio.Task[shapes.WakeAnswer]:
    event = payload(desk.host, WAKE if stays else END[desk.host])
    asked = shapes.Wake(host=desk.host, event=event, wait_seconds=seconds, stays=stays)
    task = asyncio.create_task(desk.hub.hosting.waking.wake(asked))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    return task


@pytest.mark.parametrize("host", list(END))
def test_what_is_urgent_wakes_an_idle_session_and_is_fetched_once(host: Host) -> None:
    async def script() -> None:
        desk = Desk(host)
        await desk.hook(END[host])
        call = await waiting_call(desk)
        await desk.remind("May wait.")
        await desk.remind("Production is down.", mode="interrupt_immediate")
        assert await call == NEWS
        text = await desk.text(WAKE)
        assert "Production is down." in text
        assert "May wait." not in text
        assert await desk.hook(WAKE) == NEUTRAL

    play(script)


def test_what_may_wait_does_not_wake() -> None:
    async def script() -> None:
        desk = Desk()
        await desk.hook("Stop")
        await desk.remind("May wait.")
        assert await (await waiting_call(desk, 0.01)) == NOTHING

    play(script)


def test_a_stranger_wakes_only_by_grant() -> None:
    async def script() -> None:
        desk = Desk()
        await desk.hook("Stop")
        params = {"body": "Wake up.", "mode": "interrupt_immediate", "to": {"session": "claude-code:s1"}}
        await desk.hub.remind(params, origin="tidings/ci", grants=frozenset({"interrupt_immediate"}))
        assert await (await waiting_call(desk, 0.01)) == NOTHING
        granted = frozenset({"interrupt_immediate", "wake_idle"})
        await desk.hub.remind(params, origin="tidings/prod", grants=granted)
        assert await (await waiting_call(desk)) == NEWS
        assert "From tidings/prod" in await desk.text(WAKE)

    play(script)


def test_a_session_that_goes_on_needs_no_waking() -> None:
    async def script() -> None:
        desk = Desk()
        await desk.hook("Stop")
        call = await waiting_call(desk)
        await desk.hook("UserPromptSubmit")
        assert await call == OVER
        await desk.remind("Production is down.", mode="interrupt_immediate")
        assert await desk.hook(WAKE) == NEUTRAL
        assert "Production is down." in await desk.text("PostToolBatch")

    play(script)


def test_a_newer_call_takes_the_place_of_the_former() -> None:
    async def script() -> None:
        desk = Desk()
        await desk.hook("Stop")
        former, newer = await waiting_call(desk), await waiting_call(desk)
        assert await former == OVER
        await desk.remind("Production is down.", mode="interrupt_immediate")
        assert await newer == NEWS

    play(script)


def test_a_session_that_ends_or_is_forgotten_ends_its_call() -> None:
    async def script() -> None:
        desk = Desk()
        await desk.hook("Stop")
        call = await waiting_call(desk)
        await desk.hook("SessionEnd")
        assert await call == OVER

    play(script)


def test_somebody_who_waits_keeps_a_silent_session_known() -> None:
    async def script() -> None:
        desk = Desk()
        await desk.hook("Stop")
        call = await waiting_call(desk)
        desk.clock.pass_seconds(5 * 3600)
        desk.hub.sweep()
        assert desk.waiting() == 0
        await desk.remind("Production is down.", mode="interrupt_immediate")
        assert await call == NEWS

    play(script)


def test_a_payload_that_names_no_session_has_nothing_to_wait_for() -> None:
    async def script() -> None:
        desk = Desk()
        asked = shapes.Wake(host="claude-code", event={})
        assert await desk.hub.hosting.waking.wake(asked) == OVER

    play(script)


def test_a_session_that_is_being_continued_is_not_at_rest() -> None:
    async def script() -> None:
        desk = Desk()
        await desk.hook("UserPromptSubmit")
        await desk.remind("May wait.")
        assert await desk.text("Stop") != ""
        await desk.remind("Production is down.", mode="interrupt_immediate")
        assert await (await waiting_call(desk, 0.01)) == NOTHING
        assert "Production is down." in await desk.text("PostToolBatch")

    play(script)


def test_a_session_that_was_never_prompted_is_woken() -> None:
    async def script() -> None:
        desk = Desk()
        await desk.hook("SessionStart")
        call = await waiting_call(desk, stays=True)
        await desk.remind("Production is down.", mode="interrupt_immediate")
        assert await call == NEWS
        assert "Production is down." in await desk.text(WAKE)

    play(script)


def test_who_stays_waits_while_the_session_works_and_wakes_it_once_it_rests() -> None:
    async def script() -> None:
        desk = Desk()
        await desk.hook("SessionStart")
        call = await waiting_call(desk, stays=True)
        await desk.hook("UserPromptSubmit")
        await desk.hook("Stop")
        await desk.hook("UserPromptSubmit")
        await desk.remind("Production is down.", mode="interrupt_immediate")
        await asyncio.sleep(0)
        assert not call.done()
        assert "Production is down." in await desk.text("PostToolBatch")
        await desk.hook("Stop")
        await desk.remind("It is up again.", mode="interrupt_immediate")
        assert await call == NEWS

    play(script)


def test_where_somebody_stays_others_need_not_wait() -> None:
    async def script() -> None:
        desk = Desk()
        await desk.hook("Stop")
        stays = await waiting_call(desk, stays=True)
        assert await (await waiting_call(desk)) == OVER
        again = await waiting_call(desk, stays=True)
        assert await stays == OVER
        await desk.remind("Production is down.", mode="interrupt_immediate")
        assert await again == NEWS

    play(script)


def test_who_stays_is_sent_home_when_the_session_ends() -> None:
    async def script() -> None:
        desk = Desk()
        await desk.hook("Stop")
        call = await waiting_call(desk, stays=True)
        await desk.hook("SessionEnd")
        assert await call == OVER

    play(script)


def test_a_session_that_was_just_woken_works_and_is_not_woken_again() -> None:
    async def script() -> None:
        desk = Desk()
        await desk.hook("Stop")
        await desk.remind("Production is down.", mode="interrupt_immediate")
        assert "Production is down." in await desk.text(WAKE)
        await desk.remind("The cause is known.", mode="interrupt_immediate")
        assert await (await waiting_call(desk, 0.01, stays=True)) == NOTHING
        assert await desk.hook(WAKE) == NEUTRAL

    play(script)


def test_who_stays_beside_a_session_that_a_new_hub_knows_nothing_of_may_wake_it() -> None:
    async def script() -> None:
        desk = Desk()
        call = await waiting_call(desk, stays=True)
        await desk.remind("Production is down.", mode="interrupt_immediate")
        assert await call == NEWS

    play(script)
