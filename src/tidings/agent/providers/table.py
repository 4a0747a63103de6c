"""The eight canonical providers as data: what they hear, how they are tuned, what their reminders carry.

`TABLE` is the seed's table ("Canonical stdlib providers") in its order, which is also the order of
evaluation. The rules that write the bodies are in the modules beside this one; the docs print this.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from tidings.core.reminder import Payload, Propagate, RoleHint

ValueKind: TypeAlias = Literal["number", "whole", "flag", "text", "texts"]


FACT_KINDS = ("observation", "claim", "hypothesis", "decision", "constraint")
"""The kinds of facts that `kind_filter` may name, in any case."""


class Key(msgspec.Struct, frozen=True):
    """One config key: its kind, its default (None: worked out), and its range or choices."""

    name: str
    kind: ValueKind
    default: object = None
    low: float | None = None
    high: float | None = None
    choices: tuple[str, ...] = ()


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One canonical provider. `dedupe_key` may end in `{}`, filled per reminder."""

    id: str
    subscribes_to: tuple[str, ...]
    keys: tuple[Key, ...] = ()
    tags: tuple[str, ...]
    dedupe_key: str
    ttl_turns: int
    propagate: Propagate
    role_hint: RoleHint = "system"
    preserve_on_compact: bool = False

    def spec(self, body: str, *, key: str = "", preserve: bool = False) -> Payload:
        """The reminder spec of this provider with `body`."""
        return {
            "body": body,
            "tags": list(self.tags),
            "dedupe_key": self.dedupe_key.format(key),
            "ttl_turns": self.ttl_turns,
            "preserve_on_compact": self.preserve_on_compact or preserve,
            "propagate": self.propagate,
            "role_hint": self.role_hint,
        }


_ROWS = (
    Row(
        id="token_pressure",
        subscribes_to=("on_budget_threshold",),
        keys=(Key("context_window", "whole", low=1),),
        tags=("token_pressure",),
        dedupe_key="token_pressure",
        ttl_turns=2,
        propagate="session",
        role_hint="developer",
    ),
    Row(
        id="idle_nudge",
        subscribes_to=("session_idle",),
        keys=(Key("idle_seconds", "number", 60, low=1), Key("seconds", "number", low=1)),
        tags=("idle",),
        dedupe_key="idle_nudge",
        ttl_turns=1,
        propagate="none",
    ),
    Row(
        id="tool_output_truncated",
        subscribes_to=("post_tool_use",),
        tags=("truncation",),
        dedupe_key="tool_output_truncated:{}",
        ttl_turns=1,
        propagate="none",
    ),
    Row(
        id="post_compact_recap",
        subscribes_to=("post_compact",),
        tags=("recap",),
        dedupe_key="post_compact_recap",
        ttl_turns=2,
        propagate="session",
    ),
    Row(
        id="resume_continuity",
        subscribes_to=("worker_resumed",),
        tags=("resume_continuity",),
        dedupe_key="resume_continuity",
        ttl_turns=1,
        propagate="none",
        preserve_on_compact=True,
    ),
    Row(
        id="project_facts",
        subscribes_to=("session_start", "on_budget_threshold"),
        keys=(
            Key("namespace", "text"),
            Key("scope", "text", "project", choices=("project", "workspace", "user")),
            Key("root", "text"),
            Key("max_facts", "whole", 5, low=0, high=25),
            Key("min_confidence", "number", 0.5, low=0, high=1),
            Key("kind_filter", "texts", choices=FACT_KINDS),
            Key("relevance_query", "text"),
            Key("refresh_ratio", "number", 0.70, low=0, high=1),
        ),
        tags=("project_facts",),
        dedupe_key="project_facts",
        ttl_turns=1,
        propagate="session",
    ),
    Row(
        id="workspace_anchor",
        subscribes_to=("session_start", "on_budget_threshold"),
        tags=("workspace_anchor",),
        dedupe_key="workspace_anchor",
        ttl_turns=1,
        propagate="session",
    ),
    Row(
        id="grounded_review",
        subscribes_to=("post_tool_use", "post_step", "post_agent_turn"),
        keys=(
            Key("max_findings", "whole", 6, low=1, high=20),
            Key("limit", "whole", low=1, high=20),
            Key("text_scan", "flag", True),
            Key("include_warnings", "flag", False),
        ),
        tags=("grounded_review", "code_review"),
        dedupe_key="grounded_review:{}",
        ttl_turns=2,
        propagate="none",
        role_hint="developer",
    ),
)

TABLE: dict[str, Row] = {row.id: row for row in _ROWS}
"""The canonical providers by id, in the order they are evaluated."""
