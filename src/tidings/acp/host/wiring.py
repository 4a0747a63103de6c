"""What the sessions of one host share: the connection, how to ask over it, and what the caller brought.

Made by `Host.start`, which also ends it. `call` sends one of our own methods, under the name that the agent
advertised.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from acp.core import ClientSideConnection

from tidings.acp.capabilities import Capabilities
from tidings.acp.host.asking import Asking
from tidings.acp.host.callbacks import Callbacks
from tidings.acp.host.client import Client, Deadlines
from tidings.acp.host.failure import AgentAnswerError
from tidings.acp.host.feed import Feeds
from tidings.acp.host.link import Link
from tidings.acp.host.notes import Notes
from tidings.acp.host.offer import method_for
from tidings.bridge.methods import Operation
from tidings.core.reminder import Payload


@dataclass(frozen=True)
class Wiring:
    """One connection to one agent."""

    connection: ClientSideConnection
    link: Link
    asking: Asking
    callbacks: Callbacks
    feeds: Feeds
    notes: Notes
    client: Client
    deadlines: Deadlines
    agent: Payload
    reminders: Capabilities | None

    async def call(
        self, operation: Operation, params: Payload, wants: str, kind: type, deadline: float | None = None
    ) -> Mapping[str, object]:
        """The result of one of our own methods; `wants` is the field, of type `kind`, that proves success.

        Raises:
            NotAdvertisedError: the agent never said that it does this.
            HostError: it refuses, dies, or answers without that field: null is no success.
        """
        method = method_for(operation, self.reminders)
        seconds = self.deadlines.call if deadline is None else deadline
        result = await self.asking.ask(method, self.link.request(method, params), seconds)
        found = result.get(wants) if isinstance(result, Mapping) else None
        if not isinstance(found, kind) or isinstance(found, bool) or found == "":
            raise AgentAnswerError(method, f"a result with `{wants}`", result)
        assert isinstance(result, Mapping)
        return result
