"""What a run hears while it waits: reports of its children, and a cancel from any thread at any moment."""

from __future__ import annotations

import asyncio

import pytest

from tests.agent.recorder import bounded
from tests.agent.test_loop import play
from tidings.agent.company import Company
from tidings.agent.loop import agent_loop
from tidings.agent.models.scripted import ScriptedModel, call
from tidings.agent.registry import Registry
from tidings.agent.run import Run
from tidings.agent.session import Session
from tidings.agent.tools.function import tool


def test_a_hook_that_answers_each_report_with_another_holds_nobody_up() -> None:
    session, registry, heard = Session("s"), Registry(), []

    async def again(ctx: object) -> None:
        heard.append("worker_progressed")
        session.emit("worker_progressed", {})

    registry.register_worker_hook("worker_progressed", again)

    @tool(read_only=True)
    async def work() -> str:
        """Work until the hook was called."""
        session.emit("worker_progressed", {})
        while len(heard) < 3:  # noqa: ASYNC110  # the deadline of the test bounds it
            await asyncio.sleep(0)
        return "worked"

    model = ScriptedModel([call("work"), "done"])
    assert play(model=model, tools=[work], session=session, registry=registry).status == "done"


def test_a_cancel_between_the_look_and_the_wait_is_heard(monkeypatch: pytest.MonkeyPatch) -> None:
    session = Session("s")
    waiting = Company.during

    async def cancelled_just_before(company: Company, *wait: object) -> object:
        session.cancel()
        return await waiting(company, *wait)

    monkeypatch.setattr(Company, "during", cancelled_just_before)
    model = ScriptedModel(["never kept"])
    assert play(model=model, session=session).status == "cancelled"
    assert [m["role"] for m in session.transcript.messages] == ["user"]


def test_work_that_is_not_waited_for_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    session, model = Session("s"), ScriptedModel(["never asked"])
    asking = Run.or_stopped

    async def cancelled_first(run: Run, work: object) -> object:
        session.cancel()
        return await asking(run, work)

    monkeypatch.setattr(Run, "or_stopped", cancelled_first)
    assert play(model=model, session=session).status == "cancelled"
    assert model.requests == []


def test_news_for_a_loop_that_was_closed_in_the_middle_is_no_error() -> None:
    session = Session("s")
    loop = asyncio.new_event_loop()
    working = session.working()

    async def begin() -> bool:
        working.__enter__()
        return session.running

    assert loop.run_until_complete(begin())
    loop.close()
    session.remind(body="for the next one", id="r")
    assert (session.running, session.pending_injections()["pendingCount"]) == (False, 1)

    async def work() -> bool:
        with session.working():
            working.__exit__(None, None, None)
            return session.running

    assert bounded(work())
    assert not session.running


def test_many_may_listen_while_a_loop_works_and_nobody_works_who_only_listens() -> None:
    session = Session("s")

    async def main() -> tuple[object, ...]:
        with session.listening() as news:
            before = session.running
            result = await agent_loop("work", model=ScriptedModel(["done"]), session=session)
            session.remind(body="news")
            return before, result.status, await news.wait(), session.running

    assert bounded(main()) == (False, "done", True, False)
