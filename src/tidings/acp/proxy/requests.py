"""Requests of our own to the agent, each with a deadline and a name that no editor would use.

The answer, or None when the agent took too long, goes to whoever asked. An answer that comes late is known
by its name and dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tidings.acp.proxy.message import Head, Id, line_of

SECONDS = 30.0
"""How long the agent may take to answer."""


class Requests:
    """What we asked and wait for. `later` calls back after so many seconds."""

    def __init__(
        self,
        put_agent: Callable[[bytes], None],
        later: Callable[[float, Callable[[], None]], object],
        token: str,
    ) -> None:
        self._put_agent = put_agent
        self._later = later
        self._prefix = f"tidings-{token}-"
        self._count = 0
        self._waiting: dict[str, Callable[[Head | None], None]] = {}

    def send(self, method: str, params: Mapping[str, object], done: Callable[[Head | None], None]) -> None:
        """Ask the agent; `done` gets the head of its answer, or None after the deadline."""
        self._count += 1
        name = f"{self._prefix}{self._count}"
        self._waiting[name] = done
        self._put_agent(line_of({"jsonrpc": "2.0", "id": name, "method": method, "params": params}))
        self._later(SECONDS, lambda: self._settle(name, None))

    def is_ours(self, id: Id) -> bool:
        """Whether an answer with this id is meant for us, also when it comes too late."""
        return isinstance(id, str) and id.startswith(self._prefix)

    def answered(self, head: Head) -> None:
        """The agent answered one of them."""
        self._settle(str(head.id), head)

    def _settle(self, name: str, head: Head | None) -> None:
        done = self._waiting.pop(name, None)
        if done is not None:
            done(head)
