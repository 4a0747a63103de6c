"""Waking an idle daemon: whom its idle seams let in (decision 21)."""

from __future__ import annotations

import pytest

import tidings as td
from tests.agent.test_loop import NEWS, play, requests_with
from tidings.agent.models.scripted import ScriptedModel
from tidings.agent.registry import Registry
from tidings.agent.result import Daemon
from tidings.agent.session import Session
from tidings.core.records import LIFECYCLE_TOPIC

INTERRUPT, WAKE = "interrupt_immediate", "wake_idle"
NAP = Daemon(max_idle_seconds=0.0, backoff=(0.0,))


def arriving_as_it_falls_asleep(session: Session, **sender: object) -> Registry:
    """A registry whose hook reminds once, after the last seam before the daemon is idle."""
    registry, sent = Registry(), []

    def remind(ctx: object) -> None:
        if not sent:
            sent.append(session.remind(body=NEWS, ttl_turns=1, mode=INTERRUPT, **sender))

    registry.register_session_hook("pre_finish", remind)
    return registry


@pytest.mark.parametrize(
    ("sender", "seen"),
    [
        ({"producer": "mcp", "origin": "ci", "grants": frozenset()}, []),
        ({"producer": "mcp", "origin": "ci", "grants": frozenset({INTERRUPT})}, []),
        ({"producer": "mcp", "origin": "ci", "grants": frozenset({WAKE})}, []),
        ({"producer": "mcp", "origin": "ci", "grants": frozenset({INTERRUPT, WAKE})}, [2]),
        ({"producer": "bridge"}, [2]),
    ],
)
def test_an_external_reminder_wakes_a_daemon_only_with_both_grants(
    sender: dict[str, object], seen: list[int]
) -> None:
    session, model = Session("s"), ScriptedModel(["first", "second"])
    registry = arriving_as_it_falls_asleep(session, **sender)
    result = play(model=model, session=session, daemon=NAP, registry=registry)
    assert (result.status, requests_with(model, NEWS)) == ("idle", seen)
    assert [row["body"] for row in result.undelivered] == ([] if seen else [NEWS])


def test_one_that_may_not_wake_comes_in_with_the_next_work_and_was_told_once() -> None:
    log = td.open_log("memory:")
    session, model = Session("s", log=log), ScriptedModel(["first"])
    sender = {"producer": "mcp", "origin": "ci", "grants": frozenset({INTERRUPT})}
    daemon = Daemon(max_idle_seconds=0.05, backoff=(0.0, 0.0, 0.0))
    registry = arriving_as_it_falls_asleep(session, **sender)
    play(model=model, session=session, daemon=daemon, registry=registry)
    again = ScriptedModel(["second"])
    result = play("go on", model=again, session=Session("s", log=log))
    assert (requests_with(again, NEWS), result.undelivered) == ([1], ())
    told = [r.payload for r in log.read(LIFECYCLE_TOPIC) if r.kind.endswith("restricted")]
    assert [(p["field"], p["asked"], p["given"], p["origin"]) for p in told] == [(WAKE, True, False, "ci")]
    passed = [r.payload["seam"] for r in log.read(LIFECYCLE_TOPIC) if r.kind == "loop.checkpoint"]
    assert passed == ["iteration_start"]


@pytest.mark.parametrize("seam", ["daemon_idle_pre", "daemon_idle_post"])
def test_a_grant_to_wake_survives_a_restart_with_the_queued_reminder(seam: str, tmp_path) -> None:
    with td.open_log(tmp_path / "log.db") as log:
        session = Session("s", log=log)
        for name, grants in (("may", {INTERRUPT, WAKE}), ("may not", {INTERRUPT})):
            session.remind(
                body=name, id=name, mode=INTERRUPT, producer="mcp", origin="ci", grants=frozenset(grants)
            )
    with td.open_log(tmp_path / "log.db") as log:
        opened = Session("s", log=log)
        with opened.step():
            taken = [item.id for item in opened.drain(seam)]
        assert taken == ["may"]
        assert [row["id"] for row in opened.pending_injections()["injections"]] == ["may not"]
