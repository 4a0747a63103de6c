"""Claude Agent SDK: the hooks of Claude Code as callbacks inside your own program, two lines of it.

`connect` adds our callbacks to the options of a client or a query. Each asks the hub, as the hooks of
Claude Code do, and leaves out of the question what tools and people said. A hub that is gone, slow or of
another mind changes nothing: the agent goes on without us.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import Field, replace
from importlib import import_module
from typing import Any, ClassVar, Protocol, TypeAlias, TypeVar

from tidings.bridge.door.call import call
from tidings.bridge.door.failure import DoorError
from tidings.bridge.rpc import RpcError
from tidings.core.reminder import Payload
from tidings.errors import CallerError
from tidings.hosts.happening import NEUTRAL
from tidings.hosts.settings.wiring import EVENTS, MATCHERS
from tidings.hosts.writes import WRITERS
from tidings.hub.place import place_of
from tidings.shell.ids import now_ms

HEARD = EVENTS["claude-code"]
"""The events that our callbacks listen to: those that Claude Code's own hooks are put into."""

SECONDS = 2.0
"""How long the hub may take. The SDK blocks a tool whose callback takes longer than `CALLBACK_SECONDS`."""
CALLBACK_SECONDS = 30.0

KEPT = (
    "session_id", "hook_event_name", "cwd", "transcript_path", "source", "agent_id", "agent_type",
    "tool_name", "tool_use_id", "stop_hook_active",
)  # fmt: skip
"""What of an event the hub is told: who and where, and not what was said."""

Callback: TypeAlias = Callable[[Mapping[str, Any], str | None, object], Awaitable[Payload]]

_logger = logging.getLogger(__name__)


class Options(Protocol):
    """The SDK's `ClaudeAgentOptions`, as far as it matters here."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]
    hooks: Any


T = TypeVar("T", bound=Options)


def connect(options: T, *, socket: str | None = None) -> T:
    """`options` with callbacks that hear from the hub, beside those that are there.

    `socket` is that of this user's hub unless given.

    Raises:
        CallerError: the SDK is not installed.
    """
    matcher = _sdk("claude_agent_sdk").HookMatcher
    answer = callback(socket)
    there: Mapping[str, list[Any]] = options.hooks or {}
    ours = {
        name: matcher(matcher=MATCHERS.get(("claude-code", name)), hooks=[answer], timeout=CALLBACK_SECONDS)
        for name in HEARD
    }
    both = {name: [*there.get(name, ()), one] for name, one in ours.items()}
    return replace(options, hooks={**there, **both})


def callback(socket: str | None = None) -> Callback:
    """The callback of every event: an event in, the hook's answer out."""
    anyio = _sdk("anyio")

    async def answer(event: Mapping[str, Any], _tool_use_id: str | None, _context: object) -> Payload:
        answered: Payload = await anyio.to_thread.run_sync(ask, event, socket, abandon_on_cancel=True)
        return answered

    return answer


def ask(event: Mapping[str, Any], socket: str | None = None) -> Payload:
    """What the hub answers to an event; nothing when it does not answer in time. Blocking."""
    until = now_ms() + int(SECONDS * 1000 / 2)
    asked: Payload = {"host": "claude-code", "event": outline(event), "untilMs": until}
    try:
        answered = call(socket or place_of().socket, "hub/drain", asked, SECONDS).get("answer")
    except (DoorError, RpcError) as error:
        _logger.debug("no hub; the agent goes on without it: %s", error)
        return NEUTRAL
    return answered if isinstance(answered, dict) else NEUTRAL


def outline(event: Mapping[str, Any]) -> Payload:
    """An event without what tools and people said; of what was written only where."""
    kept: Payload = {name: event[name] for name in KEPT if event.get(name) is not None}
    calls = event.get("tool_calls")
    if isinstance(calls, list):
        kept["tool_calls"] = [_call(each) for each in calls if isinstance(each, Mapping)]
    if "tool_response" in event and (written := _written(event)):
        kept |= {"tool_input": written, "tool_response": ""}
    return kept


def _call(call: Mapping[str, Any]) -> Payload:
    return {
        "tool_use_id": call.get("tool_use_id"),
        "tool_name": call.get("tool_name"),
        "tool_input": _written(call),
    }


def _written(call: Mapping[str, Any]) -> Payload:
    """Of a tool's arguments those that say where it wrote."""
    arguments = call.get("tool_input")
    places = WRITERS["claude-code"].get(str(call.get("tool_name")), ())
    return {name: arguments.get(name) for name in places} if isinstance(arguments, Mapping) else {}


def _sdk(module: str) -> Any:
    try:
        return import_module(module)
    except ImportError as error:
        text = "tidings.hub.agent_sdk needs the Claude Agent SDK: pip install 'tidings[claude]'"
        raise CallerError(text) from error
