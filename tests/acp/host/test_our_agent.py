"""The host against our own agent and our own interposer, all as real processes with a scripted model."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

import pytest

from tidings.acp import Deduped, Emitted, Expired, Host, Lowered, Session
from tidings.core.mailbox import RevokeError

pytest.importorskip(
    "tidings.acp.agent.serve", reason="NOT TESTED: the host against `tidings acp`, which is not there"
)

TIDINGS = [sys.executable, "-c", "from tidings.cli.main import run; run()"]
T = TypeVar("T")


def converse(folder: Path, scene: Callable[[Host], Awaitable[T]], *options: str) -> T:
    log = f"sqlite:///{folder}/sessions.db"
    command = [*TIDINGS, "acp", "--model", "scripted:done", "--log", log, *options]

    async def whole() -> T:
        async with asyncio.timeout(60), Host.start(command, cwd=folder) as host:
            told = await scene(host)
            assert host.notes == ()
        assert host.exit_code == 0
        return told

    return asyncio.run(whole())


@pytest.mark.parametrize("options", [(), ("--no-rfc-capability",)])
def test_a_reminder_is_accepted_emitted_and_expires(tmp_path: Path, options: tuple[str, ...]) -> None:
    async def scene(host: Host) -> tuple[list[object], str, str]:
        session = await host.new_session(tmp_path)
        with session.reminders() as events:
            first = await session.remind("The build is red.", dedupe_key="build", tags=["ci"], ttl_turns=1)
            second = await session.remind(
                "The build is green.", dedupe_key="build", tags=["ci"], ttl_turns=1
            )
            assert (first.deduped_count, second.deduped_count) == (0, 1)
            answer = await session.prompt("How is the build?")
        heard: list[object] = [
            event async for event in events if event.reminder_id in (first.reminder_id, second.reminder_id)
        ]
        assert heard == [
            Deduped(
                session_id=session.id,
                reminder_id=second.reminder_id,
                dedupe_key="build",
                dropped_ids=(first.reminder_id,),
            ),
            Emitted(
                session_id=session.id,
                reminder_id=second.reminder_id,
                body="The build is green.",
                tags=("ci",),
                dedupe_key="build",
                source="bridge",
                fired_at_turn=0,
                role_hint="system",
                rendered_role="system",
                ttl_turns=1,
            ),
            Expired(
                session_id=session.id,
                reminder_id=second.reminder_id,
                phase="ttl_expired",
                expired_at_turn=1,
            ),
        ]
        return heard, answer.text, answer.stop_reason

    heard, text, reason = converse(tmp_path, scene, *options)
    assert (len(heard), text, reason) == (3, "Done.", "end_turn")


def test_what_waits_can_be_listed_revoked_and_cleared(tmp_path: Path) -> None:
    async def scene(host: Host) -> list[object]:
        session = await host.new_session(tmp_path)
        one, two, three = [await session.remind(f"News {n}.", tags=[f"t{n}"]) for n in range(3)]
        told: list[object] = [[row["body"] for row in await session.pending()]]
        told += [await session.revoke(one.reminder_id), await session.revoke(one.reminder_id)]
        told.append(await session.clear(tag="t1"))
        await session.prompt("Go on.")
        for reminder_id in (three.reminder_id, "nobody"):
            with pytest.raises(RevokeError) as caught:
                await session.revoke(reminder_id)
            told.append(caught.value.reason)
        assert two.reminder_id not in str(await session.pending())
        return told

    assert converse(tmp_path, scene) == [
        ["News 0.", "News 1.", "News 2."],
        "revoked",
        "already_revoked",
        1,
        "already_delivered",
        "unknown_reminder_id",
    ]


def test_a_users_words_wait_for_the_agents_next_turn(tmp_path: Path) -> None:
    async def scene(host: Host) -> bool:
        session = await host.new_session(tmp_path)
        message_id = await session.inject("Use tabs.")
        return [row["messageId"] for row in await session.pending()] == [message_id]

    assert converse(tmp_path, scene)


def test_a_session_is_loaded_again_by_another_process(tmp_path: Path) -> None:
    async def first(host: Host) -> str:
        session = await host.new_session(tmp_path)
        await session.prompt("Remember the milk.")
        return session.id

    session_id = converse(tmp_path, first)

    async def second(host: Host) -> tuple[list[tuple[str, str]], str]:
        session: Session = await host.load_session(session_id, tmp_path)
        told = [(u.kind, u.text) for u in session.history if u.kind.endswith("message_chunk")]
        return told, (await session.prompt("And now?")).text

    assert converse(tmp_path, second) == (
        [("user_message_chunk", "Remember the milk."), ("agent_message_chunk", "Done.")],
        "Done.",
    )


def test_through_our_interposer_an_agent_without_reminders_takes_them(tmp_path: Path) -> None:
    pytest.importorskip("tidings.acp.proxy", reason="NOT TESTED: the host through `tidings acp-proxy`")
    agent = [sys.executable, str(Path(__file__).with_name("fake_agent.py")), "{}"]

    async def whole() -> tuple[tuple[Lowered, ...], list[str], int]:
        command = [*TIDINGS, "acp-proxy", "--no-socket", "--", *agent]
        async with asyncio.timeout(60), Host.start(command, cwd=tmp_path) as host:
            session = await host.new_session(tmp_path)
            reminded = await session.remind("The build is red.", ttl_turns=1, role_hint="developer")
            answer = await session.prompt("blocks")
            told = [
                type(event).__name__
                for event in answer.reminders
                if event.reminder_id == reminded.reminder_id
            ]
            assert "The build is red." in answer.text
        return reminded.lowered, told, len(json.loads(answer.text))

    lowered = (Lowered("role_hint", "developer", "user_block"),)
    assert asyncio.run(whole()) == (lowered, ["Emitted", "Expired"], 2)
