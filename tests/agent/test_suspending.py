"""Suspending and resuming as hooks see it: what they hear, and what happens when they object."""

from __future__ import annotations

import threading

import tidings as td
from tests.agent.recorder import Recorder
from tests.agent.test_happenings import payloads
from tests.agent.test_loop import play, requests_with
from tidings.agent.models.scripted import ScriptedModel, call
from tidings.log.port import EventLog

ASLEEP = {"reason": "lunch", "suspended_at_turn": 0, "digest": "was renaming"}
AWAKE = {**ASLEEP, "cause": "timer", "input": "go", "continue_transcript": True}
NO = {"block": True, "reason": "not now"}
SLEEPING = ("pre_suspend", "post_suspend", "on_persona_paused")
WAKING = ("pre_resume", "post_resume", "on_persona_resumed", "worker_resumed")


@td.tool(read_only=True)
def look() -> str:
    """Look around."""
    return "nothing new"


def asleep(log: EventLog | None = None) -> td.Session:
    session = td.Session("s", agent_id="lead", log=log)
    session.suspend("lunch", digest="was renaming")
    return session


def heard(recorder: Recorder, *names: str) -> list[object]:
    return [one for one in recorder.heard if one[0] in names]


def test_hooks_hear_that_a_session_falls_asleep_once_though_later_loops_find_it_asleep() -> None:
    log, recorder = td.open_log("memory:"), Recorder()
    session = asleep(log)
    for _ in range(3):
        result = play(None, model=ScriptedModel([]), session=session, registry=recorder.registry)
        session = td.Session("s", log=log)
        assert result.status == "suspended"
    assert heard(recorder, *SLEEPING) == [
        ("pre_suspend", {**ASLEEP, "iteration": 1}),
        ("post_suspend", {**ASLEEP, "iteration": 1}),
        ("on_persona_paused", {"persona": "lead", "reason": "lunch", "iteration": 1}),
    ]


def test_a_suspension_from_another_thread_is_heard_before_the_next_request() -> None:
    recorder, session = Recorder(), td.Session("s")

    @td.tool(read_only=True)
    def interrupted() -> str:
        """Be suspended from outside."""
        thread = threading.Thread(target=session.suspend, args=("lunch",))
        thread.start()
        thread.join(timeout=10)
        return "ok"

    model = ScriptedModel([call("interrupted"), "never"])
    result = play(model=model, tools=[interrupted], session=session, registry=recorder.registry)
    assert (result.status, len(model.requests)) == ("suspended", 1)
    assert [payload["suspended_at_turn"] for payload in recorder.payloads("post_suspend")] == [1]


def test_a_hook_may_withdraw_a_suspension_and_the_work_goes_on() -> None:
    log, recorder = td.open_log("memory:"), Recorder({"pre_suspend": NO})
    session = asleep(log)
    assert play(model=ScriptedModel(["done"]), session=session, registry=recorder.registry).status == "done"
    assert heard(recorder, *SLEEPING) == [("pre_suspend", {**ASLEEP, "iteration": 1})]
    assert td.Session("s", log=log).stored.suspension is None
    (vetoed,) = payloads(log, "warning")
    assert {key: vetoed[key] for key in ("code", "message", "event")} == {
        "code": "vetoed",
        "message": "not now",
        "event": "pre_suspend",
    }


def test_a_suspension_that_replaces_the_one_hooks_were_asked_about_is_asked_about_itself() -> None:
    session = asleep()

    def again(told: dict[str, object]) -> object:
        if told["reason"] == "lunch":
            session.suspend("fire")
            return NO
        return None

    recorder = Recorder({"pre_suspend": again})
    model = ScriptedModel([call("look"), "never"])
    result = play(model=model, tools=[look], session=session, registry=recorder.registry)
    assert (result.status, len(model.requests)) == ("suspended", 1)
    assert [p["reason"] for p in recorder.payloads("pre_suspend")] == ["lunch", "fire"]


def test_hooks_hear_that_a_session_wakes_up_before_its_loop_begins() -> None:
    recorder, session = Recorder(), asleep()
    session.resume(cause="timer", input="go")
    play("work", model=ScriptedModel(["done"]), session=session, registry=recorder.registry)
    named = {"agent_id": "lead", "session_id": "s", "task": "work"}
    assert recorder.heard[:5] == [
        ("pre_resume", AWAKE),
        ("post_resume", AWAKE),
        ("on_persona_resumed", {"persona": "lead", "reason": "lunch", "cause": "timer"}),
        ("worker_resumed", {**named, **AWAKE}),
        ("session_start", {"task": "work", "iteration": 0}),
    ]


def test_a_hook_may_keep_a_session_asleep_and_nothing_is_lost() -> None:
    log = td.open_log("memory:")
    session = asleep(log)
    session.remind(body="news", ttl_turns=1)
    session.resume(cause="timer", input="go")
    recorder = Recorder({"pre_resume": NO})
    held = play("work", model=ScriptedModel([]), session=session, registry=recorder.registry)
    assert (held.status, heard(recorder, *WAKING, *SLEEPING)) == ("suspended", [("pre_resume", AWAKE)])
    later, model = Recorder(), ScriptedModel(["done"])
    again = td.Session("s", log=log)
    result = play(None, model=model, session=again, registry=later.registry, reminders=None)
    assert result.status == "done"
    assert [name for name, _ in heard(later, *WAKING)] == list(WAKING)
    assert [requests_with(model, words) for words in ("news", "lunch", "work")] == [[1], [1], [1]]


def test_a_session_that_was_suspended_again_does_not_wake_up() -> None:
    recorder, session = Recorder(), asleep()
    session.resume(cause="timer")
    session.suspend("fire")
    result = play(None, model=ScriptedModel([]), session=session, registry=recorder.registry)
    assert (result.status, heard(recorder, *WAKING)) == ("suspended", [])
    session.resume(cause="put out")
    play(None, model=ScriptedModel(["done"]), session=session, registry=recorder.registry)
    assert [(p["reason"], p["cause"]) for p in recorder.payloads("post_resume")] == [("fire", "put out")]


def test_a_request_after_a_resume_begins_with_the_one_before_where_history_only_grows() -> None:
    route = td.Route(name="x", wire="anthropic", preserved_thinking=True)
    log = td.open_log("memory:")
    session = td.Session("s", log=log)
    session.remind(body="the build broke", ttl_turns=5)
    model = ScriptedModel(["one", "two"], route=route)
    play(model=model, session=session)
    session.suspend("lunch")
    session.resume()
    play("more", model=model, session=td.Session("s", log=log))
    first, second = [body["messages"] for body in model.requests]
    assert second[: len(first)] == first
    assert str(second).count("the build broke") == 1
