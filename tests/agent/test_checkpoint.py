"""A session written as a whole: what lies before goes from the log, and the session is still the same."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tidings as td
from tidings.agent import store
from tidings.agent.session import Session
from tidings.core.mailbox import RevokeError
from tidings.core.records import transcript_topic
from tidings.errors import LogUsageError
from tidings.log import EventLog, open_log
from tidings.log.folded import furthest
from tidings.shell import transforms
from tidings.testing import ScriptedModel, call

TOPIC = transcript_topic("s")


def remind(session: Session, number: int) -> None:
    mode = ("finish_step", "interrupt_immediate", "audit_only")[number % 3]
    session.remind(id=f"r{number}", body=f"news {number}", mode=mode, dedupe_key=f"k{number % 4}")


def external(session: Session, number: int) -> None:
    session.remind(id=f"r{number}", body="from outside", origin=f"server{number % 2}")


def say(session: Session, number: int) -> None:
    session.inject(f"words {number}")


def revoke(session: Session, number: int) -> None:
    with suppress(RevokeError):  # unknown or delivered
        session.revoke_reminder(f"r{number}")


def emit(session: Session, number: int) -> None:
    session.emit("file_edited", {"path": f"{number}.py"})


def drain(session: Session, number: int) -> None:
    seam = ("iteration_start", "pre_tool_dispatch")[number % 2]
    with session.step():
        session.drain(seam)  # type: ignore[arg-type]


def forget_events(session: Session, _: int) -> None:
    with session.step():
        session.heard(session.stored.events[:1])


def sleep(session: Session, number: int) -> None:
    session.suspend(f"reason {number}", digest="so far")


def wake(session: Session, number: int) -> None:
    if session.stored.suspension is not None:
        session.resume(input={"n": number}, continue_transcript=number % 2 == 0)


def pend(session: Session, number: int) -> None:
    with session.step():
        added = transforms.inject_reminder(session.transcript, body=f"pending {number}", ttl_turns=2)
        session.keep(added.transcript)
        session.keep(transforms.post_turn(session.transcript, turn=number).transcript)


def compact(session: Session, _: int) -> None:
    with session.step():
        session.keep(transforms.compact(session.transcript, keep=1).transcript)


def checkpoint(session: Session, _: int) -> None:
    session.checkpoint()


ACTIONS: list[Callable[[Session, int], None]] = [
    remind, external, say, revoke, emit, drain, forget_events, sleep, wake, pend, compact, checkpoint,
]  # fmt: skip
STEPS = st.lists(st.tuples(st.sampled_from(ACTIONS), st.integers(0, 9)), max_size=25)


def play(session: Session, steps: list[tuple[Callable[[Session, int], None], int]]) -> None:
    for action, number in steps:
        action(session, number)


@settings(max_examples=60, deadline=None)
@given(before=STEPS, after=STEPS, again=STEPS, share=st.floats(0, 1))
def test_a_session_purged_behind_a_checkpoint_is_opened_again_as_it_was(
    before: list[tuple[Callable[[Session, int], None], int]],
    after: list[tuple[Callable[[Session, int], None], int]],
    again: list[tuple[Callable[[Session, int], None], int]],
    share: float,
) -> None:
    with open_log("memory:") as log:
        session = Session("s", agent_id="a", log=log)
        play(session, before)
        session.checkpoint()
        play(session, after)
        expected = store.load(log, "s")
        assert expected == session.stored
        log.purge(TOPIC, int(furthest(log, TOPIC) * share))
        assert store.load(log, "s") == expected
        assert td.replay(log, "s") == expected.transcript
        opened = Session("s", log=log)
        play(opened, again)
        assert store.load(log, "s") == opened.stored


def test_a_loop_goes_on_after_its_log_was_purged() -> None:
    @td.tool(read_only=True)
    def look() -> str:
        """Look around."""
        return "nothing"

    async def work(log: EventLog, *script: object) -> list[dict[str, object]]:
        session = Session("s", log=log)
        model = ScriptedModel(list(script))  # type: ignore[arg-type]
        await td.agent_loop("Go on.", model=model, tools=[look], session=session)
        session.checkpoint()
        return list(session.transcript.messages)

    with tempfile.TemporaryDirectory() as name, open_log(Path(name) / "log.db") as log:
        first = asyncio.run(work(log, call("look"), "Done."))
        purged = log.purge(TOPIC, furthest(log, TOPIC))
        assert purged is not None
        assert log.latest(TOPIC) - purged.purged_through <= 3
        second = asyncio.run(work(log, "Done again."))
        assert second[: len(first)] == first
        assert len(second) == len(first) + 2
        log.verify()


def test_without_a_checkpoint_a_session_stays_in_its_log() -> None:
    with open_log("memory:") as log:
        session = Session("s", log=log)
        say(session, 1)
        compact(session, 0)
        with pytest.raises(LogUsageError, match=r"call session\.checkpoint\(\)"):
            log.purge(TOPIC, 1)
        assert furthest(log, TOPIC) == 0


def test_a_checkpoint_that_cannot_be_read_is_told() -> None:
    with open_log("memory:") as log:
        log.append(TOPIC, "transcript.snapshot", {"transcript": {"messages": []}, "session": {"items": 5}})
        with pytest.raises(td.TranscriptError, match=r"`transcript\.snapshot` cannot be read"):
            store.load(log, "s")
