"""Claude Code in a terminal: the monitor of our plugin wakes it, also before anybody has said a word."""

from __future__ import annotations

import asyncio

import pytest

from tests.interop.hosts.looking import places
from tests.interop.hosts.stage import Stage, asked_for, gate
from tests.interop.hosts.terminal import claude, settle
from tests.interop.hosts.test_delivery import MARK, NEWS, mentions
from tidings.testing.fake_provider import Say

URGENT = ("--mode", "interrupt_immediate")

pytestmark = pytest.mark.parametrize("stage", ["claude-code"], indirect=True)


def woken(stage: Stage, *options: str) -> None:
    """Wake a session that was never prompted, and once more when it rests again."""
    first, second = gate(), gate()
    stage.provider.add(Say(text="I saw it.", before=first), Say(text="That too.", before=second))

    async def work() -> None:
        await stage.tidings("up", "--detach", "--port", "0")
        try:
            await stage.tidings("connect", stage.cli.host, *options)
            async with claude(stage):
                await stage.known()
                await stage.remind(NEWS, *URGENT)
                await asked_for(first)
                first.open()
                await stage.remind("The wombat build failed too.", *URGENT)
                await asked_for(second)
                second.open()
        finally:
            await stage.tidings("down")

    asyncio.run(work())


def test_a_session_that_was_never_prompted_is_woken_and_woken_again(stage: Stage) -> None:
    settle(stage)
    woken(stage, "--wake")
    assert mentions(stage) == [1, 1]
    assert mentions(stage, "wombat") == [0, 1]
    (place,) = places(stage.requests[0], "quokka")
    assert place.role == "user"
    assert "[SYSTEM NOTIFICATION - NOT USER INPUT]" in place.text
    assert f'<summary>Monitor event: "news from tidings"</summary>\n<event>{MARK}' in place.text


def test_after_disconnect_nothing_of_the_plugin_is_left(stage: Stage) -> None:
    settle(stage)
    folder = stage.room.home / ".claude"
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}

    async def work() -> None:
        await stage.tidings("connect", stage.cli.host, "--wake")
        assert (folder / "skills" / "tidings" / "monitors" / "monitors.json").exists()
        await stage.tidings("disconnect", stage.cli.host)

    asyncio.run(work())
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before
    assert not (folder / "skills").exists()
