"""One tool call, from the model's words to its receipt.

In this order: readable, known, arguments fit, allowed, run, made presentable. Whatever goes wrong
closes the call with an outcome the model can act on; only the cancellation of the whole task passes
through, and the dispatcher then closes the call itself.
"""

from __future__ import annotations

import difflib
import time
import traceback
from collections.abc import Mapping

import msgspec

from tidings.agent.port import Outcome, ToolCall
from tidings.agent.signal import Signal
from tidings.agent.tools.approval import Gate, Request, Verdict, Watch
from tidings.agent.tools.receipt import Receipt, Status, not_run
from tidings.agent.tools.supervise import Stopped, supervise
from tidings.agent.tools.tool import ArgumentError, Emit, Tool, ToolContext, ToolError, ignore_event
from tidings.agent.tools.truncate import truncate
from tidings.core.text import is_unicode
from tidings.shell.ids import now_ms

_LISTED = 20

STOPPED: Mapping[Status, str] = {
    "deadline": "The tool did not finish within {seconds:g} seconds and was stopped; "
    "part of its work may have been done. Ask for less at once, or look at what is there.",
    "cancelled": "The call was cancelled while it ran; part of its work may have been done.",
}


class Desk(msgspec.Struct, frozen=True, kw_only=True):
    """What all calls of a batch share."""

    tools: Mapping[str, Tool]
    gate: Gate
    deadline: float
    max_output: int


class Attempt:
    """A call that is not closed yet, and how far it came."""

    def __init__(self, call: ToolCall, watch: Watch | None = None, tell: Emit | None = None) -> None:
        self.call = call
        self._watch = watch
        self._tell = tell
        self._approved_by: str | None = None
        self._started: tuple[int, float] | None = None

    async def run(self, desk: Desk, context: ToolContext) -> Receipt:
        """Carry the call through to its receipt."""
        if context.cancelled:
            return self.cancelled()
        try:
            tool = _find(self.call, desk.tools)
            run = tool.bind(self.call.arguments)
            request = self._request(tool, context)
            verdict = desk.gate.settled(request) or await self._asked(request, desk, context)
            own = self._begun(verdict, desk, context)
            seconds = desk.deadline if tool.deadline is None else tool.deadline
            given: object = await supervise(
                run(own), stop=context.cancel, told=own.cancel, deadline=seconds
            )
            return self._finished(given, tool, desk)
        except _Closed as closed:
            return self._close(Outcome(text=str(closed), ok=False), closed.status)
        except ArgumentError as error:
            return self._close(Outcome(text=str(error), ok=False), "invalid")
        except Stopped as stopped:
            return self._stopped(stopped, tool, desk)
        except Exception as error:  # noqa: BLE001 the model is told, the receipt keeps the trace
            return self._failed(error, desk)

    def cancelled(self) -> Receipt:
        """Close the call because the whole batch ended."""
        if self._started is None:
            return not_run([self.call], "the batch was cancelled before it began", now_ms=now_ms())[0]
        return self._close(Outcome(text=STOPPED["cancelled"], ok=False), "cancelled")

    def _request(self, tool: Tool, context: ToolContext) -> Request:
        return Request(
            call=self.call,
            description=tool.spec.description,
            read_only=tool.read_only,
            session_id=context.session_id,
            workspace=context.workspace,
        )

    async def _asked(self, request: Request, desk: Desk, context: ToolContext) -> Verdict:
        tell = self._tell or ignore_event
        named = {"tool_call_id": self.call.id, "tool_name": self.call.name}
        tell("permission_asked", {**named, "arguments": self.call.arguments})
        deciding = desk.gate.decide(request, self._watch)
        verdict = await supervise(deciding, stop=context.cancel, told=Signal())
        tell("permission_replied", {**named, **msgspec.to_builtins(verdict)})
        return verdict

    def _begun(self, verdict: Verdict, desk: Desk, context: ToolContext) -> ToolContext:
        """The surroundings of a call that may run, from now on."""
        if not verdict.allowed:
            raise _Closed("denied", _refusal(verdict))
        self._approved_by = verdict.by
        self._started = (now_ms(), time.monotonic())
        if self._tell is not None:
            self._tell("tool_call_started", {"tool_call_id": self.call.id, "tool_name": self.call.name})
        return msgspec.structs.replace(
            context, call_id=self.call.id, cancel=Signal(), max_output=desk.max_output
        )

    def _finished(self, given: object, tool: Tool, desk: Desk) -> Receipt:
        if not isinstance(given, Outcome):
            raise TypeError(f"tool {tool.name!r} gave a {type(given).__name__}, not an Outcome")
        if not isinstance(given.text, str):
            raise _unusable(tool, "text", given.text, "a string")
        if not isinstance(given.data, (dict, Mapping)):
            raise _unusable(tool, "data", given.data, "a mapping")
        return self._close(presentable(given, desk.max_output), "finished" if given.ok else "failed")

    def _stopped(self, stopped: Stopped, tool: Tool, desk: Desk) -> Receipt:
        """What ended before its tool began has not run; else part of its work may have been done."""
        if self._started is None:
            return self.cancelled()
        seconds = desk.deadline if tool.deadline is None else tool.deadline
        text = STOPPED[stopped.cause].format(seconds=seconds)
        return self._close(Outcome(text=text, ok=False), stopped.cause)

    def _failed(self, error: Exception, desk: Desk) -> Receipt:
        expected = isinstance(error, ToolError)
        text = str(error) if expected else "".join(traceback.format_exception_only(error)).strip()
        trace = "".join(traceback.format_exception(error))
        return self._close(presentable(Outcome(text=text, ok=False), desk.max_output), "failed", trace)

    def _close(self, outcome: Outcome, status: Status, trace: str | None = None) -> Receipt:
        started_at_ms, began = self._started or (now_ms(), time.monotonic())
        return Receipt(
            call=self.call,
            outcome=outcome,
            status=status,
            started_at_ms=started_at_ms,
            duration_ms=round((time.monotonic() - began) * 1000),
            approved_by=self._approved_by,
            error_trace=trace,
        )


