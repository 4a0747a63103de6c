"""A daemon between two pieces of work: how long it sleeps, what wakes it, what it may be told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import tidings as td
from tests.agent.recorder import Recorder
from tests.agent.test_loop import play
from tidings.agent.idle import _pause
from tidings.agent.models.scripted import ScriptedModel
from tidings.agent.result import Daemon
from tidings.agent.session import Session
from tidings.core.records import LIFECYCLE_TOPIC


@pytest.mark.parametrize(
    ("settings", "step", "waited", "pause"),
    [
        ({}, 0, 0.0, 0.1),
        ({}, 9, 100.0, 2.0),
        ({"timer_seconds": 1.0}, 9, 0.25, 0.75),
        ({"max_idle_seconds": 1.5}, 9, 1.0, 0.5),
        ({"max_idle_seconds": 0.0}, 0, 0.5, 0.0),
        ({"timer_seconds": float("inf"), "max_idle_seconds": float("inf")}, 1, 9.0, 0.5),
    ],
)
def test_a_step_of_waiting_ends_with_the_timer_or_with_all_waiting(
    settings: dict[str, float], step: int, waited: float, pause: float
) -> None:
    assert _pause(Daemon(**settings), step, waited) == pause


def test_a_timer_does_not_wait_for_a_long_step_of_sleep() -> None:
    daemon = Daemon(backoff=(3600.0,), timer_seconds=0.01, max_idle_seconds=3600.0)
    result = play(model=ScriptedModel(["one", "two"]), daemon=daemon, max_iterations=2)
    assert (result.text, result.status) == ("two", "budget_exhausted")


@pytest.mark.parametrize(
    ("settings", "field"),
    [
        ({"backoff": ()}, "backoff"),
        ({"backoff": (1.0, -1.0)}, "backoff"),
        ({"backoff": ("1",)}, "backoff"),
        ({"max_idle_seconds": -1.0}, "max_idle_seconds"),
        ({"max_idle_seconds": None}, "max_idle_seconds"),
        ({"max_idle_seconds": float("nan")}, "max_idle_seconds"),
        ({"timer_seconds": True}, "timer_seconds"),
        ({"watch": "notes.txt"}, "watch"),
        ({"watch": Path("notes.txt")}, "watch"),
        ({"watch": 5}, "watch"),
        ({"watch": ["notes.txt", 5]}, "watch"),
        ({"backoff": 5}, "backoff"),
    ],
)
def test_a_daemon_that_cannot_wait_is_refused_by_its_field(settings: dict[str, Any], field: str) -> None:
    with pytest.raises(td.CallerError, match=f"daemon `{field}` is "):
        Daemon(**settings)


def test_a_path_may_be_text_and_one_that_cannot_be_looked_at_is_as_good_as_gone(tmp_path: Path) -> None:
    blocked = tmp_path / "folder"
    blocked.write_text("a file, so that nothing can be in it")
    inside = blocked / "notes.txt"

    def make(_: object) -> None:
        blocked.unlink(missing_ok=True)
        blocked.mkdir(exist_ok=True)
        inside.write_text("now it is there")

    recorder = Recorder({"session_idle": make})
    model = ScriptedModel(["one", "two"])
    daemon = Daemon(backoff=(0.01,), watch=[str(inside)], max_idle_seconds=0.05)
    result = play(model=model, daemon=daemon, registry=recorder.registry, max_iterations=2)
    assert result.text == "two"
    assert [p["path_changed"] for p in recorder.payloads("session_idle")][:2] == [False, True]


def test_what_a_sleeping_daemon_was_asked_is_in_the_log_before_it_sleeps_on() -> None:
    log = td.open_log("memory:")
    written: list[int] = []

    def count(_: object) -> None:
        asked = log.read(LIFECYCLE_TOPIC, kind_prefix="transcript.reminder.provider_evaluated")
        written.append(sum(record.payload["event"] == "session_idle" for record in asked))

    recorder = Recorder({"session_idle": count})
    daemon = Daemon(backoff=(0.0, 0.0, 0.0, 0.01), max_idle_seconds=0.01)
    play(
        model=ScriptedModel(["one"]),
        session=Session("s", log=log),
        daemon=daemon,
        registry=recorder.registry,
        reminders=None,
    )
    assert written[:3] == [0, 1, 2]


@pytest.mark.parametrize("news", ["an interrupt", "a cancel"])
def test_what_comes_while_a_hook_withdraws_a_suspension_does_not_wait_for_the_end_of_a_sleep(
    news: str,
) -> None:
    session, registry = Session("s"), td.Registry()

    @registry.register_session_hook("pre_finish")
    def suspend(ctx: Any) -> None:
        if ctx.iteration == 1:
            session.suspend("lunch")

    @registry.register_session_hook("pre_suspend")
    def withdraw(ctx: Any) -> dict[str, object]:
        if news == "a cancel":
            session.cancel()
        else:
            session.remind(body="the build broke", mode="interrupt_immediate", ttl_turns=1)
        return {"block": True, "reason": "busy"}

    model = ScriptedModel(["one", "two"])
    daemon = Daemon(backoff=(3600.0,), max_idle_seconds=3600.0)
    result = play(model=model, session=session, registry=registry, daemon=daemon, max_iterations=2)
    assert result.status == ("cancelled" if news == "a cancel" else "budget_exhausted")
