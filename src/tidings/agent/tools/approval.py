"""The approval gate: may this call run? Rules first, then a watch's decision, then the person.

Without rules, read-only tools run and everything else is asked; without a callback, what must be asked
is declined. Consent is a `Reply` returned by the callback, or a `Verdict` of the watch, for this very
request: the gate reads no transcript, no reminder and no text, so none can satisfy it (decision 23).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Protocol, TypeAlias

import msgspec

from tidings.agent.arguments import expect, is_seconds
from tidings.agent.port import ToolCall
from tidings.agent.tools.rules import Rule, checked, matching
from tidings.errors import CallerError

ASK_DEADLINE = 300.0

_logger = logging.getLogger(__name__)


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """What the callback is asked: this call, in this session."""

    call: ToolCall
    description: str = ""
    read_only: bool = False
    session_id: str = ""
    workspace: Path | None = None


class Reply(msgspec.Struct, frozen=True, kw_only=True):
    """The callback's answer, and whose it is."""

    allowed: bool
    by: str = "the user"
    reason: str = ""


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """What the gate decided, who decided it, and why."""

    allowed: bool
    by: str
    reason: str = ""


_HARMLESS = Verdict(allowed=True, by="the default for read-only tools")

Ask: TypeAlias = Callable[[Request], Awaitable[Reply]]


class Watch(Protocol):
    """Hears of each question, beside the person who is asked; `approvals.py` is the loop's."""

    async def asked(self, request: Request) -> Verdict | None:
        """A question came up; a verdict settles it before anyone is asked."""

    async def passed_on(self, request: Request) -> None:
        """The question goes to a person now."""

    async def replied(self, request: Request, verdict: Verdict) -> None:
        """The question is settled, by whomever."""


class Gate:
    """Decides about calls. Several may be asked about at once; the callback says how they are shown."""

    def __init__(
        self, rules: Sequence[Rule] = (), *, ask: Ask | None = None, deadline: float = ASK_DEADLINE
    ) -> None:
        if not is_seconds(deadline):
            raise CallerError(f"approval deadline is {deadline!r}; give seconds above 0")
        if ask is not None:
            expect("ask", ask, callable, "an async function")
        self._rules = checked(rules)
        self._ask = ask
        self._deadline = deadline

    def must_ask(self, request: Request) -> bool:
        """Whether a person has to be asked about this call."""
        return self.settled(request) is None

    async def decide(self, request: Request, watch: Watch | None = None) -> Verdict:
        """Whether the call may run; never raises unless `watch` does, every failure declines."""
        settled = self.settled(request)
        if settled is not None or watch is None:
            return settled or await self._asked(request)
        verdict = await watch.asked(request)
        if verdict is None:
            if self._ask is not None:
                await watch.passed_on(request)
            verdict = await self._asked(request)
        await watch.replied(request, verdict)
        return verdict

    def settled(self, request: Request) -> Verdict | None:
        """The verdict that needs nobody, if there is one."""
        rule = matching(self._rules, request.call, request.workspace) if self._rules else None
        if rule is not None and rule.action != "ask":
            return Verdict(allowed=rule.action == "allow", by=f"the rule '{rule}'", reason=rule.reason)
        return _HARMLESS if rule is None and request.read_only else None

    async def _asked(self, request: Request) -> Verdict:
        if self._ask is None:
            return _declined("this call needs approval, and no one is connected who could give it")
        try:
            async with asyncio.timeout(self._deadline):
                reply: object = await self._ask(request)
        except TimeoutError:
            return _declined(f"it was asked for, and nobody answered within {self._deadline:g} seconds")
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise
            return _declined("asking for approval failed (CancelledError)")
        except (Exception, SystemExit) as error:
            _logger.exception("the approval callback failed for %s", request.call.name)
            return _declined(f"asking for approval failed ({type(error).__name__})")
        return _read(reply)


def _read(reply: object) -> Verdict:
    """Only a `Reply` whose `allowed` is exactly True consents."""
    if not isinstance(reply, Reply):
        return _declined(f"the approval callback gave a {type(reply).__name__}, which is not a Reply")
    return Verdict(allowed=reply.allowed is True, by=reply.by, reason=reply.reason)


def _declined(reason: str) -> Verdict:
    return Verdict(allowed=False, by="the approval gate", reason=reason)
