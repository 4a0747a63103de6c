"""The ACP agent on a pair of byte streams, from the first line to the last. Called by `tidings acp`."""

from __future__ import annotations

from typing import Any, cast

from acp import run_agent

from tidings.acp.agent.methods import AgentMethods
from tidings.acp.agent.outlet import AcpOutlet
from tidings.acp.agent.transport import ReminderTransport
from tidings.bridge.served.peer import Peer, Read, Write
from tidings.bridge.served.run import Settings
from tidings.bridge.served.sessions import Served


async def serve(read: Read, write: Write, settings: Settings, *, rfc: bool = True) -> None:
    """Serve one client until it closes its side; `rfc` advertises reminders as seed 004 has it, too."""
    async with Peer(read, write) as peer:
        outlet = AcpOutlet(peer)
        served = Served(settings, outlet)
        outlet.dropped = served.dropped
        transport = ReminderTransport(peer, served, outlet, rfc=rfc)
        methods = cast(Any, AgentMethods(served, outlet))
        await run_agent(methods, transport, use_unstable_protocol=True)
