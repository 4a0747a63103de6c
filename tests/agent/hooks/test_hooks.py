"""Running hooks: order, what the next one sees, vetoes, and hooks that fail."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from typing import TypeVar

import pytest

from tidings.agent.calling import LateError
from tidings.agent.context import Context
from tidings.agent.effects import EffectError, Effects
from tidings.agent.events import UnknownEventError
from tidings.agent.hooks import Failure, HookResult, HookRun, run_hooks
from tidings.agent.port import Outcome
from tidings.agent.registry import Registry
from tidings.core.records import Record
from tidings.errors import DiagnosticError

T = TypeVar("T")
SOON = 0.02


def play(work: Coroutine[object, object, T]) -> T:
    async def timed() -> T:
        async with asyncio.timeout(10):
            return await work

    return asyncio.run(timed())


def run(registry: Registry, event: str, strict: bool = False, **payload: object) -> HookRun:
    return play(run_hooks(registry, event, payload, strict=strict))


def test_the_seeds_file_changed_recipe_gives_its_reminder() -> None:
    registry = Registry()

    @registry.register_session_hook("file_edited")
    def changed(event: Context) -> object:
        path = event.get("path", "")
        return {
            "reminder": {
                "body": f"File changed externally: {path}. Re-read it before editing.",
                "tags": ["workspace", "file_changed"],
                "dedupe_key": f"file_changed:{path}",
                "ttl_turns": 2,
                "propagate": "session",
            }
        }

    spec = {
        "body": "File changed externally: a.py. Re-read it before editing.",
        "tags": ["workspace", "file_changed"],
        "dedupe_key": "file_changed:a.py",
        "ttl_turns": 2,
        "propagate": "session",
    }
    name = "test_the_seeds_file_changed_recipe_gives_its_reminder.changed"
    assert run(registry, "FileEdited", path="a.py") == HookRun(
        event="file_edited", results=(HookResult(name, Effects((spec,))),)
    )


def test_the_seeds_truncation_recipe_reads_the_result_by_attribute() -> None:
    registry = Registry()
    registry.register_tool_hook(
        {"pattern": "read_file", "post": lambda ctx: {"body": "cut"} if ctx.result.truncated else None}
    )
    cut = run(registry, "post_tool_use", tool_name="read_file", result=Outcome(text="", truncated=True))
    whole = run(registry, "post_tool_use", tool_name="read_file", result={"truncated": False})
    assert ([spec for _, spec in cut.reminders], whole.reminders) == ([{"body": "cut"}], ())


def test_sync_and_async_hooks_run_in_order_of_registration() -> None:
    registry, order = Registry(), []

    async def second(ctx: Context) -> None:
        await asyncio.sleep(0)
        order.append(2)

    class Third:
        async def __call__(self, ctx: Context) -> dict[str, object]:
            order.append(3)
            return {"body": "third"}

    registry.register_session_hook("post_turn", lambda ctx: order.append(1))
    registry.register_session_hook("post_turn", second)
    registry.register_session_hook("post_turn", Third())
    done = run(registry, "post_turn")
    assert (order, [spec for _, spec in done.reminders], done.failures) == (
        [1, 2, 3],
        [{"body": "third"}],
        (),
    )


def test_the_next_hook_sees_changed_arguments_and_the_last_word_wins() -> None:
    registry = Registry()
    payload = {"tool_name": "read_file", "args": {"path": "a"}}
    registry.register_tool_hook(pre=lambda ctx: {"args": {"path": ctx.args.path + "b"}})
    registry.register_tool_hook(pre=lambda ctx: {"args": {**ctx.args, "path": ctx.args.path + "c"}})
    assert run(registry, "pre_tool_use", **payload).action == {"args": {"path": "abc"}}
    assert payload == {"tool_name": "read_file", "args": {"path": "a"}}


def test_arguments_go_by_both_names_and_stay_the_same() -> None:
    registry, seen = Registry(), []
    registry.register_tool_hook(pre=lambda ctx: {"args": {"path": ctx.args.path + "b"}})
    registry.register_tool_hook(pre=lambda ctx: seen.append((dict(ctx.args), dict(ctx.arguments))))
    run(registry, "pre_tool_use", tool_name="t", arguments={"path": "a"})
    assert seen == [({"path": "ab"}, {"path": "ab"})]


def test_a_hook_may_return_what_it_was_given() -> None:
    registry = Registry()
    registry.register_tool_hook(post=lambda ctx: {"result": ctx.result})
    done = run(registry, "post_tool_use", tool_name="t", result={"deep": [{"x": 1}]})
    assert done.action == {"result": {"deep": [{"x": 1}]}}
    assert type(done.action["result"]) is dict


def test_a_veto_ends_the_run_and_names_who_was_not_asked() -> None:
    registry, called = Registry(), []
    registry.register_tool_hook(pre=lambda ctx: {"body": "first"})
    registry.register_tool_hook(pre=lambda ctx: {"deny": "no writes today"})
    registry.register_tool_hook(pre=called.append)
    done = run(registry, "pre_tool_use", tool_name="write_file")
    assert (done.veto, len(done.reminders), len(done.skipped), called) == ("no writes today", 1, 1, [])


def test_failing_late_and_malformed_hooks_are_reported_and_the_others_still_run() -> None:
    registry, gate = Registry(), threading.Event()

    def raises(ctx: Context) -> None:
        raise KeyError("lost")

    async def sleeps(ctx: Context) -> None:
        await asyncio.sleep(60)

    def blocks(ctx: Context) -> None:
        gate.wait(10)

    def stops(ctx: Context) -> None:
        raise StopIteration

    async def cancels(ctx: Context) -> None:
        raise asyncio.CancelledError

    def wrong(ctx: Context) -> int:
        return 7

    def unknown_key(ctx: Context) -> object:
        return {"reminder": {"body": "b", "ttl": 1}}

    for hook in (raises, stops, cancels, wrong, unknown_key):
        registry.register_session_hook("post_turn", hook)
    for hook in (sleeps, blocks):
        registry.register_session_hook("post_turn", hook, deadline=SOON)
    registry.register_session_hook("post_turn", lambda ctx: {"body": "still here"})
    done = run(registry, "post_turn")
    gate.set()
    assert [spec for _, spec in done.reminders] == [{"body": "still here"}]
    assert [(f.owner.rsplit(".", 1)[-1], f.kind, f.code) for f in done.failures] == [
        ("raises", "error", "error"),
        ("stops", "error", "error"),
        ("cancels", "error", "error"),
        ("wrong", "malformed", "malformed"),
        ("unknown_key", "malformed", "HARN-RMD-001"),
        ("sleeps", "late", "late"),
        ("blocks", "late", "late"),
    ]
    assert done.failures[0].error == "KeyError: 'lost'"


def test_a_worker_hooks_reminder_is_reported_with_its_code() -> None:
    registry = Registry()
    registry.register_worker_hook("worker_completed", lambda ctx: {"body": "b"})
    (failed,) = run(registry, "worker_completed").failures
    assert (failed.kind, failed.code) == ("malformed", "HARN-RMD-008")


def test_a_failure_becomes_a_warning_record() -> None:
    failed = Failure("hook:h", "post_turn", "late", "late", "it was not done within 5 s")
    assert failed.record() == Record(
        "transcript.reminder.warning",
        {
            "code": "late",
            "producer": "hook:h",
            "message": "it was not done within 5 s",
            "event": "post_turn",
        },
    )


def test_two_loops_may_call_the_same_hook_at_the_same_time() -> None:
    registry, both = Registry(), threading.Barrier(2, timeout=10)
    registry.register_session_hook("post_turn", lambda ctx: {"body": f"{both.wait() >= 0}"}, deadline=30)

    async def twice() -> list[HookRun]:
        return list(await asyncio.gather(*(run_hooks(registry, "post_turn", {}) for _ in range(2))))

    runs = play(twice())
    assert [(run.reminders, run.failures) for run in runs] == [
        (((runs[0].results[0].hook, {"body": "True"}),), ())
    ] * 2


def test_a_hook_that_hangs_in_its_thread_is_not_started_again_until_it_returned() -> None:
    registry, gate, calls = Registry(), threading.Event(), []

    def hangs(ctx: Context) -> None:
        calls.append(1)
        gate.wait(10)

    registry.register_session_hook("post_turn", hangs, deadline=SOON)

    async def thrice() -> list[list[str]]:
        first = await run_hooks(registry, "post_turn", {})
        second = await run_hooks(registry, "post_turn", {})
        gate.set()
        while registry.hooks[0].slot.left:  # noqa: ASYNC110  the deadline of `play` bounds it
            await asyncio.sleep(0)
        third = await run_hooks(registry, "post_turn", {})
        return [[failed.error for failed in done.failures] for done in (first, second, third)]

    first, second, third = play(thrice())
    busy = "its last call is still running; it is not called again until that returned"
    assert (first, second, third, len(calls)) == (["it was not done within 0.02 s"], [busy], [], 2)


def test_an_exception_without_readable_words_is_still_reported() -> None:
    class Mute(Exception):
        def __str__(self) -> str:
            raise RuntimeError

    def mute(ctx: Context) -> None:
        raise Mute

    def half(ctx: Context) -> None:
        raise ValueError("\ud800\nnext" + "x" * 900)

    registry = Registry()
    registry.register_session_hook("post_turn", mute)
    registry.register_session_hook("post_turn", half)
    errors = [failed.error for failed in run(registry, "post_turn").failures]
    assert errors[0] == "Mute:"
    assert errors[1].startswith("ValueError: ? next")
    assert len(errors[1]) == 500


@pytest.mark.parametrize(
    ("returned", "error"),
    [({"body": ""}, DiagnosticError), (7, EffectError), (KeyError("x"), KeyError), (None, LateError)],
)
def test_called_directly_the_first_failure_is_raised(returned: object, error: type[Exception]) -> None:
    async def hook(ctx: Context) -> object:
        if isinstance(returned, Exception):
            raise returned
        if returned is None:
            await asyncio.sleep(60)
        return returned

    registry = Registry()
    registry.register_session_hook("post_turn", hook, deadline=SOON if returned is None else 5)
    with pytest.raises(error):
        run(registry, "post_turn", strict=True)


def test_cancelling_the_run_cancels_the_hook() -> None:
    registry, ended = Registry(), []

    async def hook(ctx: Context) -> None:
        try:
            await asyncio.sleep(60)
        finally:
            ended.append(True)

    registry.register_session_hook("post_turn", hook)

    async def cancelled() -> None:
        task = asyncio.ensure_future(run_hooks(registry, "post_turn", {}))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.sleep(0)
        assert ended == [True]

    play(cancelled())


def test_an_unknown_event_is_refused() -> None:
    with pytest.raises(UnknownEventError):
        run(Registry(), "post_turns")


def test_a_context_is_a_mapping_with_attributes_and_says_what_it_has() -> None:
    ctx = Context({"result": {"truncated": True}, "list": [{"a": 1}]})
    assert (ctx.result.truncated, ctx["result"]["truncated"], ctx.list[0].a) == (True, True, 1)
    assert (dict(ctx)["result"], len(ctx), ctx.get("gone")) == (Context({"truncated": True}), 2, None)
    with pytest.raises(AttributeError, match="its keys are list, result"):
        _ = ctx.gone


class Escape(BaseException):
    """What no `except Exception` catches."""


@pytest.mark.parametrize("waits", [True, False])
@pytest.mark.parametrize("error", [SystemExit(3), Escape("out"), GeneratorExit(), asyncio.CancelledError()])
def test_a_hook_ends_no_more_than_its_own_call(error: BaseException, waits: bool) -> None:
    registry = Registry()

    async def coroutine(ctx: Context) -> None:
        raise error

    def plain_function(ctx: Context) -> None:
        raise error

    registry.register_session_hook("post_turn", coroutine if waits else plain_function)
    registry.register_session_hook("post_turn", lambda ctx: {"body": "still here"})
    done = run(registry, "post_turn")
    assert [spec for _, spec in done.reminders] == [{"body": "still here"}]
    assert [f.error for f in done.failures] == [f"it raised {type(error).__name__}: {error}".rstrip(": ")]


def test_a_thread_that_raises_keyboard_interrupt_stops_nobody() -> None:
    registry = Registry()

    def interrupts(ctx: Context) -> None:
        raise KeyboardInterrupt

    registry.register_session_hook("post_turn", interrupts)
    (failed,) = run(registry, "post_turn").failures
    assert failed.error == "it raised KeyboardInterrupt"
