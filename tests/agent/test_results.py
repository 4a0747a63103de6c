"""When the results of tools are in the log: before anything is waited for, and with no commit too many."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import tidings as td
from tests.agent.tools.calling import ALLOW_ALL
from tidings.agent.loop import agent_loop
from tidings.agent.models.scripted import ScriptedModel, call
from tidings.agent.port import Answer, ToolCall
from tidings.agent.registry import Registry
from tidings.agent.session import Session
from tidings.agent.tools.function import tool
from tidings.core.records import Record, transcript_topic
from tidings.log.memory import MemoryLog

RESULT = "nothing new"


class Commits(MemoryLog):
    """A log that remembers the kinds of each commit."""

    def __init__(self) -> None:
        super().__init__()
        self.made: list[list[str]] = []

    def append_batch(self, drafts: Any) -> Any:
        given = list(drafts)
        self.made.append([kind for _, kind, _ in given])
        return super().append_batch(given)

    def has_result(self) -> bool:
        found = [
            record.payload["message"]
            for record in self.read(transcript_topic("s"), 0, "transcript.message")
        ]
        return any(message["role"] == "tool" and message["content"] == RESULT for message in found)


class Thinking(ScriptedModel):
    """A model that waits a moment before its second answer, and sees what is in the log then and before."""

    def __init__(self, log: Commits) -> None:
        super().__init__([call("look"), "done"])
        self.log = log
        self.saw: list[bool] = []

    async def answer(self, body: Any, tools: Any = (), on_text: Any = None) -> Any:
        if self.requests:
            self.saw.append(self.log.has_result())
            await asyncio.sleep(0)
            self.saw.append(self.log.has_result())
        return await super().answer(body, tools, on_text)


class AtOnce(ScriptedModel):
    """A model that never waits."""

    async def answer(self, body: Any, tools: Any = (), on_text: Any = None) -> Answer:
        self.requests.append(body)
        if len(self.requests) > 1:
            return Answer(text="done")
        return Answer(tool_calls=(ToolCall("call_1", "look", {}),), stop="tools")


def looking(*, read_only: bool) -> Any:
    @tool(read_only=read_only)
    async def look() -> str:
        """Look around."""
        return RESULT

    return look


def play(model: ScriptedModel, log: Commits, *, read_only: bool, **options: Any) -> bool:
    """Whether the results are in the log as soon as the loop has ended."""

    async def run() -> bool:
        async with asyncio.timeout(30):
            await agent_loop(
                "work",
                model=model,
                tools=[looking(read_only=read_only)],
                approval=ALLOW_ALL,
                session=Session("s", log=log),
                reminders=False,
                **{"registry": Registry(), **options},
            )
            return log.has_result()

    return asyncio.run(run())


def test_results_of_looking_share_the_commit_of_an_answer_that_comes_at_once() -> None:
    log = Commits()
    play(AtOnce(["unused"]), log, read_only=True)
    answer = ["transcript.fired", "transcript.message", "transcript.passed"]
    assert log.made == [["transcript.message"], answer, ["transcript.message", *answer]]


def test_results_of_acting_are_a_commit_of_their_own() -> None:
    log = Commits()
    play(AtOnce(["unused"]), log, read_only=False)
    answer = ["transcript.fired", "transcript.message", "transcript.passed"]
    assert log.made == [["transcript.message"], answer, ["transcript.message"], answer]


@pytest.mark.parametrize(("read_only", "seen"), [(True, [False, True]), (False, [True, True])])
def test_results_are_in_the_log_while_the_next_answer_is_waited_for(
    read_only: bool, seen: list[bool]
) -> None:
    log = Commits()
    model = Thinking(log)
    play(model, log, read_only=read_only)
    assert model.saw == seen


def test_hooks_find_the_results_in_the_log() -> None:
    log, registry, seen = Commits(), Registry(), []
    registry.register_step_hook("post_step", lambda *_: seen.append(log.has_result()))
    play(ScriptedModel([call("look"), "done"]), log, read_only=True, registry=registry)
    assert seen == [True]


def test_results_are_in_the_log_when_no_turn_follows() -> None:
    assert play(AtOnce(["unused"]), Commits(), read_only=True, max_iterations=1)


def test_an_active_log_that_the_session_was_made_without_has_the_results_in_time() -> None:
    log, session, registry, seen = Commits(), Session("s"), Registry(), list[bool]()
    registry.register_step_hook("post_step", lambda *_: seen.append(log.has_result()))

    async def run() -> None:
        async with asyncio.timeout(30):
            with td.active_log(log):
                options: Any = {"session": session, "registry": registry, "reminders": False}
                model = ScriptedModel([call("look"), "done"])
                await agent_loop("work", model=model, tools=[looking(read_only=True)], **options)

    asyncio.run(run())
    assert seen == [True]


def test_an_active_log_that_the_session_was_made_without_has_the_results_at_the_end() -> None:
    log, session = Commits(), Session("s")

    async def run() -> bool:
        async with asyncio.timeout(30):
            with td.active_log(log):
                options: Any = {"session": session, "registry": Registry(), "max_iterations": 1}
                model = AtOnce(["unused"])
                await agent_loop(
                    "work", model=model, tools=[looking(read_only=True)], reminders=False, **options
                )
                return log.has_result()

    assert asyncio.run(run())


def test_what_cannot_be_written_does_not_take_what_was_put_off_with_it() -> None:
    log = Commits()
    session = Session("s", log=log)

    async def script() -> None:
        with session.step(soon=True):
            session.keep(td.append_message(session.transcript, {"role": "user", "content": "first"}))
        with pytest.raises(td.LogUsageError, match="cannot be stored"), session.step():
            session.note((Record("loop.checkpoint", {"wrong": object()}),))

    asyncio.run(script())
    assert td.replay(log, "s").to_dict() == session.transcript.to_dict()


def test_without_an_event_loop_nothing_is_put_off() -> None:
    log = Commits()
    session = Session("s", log=log)
    with session.step(soon=True):
        session.keep(td.append_message(session.transcript, {"role": "user", "content": "first"}))
    assert log.made == [["transcript.message"]]


def test_what_arrives_meanwhile_comes_after_the_results() -> None:
    log = Commits()
    session = Session("s", log=log)

    async def script() -> list[str]:
        async with asyncio.timeout(30):
            with session.step(soon=True):
                session.keep(td.append_message(session.transcript, {"role": "user", "content": "first"}))
            await asyncio.to_thread(session.remind, body="second", id="second")
            return [kind for commit in log.made for kind in commit]

    assert asyncio.run(script()) == ["transcript.message", "transcript.reminder.queued", "mailbox.queued"]
    assert td.replay(log, "s").to_dict() == session.transcript.to_dict()


def test_a_log_that_refuses_what_was_put_off_gets_it_when_it_works_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    log = Commits()
    session = Session("s", log=log)
    taken, refusals = log.append_batch, [td.LogUnavailableError("disk full: free some space")]

    def append_batch(drafts: Any) -> Any:
        if refusals:
            raise refusals.pop()
        return taken(drafts)

    log.append_batch = append_batch  # type: ignore[method-assign]

    async def script() -> None:
        with session.step(soon=True):
            session.keep(td.append_message(session.transcript, {"role": "user", "content": "first"}))
        await asyncio.sleep(0)

    asyncio.run(script())
    assert (log.made, len(caplog.records)) == ([], 1)
    session.inject("second")
    assert log.made == [["transcript.message", "mailbox.queued"]]
