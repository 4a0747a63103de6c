"""What watchers say: `Told` becomes a reminder, `Noticed` a record. Values, and the shape of a watcher.

A watcher yields both. `Told` is for the model; `Noticed` is for the people who read the log: a webhook with
a wrong signature, files that were too many to list. Consumers are `joining.py` and the MCP servers of the
command line.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Protocol, TypeAlias, runtime_checkable

import msgspec

from tidings.core.reminder import Payload, RoleHint

MOST_URIS = 200
"""How many resources one `Told` may name as updated: more would crowd out reminders that wait."""


class Told(msgspec.Struct, frozen=True):
    """One reminder to be, and the resources whose content changed with it."""

    body: str
    dedupe_key: str | None = None
    tags: tuple[str, ...] = ()
    ttl_turns: int | None = 2
    role_hint: RoleHint = "system"
    uris: tuple[str, ...] = ()

    def options(self) -> Payload:
        """The options of the reminder; whoever takes them validates them."""
        given: Payload = {"body": self.body, "tags": list(self.tags), "role_hint": self.role_hint}
        if self.dedupe_key is not None:
            given["dedupe_key"] = self.dedupe_key
        if self.ttl_turns is not None:
            given["ttl_turns"] = self.ttl_turns
        return given


class Noticed(msgspec.Struct, frozen=True):
    """Something for the record that the model need not hear; `details` holds no secret and no body."""

    code: str
    message: str
    details: Payload = {}


News: TypeAlias = Told | Noticed


@runtime_checkable
class Watcher(Protocol):
    """A named source of news. `watch` is an async generator; what it raises ends it and is recorded."""

    @property
    def name(self) -> str:
        """The origin that its reminders carry."""
        ...

    def watch(self) -> AsyncGenerator[News, None]:
        """What happens, as it happens."""
        ...
