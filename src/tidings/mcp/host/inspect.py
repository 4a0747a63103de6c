"""What one server pushes and what becomes of it, told as it happens: what `tidings mcp inspect` shows.

The server is heard exactly as a session hears it, with a log that nobody keeps; each record of that log,
and each notification, becomes an event. Whoever calls this decides how events look.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import aclosing, suppress

import msgspec

from tidings.agent.session import Session
from tidings.core.records import LIFECYCLE_TOPIC
from tidings.core.reminder import Payload
from tidings.log.memory import MemoryLog
from tidings.log.record import LogRecord
from tidings.mcp import advertisement
from tidings.mcp.config import Server
from tidings.mcp.conversation.names import SEES
from tidings.mcp.conversation.wire import read_offer
from tidings.mcp.host.servers import Servers
from tidings.mcp.host.settings import Backoff, Deadlines

KEPT = 10_000
"""How many records wait for a slow terminal."""

EARLY = 100
"""How many notifications that came before the greeting are shown after it."""

EVENTS = {
    "transcript.reminder.queued": "accepted",
    "transcript.reminder.restricted": "lowered",
    "transcript.reminder.dropped": "dropped",
    "transcript.reminder.warning": "warning",
}
"""The records that are shown, and under which name."""

_CONTEXT = ("session_id", "task_id", "agent_id")


class Inspection:
    """One look at one server. `tell` hears every event, as an object ready for JSON."""

    def __init__(
        self,
        server: Server,
        tell: Callable[[Payload], None],
        *,
        deadlines: Deadlines | None = None,
        backoff: Backoff | None = None,
    ) -> None:
        self._server = server
        self._tell = tell
        self._deadlines = deadlines
        self._backoff = backoff
        self._log = MemoryLog(capacity=KEPT)
        self._session = Session("inspect", log=self._log)
        self._told = 0
        self._left: int | None = None
        self._done = asyncio.Event()
        self._greeted = False
        self._early: deque[Payload] = deque(maxlen=EARLY)

    async def run(self, *, seconds: float | None = None, count: int | None = None) -> bool:
        """Watch for `seconds`, or until `count` notifications came; gives whether it was reached."""
        self._left = count
        servers = Servers(
            [self._server],
            session=self._session,
            deadlines=self._deadlines,
            backoff=self._backoff,
            on_push=self._pushed,
        )
        try:
            async with servers:
                if not self._greet(servers):
                    self._told = self._log.latest(LIFECYCLE_TOPIC)
                    return False
                with suppress(TimeoutError):
                    async with asyncio.timeout(seconds):
                        await self._watch(servers)
        finally:
            for record in self._log.read(LIFECYCLE_TOPIC, self._told):
                self._show(record)
        return True

    def _greet(self, servers: Servers) -> bool:
        status = servers[self._server.name]
        capabilities = servers.capabilities(status.name)
        if status.state != "connected":
            self._tell({"event": "failed", "server": status.name, "reason": status.reason})
            return False
        advertised = advertisement.read(capabilities)
        self._tell(
            {
                "event": "connected",
                "server": status.name,
                "era": status.era,
                "version": status.version,
                "name": status.server,
                "capabilities": capabilities,
                "reminders": None if advertised is None else advertised.to_wire(),
                "conversation": _wish(capabilities),
            }
        )
        self._greeted = True
        for event in self._early:
            self._tell(event)
        return True

    async def _watch(self, servers: Servers) -> None:
        tasks = [
            asyncio.ensure_future(wait) for wait in (self._done.wait(), servers.given_up(), self._follow())
        ]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)

    def _pushed(self, _server: str, method: str, params: Mapping[str, object]) -> None:
        if self._left == 0:
            return
        event: Payload = {"event": "pushed", "method": method, "params": dict(params)}
        if self._greeted:
            self._tell(event)
        else:
            self._early.append(event)
        if self._left is not None:
            self._left -= 1
            if self._left == 0:
                self._done.set()

    async def _follow(self) -> None:
        async with aclosing(self._log.subscribe(LIFECYCLE_TOPIC, self._told)) as records:
            async for record in records:
                self._show(record)

    def _show(self, record: LogRecord) -> None:
        self._told = record.cursor
        name = EVENTS.get(record.kind)
        if name is not None:
            said = {key: value for key, value in record.payload.items() if key not in _CONTEXT}
            self._tell({"event": name, **said})
        if name == "accepted":
            with self._session.step():
                self._session.drain("iteration_start")


def _wish(capabilities: Mapping[str, object] | None) -> Payload | None:
    """What a server asks to see of the conversation, and why in its own words; None: nothing."""
    offer = read_offer(capabilities)
    if offer is None or not offer.scopes:
        return None
    return {"asks": list(offer.scopes), "purpose": offer.purpose, "form": offer.form}


def as_line(event: Payload) -> str:
    """An event for people, on one line."""
    match event["event"]:
        case "connected":
            return _connected(event)
        case "failed":
            return f"{event['server']}: not connected: {event['reason']}"
        case "pushed":
            return f"pushed   {event['method']} {msgspec.json.encode(event['params']).decode()}"
        case "accepted":
            return f"accepted {event['reminder_id']}"
        case "lowered":
            return f"lowered  {event['reminder_id']}: {event['field']} {event['asked']} → {event['given']}"
        case "dropped":
            which = event["reminder_id"] or f"{event['count']} more"
            return f"dropped  {which}: {event['reason']}: {event['detail']}"
        case _:
            return f"warning  {event['code']}: {event['message']}"


def _connected(event: Payload) -> str:
    told = event["reminders"]
    capabilities = event["capabilities"]
    assert isinstance(capabilities, Mapping)
    said = f"reminders advertised: {msgspec.json.encode(told).decode()}"
    if told is None:
        said = "no reminders advertised: what it sends is dropped"
    able = ", ".join(sorted(capabilities)) or "nothing"
    who = f" ({event['name']})" if event["name"] else ""
    asks = _asking(event["conversation"])
    return f"{event['server']}{who}: {event['era']} {event['version']}; can {able}; {said}{asks}"


def _asking(wish: object) -> str:
    """What is asked for, for the one who is to consent."""
    if not isinstance(wish, Mapping):
        return ""
    sees = " and ".join(words for scope, words in SEES.items() if scope in wish["asks"])
    why = f", and says why: {wish['purpose']!r}" if wish["purpose"] else ""
    return f"; asks to see {sees}{why}"
