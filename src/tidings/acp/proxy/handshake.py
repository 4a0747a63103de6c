"""The handshake: what the editor can take, what the agent can do, and what we say in its name. Pure.

Both sides' words are kept; ours are added. The protocol version is never touched. An agent reports
compactions only to clients that ask for it, so we ask, and keep the reports from an editor that did not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from tidings.acp.capabilities import Capabilities, advertised, agent_reminders, client_takes_updates
from tidings.acp.proxy.lowering import capabilities
from tidings.acp.proxy.message import Members, members, value
from tidings.core.seams import Mode


class Told(msgspec.Struct, frozen=True):
    """What the editor said of itself."""

    takes_updates: bool = False
    takes_compaction: bool = False


def client(client_capabilities: object) -> Told:
    """What matters of `clientCapabilities`."""
    session = client_capabilities.get("session") if isinstance(client_capabilities, Mapping) else None
    compaction = session.get("compaction") if isinstance(session, Mapping) else None
    return Told(client_takes_updates(client_capabilities), isinstance(compaction, Mapping))


def with_compaction(params: Members, told: Told) -> Members | None:
    """The editor's `initialize`, asking for compaction updates; None when it asks already."""
    if told.takes_compaction:
        return None
    offered = members(params.get("clientCapabilities")) or {}
    session = members(offered.get("session")) or {}
    return {**params, "clientCapabilities": {**offered, "session": {**session, "compaction": {}}}}


def native(result: Members) -> Capabilities | None:
    """What the agent does with reminders itself; None when it takes none."""
    told = agent_reminders(value(result.get("agentCapabilities")))
    return told if told is not None and told.inject else None


def steers(result: Members) -> bool:
    """Whether a running prompt of the agent can be steered."""
    steering = members((members(result.get("_meta")) or {}).get("steering"))
    return steering is not None and value(steering.get("supported")) is True


def decorated(result: Members, modes: Sequence[Mode], *, rfc: bool) -> Members:
    """The agent's `initialize` result with what the interposer adds to it."""
    found = value(result.get("agentCapabilities"))
    own = found if isinstance(found, Mapping) else {}
    return {**result, "agentCapabilities": advertised(own, capabilities(modes), rfc=rfc)}
