"""What a caller brings to a host: who it is, what it decides for the agent, how long it waits. Data.

Every function may be sync or async. What is not given is not offered to the agent, and what the agent asks
for all the same is refused. A reminder never answers a permission request (decision 23).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Literal, TypeAlias

import msgspec

from tidings.acp.host.notes import Note
from tidings.core.reminder import Payload, Reminder
from tidings.version import __version__

Fallback: TypeAlias = Literal["suppress", "show", "user_message"]
Beyond: TypeAlias = Literal["lower", "refuse"]


class PermissionOption(msgspec.Struct, frozen=True):
    """An answer that the agent offers: `kind` is allow_once, allow_always, reject_once, reject_always."""

    id: str
    name: str
    kind: str


class PermissionRequest(msgspec.Struct, frozen=True):
    """The agent asks before it runs a tool. Answer with the id of an option, or None to refuse."""

    session_id: str
    tool_call: Payload
    options: tuple[PermissionOption, ...]

    def first(self, kind: str) -> str | None:
        """The id of the first option of this kind."""
        return next((option.id for option in self.options if option.kind == kind), None)


class ReadFile(msgspec.Struct, frozen=True):
    """The agent wants a text file: from `line` (counted from 1), at most `limit` lines."""

    session_id: str
    path: str
    line: int | None = None
    limit: int | None = None


class WriteFile(msgspec.Struct, frozen=True):
    """The agent wants a text file written."""

    session_id: str
    path: str
    content: str


class Client(msgspec.Struct, frozen=True, kw_only=True):
    """What the host does on the caller's behalf.

    `permission` gives the id of an option or None; `read_file` gives the text; `show` shows a reminder to
    the user where an agent takes none; `note` hears what the host noticed.
    """

    name: str = "tidings"
    version: str = __version__
    permission: Callable[[PermissionRequest], str | Awaitable[str | None] | None] | None = None
    read_file: Callable[[ReadFile], str | Awaitable[str]] | None = None
    write_file: Callable[[WriteFile], Awaitable[None] | None] | None = None
    show: Callable[[Reminder], Awaitable[None] | None] | None = None
    fallback: Fallback = "suppress"
    beyond: Beyond = "lower"
    note: Callable[[Note], None] | None = None

    def capabilities(self) -> Payload:
        """`clientCapabilities` as the protocol has them, before reminders are added."""
        files = {"readTextFile": self.read_file is not None, "writeTextFile": self.write_file is not None}
        return {"fs": files}

    def answers(self) -> frozenset[str]:
        """The requests that the agent may send."""
        offered = {
            "session/request_permission": True,
            "fs/read_text_file": self.read_file is not None,
            "fs/write_text_file": self.write_file is not None,
        }
        return frozenset(method for method, given in offered.items() if given)


class Deadlines(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds to wait: for the agent to start, for one call, for a prompt, for a cancelled one, to stop."""

    start: float = 60.0
    call: float = 30.0
    prompt: float = 3600.0
    cancel: float = 10.0
    stop: float = 5.0
