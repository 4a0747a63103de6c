"""Falling asleep and waking up: a session's suspension and resumption, told to hooks, which may object.

`Session.suspend` and `resume` only write down what is wanted, from any thread. Here a loop acts on
it: at its seams it asks whether the session sleeps now, at its start whether it wakes. What is
told stays in the log until it has been told, so that a killed process tells it again.
"""

from __future__ import annotations

from msgspec.structs import replace

from tidings.agent import store
from tidings.agent.happenings import Happenings
from tidings.agent.session import Session
from tidings.agent.store import Suspension
from tidings.core.reminder import Payload


async def falls_asleep(session: Session, happenings: Happenings, iteration: int) -> bool:
    """Whether the session is suspended; a hook may withdraw a suspension before it holds."""
    asleep = session.stored.suspension
    if asleep is None or asleep.told:
        return asleep is not None
    told: Payload = {
        "reason": asleep.reason,
        "suspended_at_turn": asleep.at_turn,
        "digest": asleep.digest,
        "iteration": iteration,
    }
    if await happenings.happen("pre_suspend", told) is not None:
        _settle(session, asleep, None)
        return False
    await happenings.happen("post_suspend", told)
    await happenings.happen("on_persona_paused", {"reason": asleep.reason, "iteration": iteration})
    _settle(session, asleep, replace(asleep, told=True))
    return session.stored.suspension is not None


def _settle(session: Session, asked: Suspension, settled: Suspension | None) -> None:
    """Put `settled` in the place of what was asked about, unless that has changed meanwhile."""
    with session.step():
        if session.stored.suspension is asked:
            session.stored = replace(session.stored, suspension=settled)
            session.note((), (store.changed(session.stored),))


async def wakes_up(session: Session, happenings: Happenings) -> bool:
    """Tell why the session slept and woke; False when a hook holds it back until the next loop."""
    resumption = session.stored.resumption
    if resumption is None or session.stored.suspension is not None:
        return True
    told: Payload = {"digest": "", **resumption}
    if await happenings.happen("pre_resume", told) is not None:
        return False
    await happenings.happen("post_resume", told)
    named = {"reason": told.get("reason"), "cause": told.get("cause")}
    await happenings.happen("on_persona_resumed", named)
    session.report("worker_resumed", told)
    about: Payload = {"agent_id": session.agent_id, "session_id": session.id, "task": happenings.task}
    await happenings.happen("worker_resumed", {**about, **told})
    with session.step():
        if session.stored.resumption is resumption:
            session.stored = replace(session.stored, resumption=None)
            session.note((), (store.changed(session.stored),))
    return True
