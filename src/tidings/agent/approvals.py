"""Questions of the approval gate, told to hooks before and after the person who is asked.

A hook may settle a question with an explicit decision; nothing else it returns does, and a reminder
never (decision 23). The strictest decision holds; a hook that refuses to decide, or fails, leaves a
question that others would have allowed to the user. The gate itself is in `tools/approval.py`.
"""

from __future__ import annotations

from tidings.agent.happenings import Happenings
from tidings.agent.hooks import HookRun
from tidings.agent.session import Session
from tidings.agent.tools.approval import Request, Verdict
from tidings.core.reminder import Payload


class Approvals:
    """What a loop's hooks hear of its gate: a `Watch`."""

    def __init__(self, session: Session, happenings: Happenings) -> None:
        self._session = session
        self._happenings = happenings

    async def asked(self, request: Request) -> Verdict | None:
        """Raise `permission_asked`; gives what the hooks decided, None to ask the user."""
        if not self._happenings.hears("permission_asked"):
            return None
        return ruled(await self._happenings.consult("permission_asked", _about(request)))

    async def passed_on(self, request: Request) -> None:
        """Raise `on_approval_requested`, and tell the parent of a child that it waits."""
        self._session.report("worker_waiting_for_input", _about(request))
        await self._happenings.happen("on_approval_requested", _about(request))

    async def replied(self, request: Request, verdict: Verdict) -> None:
        """Raise `permission_replied`."""
        payload: Payload = {
            "tool_name": request.call.name,
            "tool_call_id": request.call.id,
            "allowed": verdict.allowed,
            "by": verdict.by,
            "reason": verdict.reason,
        }
        await self._happenings.happen("permission_replied", payload)


def ruled(run: HookRun) -> Verdict | None:
    """The verdict of hooks that decided: any "deny", else an "allow" that nobody left open."""
    decided = [(result.hook, result.effects.action) for result in run.results if result.effects.action]
    for hook, action in decided:
        if action["decision"] == "deny":
            return Verdict(allowed=False, by=f"the hook {hook!r}", reason=str(action["reason"]))
    is_open = run.failures or run.veto is not None
    if is_open or not decided or any(action["decision"] == "ask" for _, action in decided):
        return None
    hook, action = decided[-1]
    return Verdict(allowed=True, by=f"the hook {hook!r}", reason=str(action["reason"] or ""))


def _about(request: Request) -> Payload:
    call = request.call
    return {"tool_name": call.name, "tool_call_id": call.id, "arguments": call.arguments}
