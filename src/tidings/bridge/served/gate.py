"""Who lets a tool run in a served session: its mode, what the user said for good, else the host is asked.

A mode is a set of rules of the approval gate. The question is `session/request_permission`, in the same
form on ACP and on the plain bridge; any answer but a known allowing option declines. Called by
`session.py`.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TypeAlias

import msgspec

from tidings.agent.port import ToolCall
from tidings.agent.tools.approval import Gate, Reply, Request, Verdict
from tidings.agent.tools.rules import Action, Rule
from tidings.bridge.rpc import RpcError
from tidings.core.producers import shown
from tidings.core.reminder import Payload

ASK_DEADLINE = 3600.0
"""Seconds that a person gets to answer; then the call is declined."""
REMEMBERED = 500
"""How many "always" answers a session keeps; the oldest are asked about again."""

_NO_CHANGES = "this session is in the read-only mode"


class Mode(msgspec.Struct, frozen=True):
    """A way to work: what a person sees of it, and the rules it stands for."""

    id: str
    name: str
    description: str
    rules: tuple[Rule, ...] = ()


MODES: tuple[Mode, ...] = (
    Mode("ask", "Ask", "Reads without asking; asks before every change and every command."),
    Mode(
        "auto-edit",
        "Auto-edit",
        "Changes files of the workspace without asking; asks before every command.",
        (Rule("allow", "write_file"), Rule("allow", "edit_file")),
    ),
    Mode(
        "read-only",
        "Read-only",
        "Reads and searches; changes nothing and runs no command.",
        tuple(
            Rule("deny", name, reason=_NO_CHANGES) for name in ("write_file", "edit_file", "run_command")
        ),
    ),
)
DEFAULT_MODE = MODES[0]

OPTIONS: dict[str, tuple[bool, bool, str]] = {
    "allow_once": (True, False, "Allow"),
    "allow_always": (True, True, "Always allow {what} in this session"),
    "reject_once": (False, False, "Reject"),
    "reject_always": (False, True, "Always reject {what} in this session"),
}
"""The answers offered: id and ACP kind at once, whether it allows, whether for good, and its words."""

AskHost: TypeAlias = Callable[[ToolCall, list[Payload]], Awaitable[object]]
"""Shows the call and the options to the host; gives the result of `session/request_permission`."""


class ServedGate(Gate):
    """The gate of one session; its mode may change while a call waits for nobody yet.

    `for_good` are the rules of earlier answers, `keep` hears of every new one.
    """

    def __init__(
        self,
        ask_host: AskHost,
        *,
        mode: Mode = DEFAULT_MODE,
        for_good: tuple[Rule, ...] = (),
        keep: Callable[[Rule], None] = lambda _: None,
        deadline: float = ASK_DEADLINE,
    ) -> None:
        super().__init__(ask=self._asked_host, deadline=deadline)
        self.mode = mode
        self._ask_host = ask_host
        self._for_good = for_good[:REMEMBERED]
        self._keep = keep

    def settled(self, request: Request) -> Verdict | None:
        """The verdict that needs nobody: what the user said for good, then the mode."""
        return Gate((*self._for_good, *self.mode.rules)).settled(request)

    async def _asked_host(self, request: Request) -> Reply:
        try:
            result = await self._ask_host(request.call, options_for(request.call))
        except RpcError as error:
            return Reply(allowed=False, by="the host", reason=f"it answered with an error: {error.message}")
        chosen = chosen_option(result)
        if chosen not in OPTIONS:
            return Reply(allowed=False, by="the host", reason=_no_answer(chosen))
        allowed, for_good, _ = OPTIONS[chosen]
        if for_good:
            self._remember("allow" if allowed else "deny", request.call)
        return Reply(allowed=allowed, by="the user")

    def _remember(self, action: Action, call: ToolCall) -> None:
        rule = Rule(action, call.name, _same(call), "" if action == "allow" else "the user said never")
        self._for_good = (rule, *self._for_good)[:REMEMBERED]
        self._keep(rule)


def options_for(call: ToolCall) -> list[Payload]:
    """The options that the user gets to see."""
    what = "this command" if call.name == "run_command" else call.name
    return [
        {"optionId": name, "kind": name, "name": words.format(what=what)}
        for name, (_, _, words) in OPTIONS.items()
    ]


def chosen_option(result: object) -> str | None:
    """The id of the option in a reply to `session/request_permission`; None when it was cancelled."""
    outcome = result.get("outcome") if isinstance(result, Mapping) else None
    if not isinstance(outcome, Mapping) or outcome.get("outcome") != "selected":
        return None
    option = outcome.get("optionId")
    return option if isinstance(option, str) else shown(option)


def find_mode(mode_id: object, modes: Sequence[Mode] = MODES) -> Mode | None:
    """The mode of this id."""
    return next((mode for mode in modes if mode.id == mode_id), None)


def _no_answer(chosen: str | None) -> str:
    return (
        "the question was cancelled" if chosen is None else f"it chose {shown(chosen)}, which is no option"
    )


def _same(call: ToolCall) -> dict[str, str]:
    """What "always" speaks of: for a command this very one, for other tools any call."""
    command = call.arguments.get("command")
    if call.name != "run_command" or not isinstance(command, str):
        return {}
    return {"command": re.sub(r"([*?[])", r"[\1]", command)}
