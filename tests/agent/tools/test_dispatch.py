"""A batch of calls becomes receipts: order, failures, deadlines, cancellation."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from tests.agent.tools.calling import ALLOW_ALL, DEADLINE, FOR_EVER, call, receipts, within_deadline
from tidings.agent.port import Outcome, ToolCall
from tidings.agent.tools import supervise, thread
from tidings.agent.tools.dispatch import Dispatcher
from tidings.agent.tools.function import tool
from tidings.agent.tools.receipt import Receipt
from tidings.agent.tools.tool import Tool, ToolContext, ToolError
from tidings.errors import CallerError


def meeting(size: int, *, read_only: bool) -> Tool:
    """A tool whose calls end only once `size` of them run at the same time."""
    barrier = asyncio.Barrier(size)

    async def meet(word: str) -> str:
        await barrier.wait()
        return word

    return tool(meet, read_only=read_only)


def test_read_only_calls_run_side_by_side_and_come_back_in_order() -> None:
    calls = [call("meet", id=str(number), word=str(number)) for number in range(5)]

    async def main() -> tuple[Receipt, ...]:
        return await Dispatcher([meeting(5, read_only=True)]).dispatch(calls)

    closed = within_deadline(main())
    assert [(each.call, each.outcome) for each in closed] == [
        (each, Outcome(text=each.id)) for each in calls
    ]


def test_no_more_calls_run_at_once_than_allowed() -> None:
    running, most = 0, 0

    @tool(read_only=True)
    async def watch() -> str:
        nonlocal running, most
        running += 1
        most = max(most, running)
        for _ in range(3):
            await asyncio.sleep(0)
        running -= 1
        return ""

    receipts([watch], *[call("watch")] * 10, max_parallel=3)
    assert most == 3


def test_one_call_that_changes_things_puts_the_batch_in_order() -> None:
    steps: list[str] = []

    @tool(read_only=True)
    async def look(word: str) -> str:
        steps.append(f"{word} begins")
        await asyncio.sleep(0)
        steps.append(f"{word} ends")
        return word

    @tool
    async def act(word: str) -> str:
        return await look.bind({"word": word})(ToolContext())  # type: ignore[return-value]

    receipts([look, act], call("look", word="a"), call("act", word="b"), call("look", word="c"))
    assert steps == [f"{word} {what}" for word in "abc" for what in ("begins", "ends")]


def test_calls_that_cannot_run_do_not_put_a_batch_in_order() -> None:
    unreadable = ToolCall(id="3", name="act", arguments={}, problem="bad JSON")

    def act() -> None: ...

    async def main() -> tuple[Receipt, ...]:
        dispatcher = Dispatcher([meeting(2, read_only=True), act])
        return await dispatcher.dispatch(
            [call("meet", word="a"), call("met"), unreadable, call("meet", word="b")]
        )

    assert [each.status for each in within_deadline(main())] == [
        "finished", "unknown", "unreadable", "finished",
    ]  # fmt: skip


def test_an_unknown_tool_is_answered_with_the_names_that_are_near() -> None:
    def read_file() -> None: ...
    def write_file() -> None: ...

    near, far = receipts([read_file, write_file], call("red_file"), call("zzz"))
    assert near.outcome == Outcome(
        text="There is no tool 'red_file'. Did you mean 'read_file' or 'write_file'?", ok=False
    )
    assert far.outcome == Outcome(
        text="There is no tool 'zzz'. The tools are: read_file, write_file.", ok=False
    )


def test_arguments_that_could_not_be_read_are_answered_with_the_problem() -> None:
    def act() -> None: ...

    (receipt,) = receipts([act], ToolCall(id="1", name="act", arguments={}, problem="unexpected end"))
    text = "The arguments could not be read: unexpected end. Send a JSON object."
    assert (receipt.outcome, receipt.status) == (Outcome(text=text, ok=False), "unreadable")


def test_an_exception_is_told_without_its_trace_which_stays_in_the_receipt() -> None:
    def act(word: str) -> str:
        empty: dict[str, str] = {}
        return empty[word]

    failed, after = receipts([act], call("act", word="k"), call("act", id="c2", word="k"))
    assert failed.outcome == Outcome(text="KeyError: 'k'", ok=False)
    assert failed.status == after.status == "failed"
    assert failed.error_trace is not None
    assert "test_dispatch.py" in failed.error_trace
    assert failed.approved_by == "the rule 'allow *'"


def test_a_tool_error_is_told_in_its_own_words() -> None:
    def act() -> str:
        raise ToolError("there is no file 'x'; make one")

    (receipt,) = receipts([act], call("act"))
    assert receipt.outcome == Outcome(text="there is no file 'x'; make one", ok=False)


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")


def stop_iteration() -> None:
    raise StopIteration


def unspeakable() -> None:
    raise Unspeakable


async def cancels_itself() -> None:
    raise asyncio.CancelledError


async def not_an_outcome(context: ToolContext) -> object:
    return "text"


class Escape(BaseException):
    """What no `except Exception` catches."""


async def escapes() -> None:
    raise Escape("out")


def escapes_in_a_thread() -> None:
    raise Escape("out")


def interrupts_in_a_thread() -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    "act",
    [stop_iteration, unspeakable, cancels_itself, escapes, escapes_in_a_thread, interrupts_in_a_thread],
)
def test_no_exception_of_a_tool_comes_out_of_dispatch(act: object) -> None:
    (receipt,) = receipts([tool(act, name="act")], call("act"))  # type: ignore[call-overload]
    assert (receipt.status, receipt.outcome.ok) == ("failed", False)
    assert receipt.outcome.text


def test_an_adapter_that_gives_no_outcome_is_an_error() -> None:
    proper = tool(stop_iteration, name="act")
    broken = Tool(spec=proper.spec, bind=lambda arguments: not_an_outcome)  # type: ignore[arg-type,return-value]
    (receipt,) = receipts([broken], call("act"))
    assert receipt.outcome == Outcome(text="TypeError: tool 'act' gave a str, not an Outcome", ok=False)


@pytest.mark.parametrize(
    ("junk", "text"),
    [
        ({"text": 5}, "whose `text` cannot be used: it is a int, not a string"),
        ({"text": "x", "data": None}, "whose `data` cannot be used: it is a NoneType, not a mapping"),
        ({"text": "x", "data": [1]}, "whose `data` cannot be used: it is a list, not a mapping"),
    ],
)
def test_an_outcome_that_cannot_be_used_is_an_error(junk: dict[str, Any], text: str) -> None:
    (receipt,) = receipts([tool(lambda: Outcome(**junk), name="act")], call("act"))
    assert (receipt.status, receipt.outcome.text.partition("an Outcome ")[2]) == ("failed", text)
    assert receipt.told["ok"] is False


def test_a_call_beyond_its_deadline_is_stopped_and_says_so() -> None:
    stopped: list[str] = []

    @tool(deadline=0.02)
    async def hang() -> None:
        try:
            await asyncio.sleep(FOR_EVER)
        finally:
            stopped.append("cleaned up")

    first, second = receipts([hang], call("hang"), call("hang", id="c2"))
    assert (first.status, second.status, stopped) == ("deadline", "deadline", ["cleaned up"] * 2)
    assert first.outcome.text.startswith("The tool did not finish within 0.02 seconds and was stopped;")


def test_a_thread_beyond_its_deadline_is_told_to_stop() -> None:
    told = threading.Event()
    release = threading.Event()

    def hang(context: ToolContext) -> None:
        release.wait(DEADLINE)
        if context.cancelled:
            told.set()

    (receipt,) = receipts([hang], call("hang"), deadline=0.02)
    release.set()
    assert receipt.status == "deadline"
    assert told.wait(DEADLINE)


def test_a_tool_that_ignores_its_cancellation_is_left_behind(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(supervise, "GRACE", 0.02)

    async def main() -> Receipt:
        release = asyncio.Event()

        async def stubborn() -> str:
            while not release.is_set():
                try:
                    await release.wait()
                except asyncio.CancelledError:
                    continue
            return "at last"

        (receipt,) = await Dispatcher([stubborn], approval=ALLOW_ALL, deadline=0.02).dispatch(
            [call("stubborn")]
        )
        release.set()
        return receipt

    assert within_deadline(main()).status == "deadline"
    assert "ignores its cancellation" in caplog.text


def test_events_from_threads_arrive_in_the_loop_before_the_call_is_closed() -> None:
    heard: list[tuple[str, int]] = []

    def act(context: ToolContext) -> str:
        for number in range(3):
            context.emit(f"step {number}", {})
        return ""

    receipts([act], call("act"), on_event=lambda event, _: heard.append((event, threading.get_ident())))
    names = ["tool_call_started", "step 0", "step 1", "step 2", "tool_call_closed"]
    assert heard == [(name, threading.get_ident()) for name in names]


def test_without_a_listener_of_its_own_the_context_hears_what_tools_say() -> None:
    heard: list[str] = []

    async def act(context: ToolContext) -> None:
        context.emit("acted", {})

    context = ToolContext(emit=lambda event, _: heard.append(event))
    within_deadline(Dispatcher([act], approval=ALLOW_ALL).dispatch([call("act")], context))
    assert heard == ["acted"]


def test_a_listener_that_fails_is_logged_and_hurts_no_call(caplog: pytest.LogCaptureFixture) -> None:
    def act(context: ToolContext) -> str:
        context.emit("acted", {})
        return "done"

    def fail(event: str, payload: object) -> None:
        raise ValueError("deaf")

    (receipt,) = receipts([act], call("act"), on_event=fail)
    assert receipt.outcome == Outcome(text="done")
    assert caplog.text.count("ValueError: deaf") == 3


def test_threads_that_never_return_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(thread, "_slots", threading.BoundedSemaphore(1))
    release = threading.Event()

    def hang() -> None:
        release.wait(DEADLINE)

    first, second = receipts([hang], call("hang"), call("hang"), deadline=0.02)
    release.set()
    assert (first.status, second.status) == ("deadline", "failed")
    assert "tool functions are still busy" in second.outcome.text


def test_a_thread_that_outlives_the_loop_does_no_harm(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    release = threading.Event()
    started = threading.Event()
    threads: list[threading.Thread] = []

    def late(context: ToolContext) -> None:
        threads.append(threading.current_thread())
        started.set()
        release.wait(DEADLINE)
        context.emit("late", {})

    receipts([late], call("late"), deadline=0.02)
    assert started.wait(DEADLINE)
    release.set()
    threads[0].join(DEADLINE)
    assert "late came after the event loop had closed" in caplog.text
    assert "its result is gone" in caplog.text


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"deadline": 0}, "deadline is 0; give seconds above 0"),
        ({"max_output": 999}, "max_output is 999; give 1000 characters or more"),
        ({"max_parallel": 0}, "max_parallel is 0; give 1 or more"),
    ],
)
def test_limits_that_make_no_sense_are_refused(options: dict[str, int], words: str) -> None:
    with pytest.raises(CallerError, match=words):
        Dispatcher([], **options)  # type: ignore[arg-type]


def test_two_tools_of_one_name_are_refused() -> None:
    with pytest.raises(CallerError, match="two tools are named 'stop_iteration'"):
        Dispatcher([stop_iteration, stop_iteration])


def test_the_specs_come_in_the_order_given() -> None:
    assert [spec.name for spec in Dispatcher([unspeakable, stop_iteration]).specs] == [
        "unspeakable", "stop_iteration",
    ]  # fmt: skip
