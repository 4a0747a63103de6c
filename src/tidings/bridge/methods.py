"""The methods of a session that a host may call about reminders, under every name they go by. Data.

Seed 004 names them `session/…`; the extension rules of ACP want `_…`; the reference system adds its own
prefix (decision 30). `session/remind` is the older name of `session/inject_reminder`.
"""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

Operation: TypeAlias = Literal[
    "inject", "inject_reminder", "pending_injections", "revoke_reminder", "clear_reminders"
]
OPERATIONS: tuple[Operation, ...] = get_args(Operation)

PREFIXES = ("session/", "_session/", "_harn/session/")
"""What stands before a method's name, the RFC's own form first."""

NAMES: dict[str, Operation] = {**{name: name for name in OPERATIONS}, "remind": "inject_reminder"}
"""Each name behind a prefix, and what it does."""

METHODS: dict[str, Operation] = {
    prefix + name: operation for name, operation in NAMES.items() for prefix in PREFIXES
}
"""Every spelling that is understood."""


def operation_of(method: str) -> Operation | None:
    """What `method` does; None when it is not one of ours."""
    return METHODS.get(method)
