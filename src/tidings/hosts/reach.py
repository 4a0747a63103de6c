"""What each host can honestly do, as data: shown in the docs, by `tidings sessions`, and asked by the hub.

Hooks are answered, not obeyed for sure: that an answer was read by the model is assumed until something
proves it. What a host cannot do is said here and nowhere promised.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from tidings.hosts.happening import Host

How: TypeAlias = Literal["yes", "partly", "no"]
Durability: TypeAlias = Literal["transcript", "request", "unknown"]


class Able(msgspec.Struct, frozen=True):
    """Whether a host can do something, and how."""

    how: How
    note: str


class Reach(msgspec.Struct, frozen=True, kw_only=True):
    """What one host can do. `limit` bytes fit into one answer; `wakes` is the surface that wakes it."""

    next_request: Able
    interrupt: Able
    continue_once: Able
    idle_wake: Able
    after_compaction: Able
    sub_agents: Able
    expiry: Able
    un_showing: Able
    turns: Able
    durability: Durability
    seen: Able
    limit: int

    def abilities(self) -> dict[str, How]:
        """Each ability in one word."""
        values = ((name, getattr(self, name)) for name in self.__struct_fields__)
        return {name: value.how for name, value in values if isinstance(value, Able)}


_IN_TIME = Able("yes", "what was not delivered in time, or within its turns, is not delivered")
_STAYS = Able("no", "the text stays in the transcript; it says as of which step it is")
_COMPACTED = Able("yes", "SessionStart(compact)")
_CHILD_STARTS = Able("yes", "SubagentStart, what stands then; depth is not told")
_NO_PROOF = Able("no", "nothing shows what the model read")

REACH: dict[Host, Reach] = {
    "claude-code": Reach(
        next_request=Able("yes", "PostToolBatch after tools, UserPromptSubmit at the prompt"),
        interrupt=Able("yes", "PreToolUse declines every call of the batch until PostToolBatch tells why"),
        continue_once=Able("yes", "Stop adds context once; never again while stop_hook_active"),
        idle_wake=Able("partly", "with `--wake`: in a terminal a monitor, else an asyncRewake hook"),
        after_compaction=_COMPACTED,
        sub_agents=_CHILD_STARTS,
        expiry=_IN_TIME,
        un_showing=_STAYS,
        turns=Able("yes", "PostToolBatch and Stop"),
        durability="transcript",
        seen=Able("yes", "found in the session's transcript file"),
        limit=9_000,
    ),
    "codex": Reach(
        next_request=Able("yes", "PostToolUse after a tool, UserPromptSubmit at the prompt"),
        interrupt=Able("yes", "PreToolUse declines every call of the batch; the first one tells why"),
        continue_once=Able("yes", "Stop blocks once; never again while stop_hook_active"),
        idle_wake=Able("partly", "with `--server` and `--wake`: thread/inject_items and turn/start"),
        after_compaction=_COMPACTED,
        sub_agents=_CHILD_STARTS,
        expiry=_IN_TIME,
        un_showing=_STAYS,
        turns=Able("partly", "steps of tools: calls that one answer runs one by one count each"),
        durability="transcript",
        seen=Able("yes", "found in the session's rollout file"),
        limit=8_000,
    ),
    "gemini": Reach(
        next_request=Able("yes", "BeforeModel, before every request"),
        interrupt=Able("yes", "BeforeTool declines every call of the batch until BeforeModel tells why"),
        continue_once=Able("yes", "AfterAgent denies once; its reason is shown as a user message"),
        idle_wake=Able("no", "the host has no way in from outside"),
        after_compaction=Able("yes", "shown anew with every request"),
        sub_agents=Able(
            "partly", "at their requests, what stands then; their calls look like the session's"
        ),
        expiry=_IN_TIME,
        un_showing=Able("yes", "the text is in the request only, and gone when its ttl is over"),
        turns=Able("yes", "a request that tools or the end follow"),
        durability="request",
        seen=_NO_PROOF,
        limit=16_000,
    ),
    "opencode": Reach(
        next_request=Able("yes", "tool.execute.after, chat.message"),
        interrupt=Able("yes", "tool.execute.before throws for every call; the first one tells why"),
        continue_once=Able("partly", "after session.idle a synthetic prompt, once; not in `opencode run`"),
        idle_wake=Able("partly", "with `--wake`: the plugin sends a synthetic prompt"),
        after_compaction=Able("yes", "session.compacted, with the next prompt or tool"),
        sub_agents=Able("yes", "child sessions, what stands when they start"),
        expiry=_IN_TIME,
        un_showing=_STAYS,
        turns=Able("yes", "chat.params, before every request"),
        durability="transcript",
        seen=_NO_PROOF,
        limit=16_000,
    ),
}

LABELS: dict[str, str] = {
    "next_request": "next request",
    "interrupt": "interrupt the batch",
    "continue_once": "continue a text-only ending",
    "idle_wake": "wake when idle",
    "after_compaction": "after compaction",
    "sub_agents": "sub-agents",
    "expiry": "expiry before delivery",
    "un_showing": "un-showing what was shown",
    "turns": "counting turns",
    "seen": "proof that it was read in",
}
"""Each ability in words, in the order of the docs."""
