"""The end of a loop: what is unsettled, what is drained, what is left, and who may keep it."""

from __future__ import annotations

from typing import Any

import pytest

import tidings as td
from tests.agent.recorder import Recorder, bounded
from tests.agent.test_happenings import payloads
from tests.agent.test_loop import play, requests_with
from tidings.agent.models.scripted import ScriptedModel
from tidings.agent.port import ModelError
from tidings.agent.registry import Registry
from tidings.core.archive import AUDIT_KIND
from tidings.core.mailbox import CAPACITY

DRAIN = ("on_unsettled_detected", "pre_drain", "on_drain_decision", "post_drain")


def drain_of(recorder: Recorder) -> list[tuple[str, dict[str, Any]]]:
    return [heard for heard in recorder.heard if heard[0] in DRAIN]


def test_a_loop_that_leaves_nothing_drains_its_audit_and_decides_nothing() -> None:
    recorder, session = Recorder(), td.Session()
    session.remind(body="for the record", id="audit", mode="audit_only")
    play(model=ScriptedModel(["done"]), session=session, registry=recorder.registry)
    about = {"status": "done", "iteration": 1}
    assert drain_of(recorder) == [
        ("pre_drain", {**about, "queued": ["audit"]}),
        ("post_drain", {**about, "delivered": 1, "left": 0}),
    ]


def test_what_came_too_late_is_said_to_be_unsettled_and_stays_queued() -> None:
    recorder, session = Recorder(), td.Session()

    def fail(body: object) -> object:
        session.remind(body="too late", id="late")
        session.remind(body="for the record", id="audit", mode="audit_only")
        raise ModelError("overloaded")

    result = play(model=ScriptedModel([fail]), session=session, registry=recorder.registry)
    about = {"status": "failed", "iteration": 1}
    why = {"decision": "left_queued", "reason": "no seam of this run came after them"}
    assert drain_of(recorder) == [
        ("on_unsettled_detected", {**about, "queued": ["late"], "children": []}),
        ("pre_drain", {**about, "queued": ["late", "audit"]}),
        ("on_drain_decision", {**why, "ids": ["late"], "iteration": 1}),
        ("post_drain", {**about, "delivered": 1, "left": 1}),
    ]
    assert [row["id"] for row in result.undelivered] == ["late"]


def test_a_hook_may_keep_the_audit_queued_for_the_next_loop() -> None:
    log, recorder = td.open_log("memory:"), Recorder({"pre_drain": {"block": True, "reason": "not yet"}})
    session = td.Session("s", log=log)
    session.remind(body="for the record", id="audit", mode="audit_only")
    kept = play(model=ScriptedModel(["done"]), session=session, registry=recorder.registry)
    why = {"decision": "left_queued", "reason": "a hook kept them: not yet"}
    assert drain_of(recorder)[1:] == [
        ("on_drain_decision", {**why, "ids": ["audit"], "iteration": 1}),
        ("post_drain", {"status": "done", "iteration": 1, "delivered": 0, "left": 1}),
    ]
    assert [(w["code"], w["event"], w["message"]) for w in payloads(log, "warning")] == [
        ("vetoed", "pre_drain", "not yet")
    ]
    assert (kept.status, [row["id"] for row in kept.undelivered]) == ("done", ["audit"])
    again = td.Session("s", log=log)
    result = play(None, model=ScriptedModel(["done"]), session=again)
    assert [e["text"] for e in result.transcript.events if e["kind"] == AUDIT_KIND] == ["for the record"]


def test_children_that_still_run_are_left_running_and_said_to_be() -> None:
    recorder, parent = Recorder(), td.Session()
    parent.children = ("slow", "lazy")
    play(model=ScriptedModel(["done"]), session=parent, registry=recorder.registry)
    assert recorder.payloads("on_unsettled_detected") == [
        {"status": "done", "iteration": 1, "queued": [], "children": ["lazy", "slow"]}
    ]
    assert [(p["decision"], p["ids"]) for p in recorder.payloads("on_drain_decision")] == [
        ("left_running", ["lazy", "slow"])
    ]


@pytest.mark.parametrize(("daemon", "status"), [(None, "done"), (td.Daemon(max_idle_seconds=0), "idle")])
def test_a_loop_that_has_nothing_more_to_do_has_finished(daemon: td.Daemon | None, status: str) -> None:
    recorder = Recorder()
    play(model=ScriptedModel(["done"]), registry=recorder.registry, daemon=daemon)
    assert recorder.payloads("post_finish") == [{"status": status, "text": "done", "iteration": 1}]


def test_an_objection_to_the_end_needs_no_place_in_a_full_mailbox() -> None:
    registry, session, asked = Registry(), td.Session(), []

    def not_yet(ctx: Any) -> object:
        asked.append(ctx.text)
        if len(asked) > 1:
            return None
        for _ in range(CAPACITY):
            session.remind(body="for the record", mode="audit_only")
        return {"block": True, "reason": "no test was run"}

    registry.register_session_hook("pre_finish", not_yet)
    model = ScriptedModel(["done", "done, tested"])
    result = play(model=model, session=session, registry=registry)
    assert (result.text, requests_with(model, "The work is not finished: no test was run")) == (
        "done, tested",
        [2],
    )


def test_a_provider_that_hears_checkpoints_is_asked_at_them() -> None:
    registry, session, asked = Registry(), td.Session(), []

    def evaluate(ctx: Any) -> object:
        asked.append(dict(ctx.payload))
        return {"body": "something came in", "ttl_turns": 1}

    registry.register_reminder_provider(id="door", subscribes_to=["loop_checkpoint"], evaluate=evaluate)
    session.remind(body="news", ttl_turns=1)
    model = ScriptedModel(["done"])
    bounded(td.agent_loop("w", model=model, session=session, registry=registry))
    assert asked == [{"kind": "iteration_start", "iteration": 1, "delivered": 1}]
    assert requests_with(model, "something came in") == [1]


def test_events_are_told_at_the_end_also_when_a_hook_keeps_the_mailbox() -> None:
    session = td.Session()

    def keep(told: object) -> object:
        session.emit("file_edited", {"path": "a"})
        return False

    recorder = Recorder({"pre_drain": keep})
    play(model=ScriptedModel(["done"]), session=session, registry=recorder.registry)
    assert (recorder.payloads("file_edited"), session.stored.events) == ([{"path": "a"}], ())