class _Closed(Exception):
    """The call ends here, without having run."""

    def __init__(self, status: Status, text: str) -> None:
        self.status: Status = status
        super().__init__(text)


def presentable(outcome: Outcome, max_output: int) -> Outcome:
    """`outcome` as the model may see it: text that can be written, and not too much of it."""
    if len(outcome.text) <= max_output and not outcome.truncated and is_unicode(outcome.text):
        return outcome
    text = outcome.text if is_unicode(outcome.text) else outcome.text.encode("utf-8", "replace").decode()
    clipped = truncate(text, max_output)
    size = outcome.original_size
    if size is None and (clipped.truncated or outcome.truncated):
        size = clipped.total
    return msgspec.structs.replace(
        outcome, text=clipped.text, truncated=outcome.truncated or clipped.truncated, original_size=size
    )


def _unusable(tool: Tool, field: str, value: object, wanted: str) -> TypeError:
    got = f"it is a {type(value).__name__}, not {wanted}"
    return TypeError(f"tool {tool.name!r} gave an Outcome whose `{field}` cannot be used: {got}")


def _find(call: ToolCall, tools: Mapping[str, Tool]) -> Tool:
    if call.problem is not None:
        raise _Closed("unreadable", f"The arguments could not be read: {call.problem}. Send a JSON object.")
    if call.name not in tools:
        raise _Closed("unknown", _unknown(call.name, tuple(tools)))
    return tools[call.name]


def _unknown(name: str, known: tuple[str, ...]) -> str:
    near = difflib.get_close_matches(name, known, n=3)
    if near:
        return f"There is no tool {name!r}. Did you mean {' or '.join(map(repr, near))}?"
    more = f" and {len(known) - _LISTED} more" if len(known) > _LISTED else ""
    return f"There is no tool {name!r}. The tools are: {', '.join(known[:_LISTED]) or 'none'}{more}."


def _refusal(verdict: Verdict) -> str:
    why = f": {verdict.reason}" if verdict.reason else ", without a reason"
    return f"Not run: declined by {verdict.by}{why}."
