"""Cancelling a batch, or the task that runs it: every call is closed, exactly once."""

from __future__ import annotations

import asyncio

import pytest

from tests.agent.tools.calling import ALLOW_ALL, FOR_EVER, Events, call, within_deadline
from tidings.agent.port import Outcome
from tidings.agent.tools.approval import Gate, Reply, Request
from tidings.agent.tools.dispatch import Dispatcher
from tidings.agent.tools.function import tool
from tidings.agent.tools.receipt import Receipt
from tidings.agent.tools.tool import ToolContext


class Batch:
    """Three calls of which the first has ended, the second runs for ever and the third waits."""

    def __init__(self) -> None:
        self.events: Events = []
        self.context = ToolContext()
        self.running = asyncio.Event()
        self.cleaned = False

        async def quick() -> str:
            return "done"

        async def hang() -> None:
            self.running.set()
            try:
                await asyncio.sleep(FOR_EVER)
            finally:
                self.cleaned = True

        self.dispatcher = Dispatcher(
            [quick, hang],
            approval=ALLOW_ALL,
            deadline=FOR_EVER,
            on_event=lambda event, payload: self.events.append((event, payload)),
        )

    def start(self) -> asyncio.Task[tuple[Receipt, ...]]:
        calls = [call("quick", id="1"), call("hang", id="2"), call("quick", id="3")]
        return asyncio.ensure_future(self.dispatcher.dispatch(calls, self.context))

    def closed(self) -> list[object]:
        return [payload["status"] for event, payload in self.events if event == "tool_call_closed"]


def test_cancelling_a_batch_closes_every_call_with_an_outcome() -> None:
    async def main() -> tuple[Batch, tuple[Receipt, ...]]:
        batch = Batch()
        task = batch.start()
        await batch.running.wait()
        batch.context.cancel.set()
        return batch, await task

    batch, (done, running, waiting) = within_deadline(main())
    assert batch.cleaned
    assert batch.closed() == ["finished", "cancelled", "not_run"]
    assert done.outcome == Outcome(text="done")
    assert running.outcome == Outcome(
        text="The call was cancelled while it ran; part of its work may have been done.", ok=False
    )
    assert waiting.outcome == Outcome(
        text="Not run: the batch was cancelled before it began. Nobody declined this call, and nothing of "
        "it was done; call the tool again if it is still needed.",
        ok=False,
    )


def test_cancelling_the_task_closes_every_call_and_raises() -> None:
    async def main() -> Batch:
        batch = Batch()
        task = batch.start()
        await batch.running.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return batch

    batch = within_deadline(main())
    assert (batch.cleaned, batch.closed()) == (True, ["finished", "cancelled", "not_run"])


def test_cancelling_a_side_by_side_batch_closes_every_call_once() -> None:
    async def main(by_task: bool) -> list[str]:
        running = asyncio.Barrier(3)
        closed: list[str] = []

        @tool(read_only=True)
        async def hang() -> None:
            await running.wait()
            await asyncio.sleep(FOR_EVER)

        context = ToolContext()
        dispatcher = Dispatcher(
            [hang],
            max_parallel=2,
            on_event=lambda event, payload: (
                closed.append(f"{payload['tool_call_id']} {payload['status']}")
                if event == "tool_call_closed"
                else None
            ),
        )
        calls = [call("hang", id=str(number)) for number in range(4)]
        task = asyncio.ensure_future(dispatcher.dispatch(calls, context))
        await running.wait()
        if by_task:
            task.cancel()
        else:
            context.cancel.set()
        await asyncio.wait({task})
        assert task.cancelled() is by_task
        return sorted(closed)

    expected = ["0 cancelled", "1 cancelled", "2 not_run", "3 not_run"]
    assert within_deadline(main(by_task=False)) == expected
    assert within_deadline(main(by_task=True)) == expected


def test_cancelling_while_a_person_is_asked_closes_the_call_unrun() -> None:
    async def main() -> tuple[Receipt, ...]:
        context = ToolContext()

        async def ask(request: Request) -> Reply:
            context.cancel.set()
            await asyncio.sleep(FOR_EVER)
            return Reply(allowed=True)

        def act() -> None:
            raise AssertionError("it must not run")

        return await Dispatcher([act], approval=Gate(ask=ask)).dispatch([call("act")], context)

    assert [each.status for each in within_deadline(main())] == ["not_run"]
