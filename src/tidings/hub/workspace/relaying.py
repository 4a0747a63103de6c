"""An MCP server as a watcher: what it pushes is checked as a session would, and passed on to the hub.

A session of its own takes in what the server says, with all rules of a host: what it advertised, its
grants, its budget, ids seen before. What waits in its mailbox is handed on as `Passed`; what the host notes
about the server becomes `Noticed`. Needs `pip install tidings[mcp]`.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from importlib.util import find_spec

import msgspec

from tidings.agent.session import Session
from tidings.core.mailbox import Item
from tidings.core.records import Alike, Change, Record, one_by_one
from tidings.core.reminder import Payload, Reminder
from tidings.core.seams import Seam
from tidings.errors import CallerError
from tidings.hub.rows import options_of
from tidings.hub.workspace import settings
from tidings.hub.workspace.making import Place
from tidings.hub.workspace.sense import argv
from tidings.mcp.config import Server, filled
from tidings.mcp.rules import DEFAULTS
from tidings.watchers.told import Noticed

NOTICES = 1_000
"""How many notes about a server wait to be taken."""

_SEAMS: tuple[Seam, ...] = ("iteration_start", "loop_exit")
"""The seams that together let everything in."""
_ABOUT = ("transcript.reminder.warning", "transcript.reminder.dropped", "transcript.reminder.restricted")


class Passed(msgspec.Struct, frozen=True):
    """A server's reminder as it was let in: its options and its mode. Its id is the server's own."""

    options: Payload
    mode: str


def relay(name: str, section: settings.Server, place: Place) -> Relay:
    """The watcher of one server.

    Raises:
        CallerError: the MCP SDK or a variable is missing.
    """
    if find_spec("mcp") is None:
        raise CallerError("MCP servers need the MCP SDK: pip install 'tidings[mcp]'")
    return Relay(server_of(name, section, place))


def server_of(name: str, section: settings.Server, place: Place) -> Server:
    """A server of `tidings.toml`, as a host knows it; `${NAME}` is filled in.

    Raises:
        ConfigError: a variable is not set.
    """

    def fill(given: Mapping[str, str], key: str) -> dict[str, str]:
        return {
            each: str(filled(text, place.environ, f"servers.{name}.{key}.{each}"))
            for each, text in given.items()
        }

    path = {"PATH": place.environ["PATH"]} if "PATH" in place.environ else {}
    return Server(
        name=name,
        command=() if section.command is None else argv(section.command),
        env={**path, **fill(section.env, "env")},
        cwd=str(place.folder / section.folder),
        url=None if section.url is None else fill({"": section.url}, "url")[""],
        headers=fill(section.headers, "headers"),
        era=section.era,
        grants=frozenset(section.grants),
        budget=section.budget.budget(),
        rules=(*section.rules, *DEFAULTS),
    )


class _Desk(Session):
    """A session that keeps what a host notes about its server."""

    def __init__(self) -> None:
        super().__init__()
        self.notes: deque[Record] = deque()
        self.left_out = 0

    def note(self, records: Sequence[Record | Alike] = (), changes: Sequence[Change] = ()) -> None:
        super().note(records, changes)
        for record in one_by_one(records):
            if record.kind in _ABOUT and len(self.notes) < NOTICES:
                self.notes.append(record)
            elif record.kind in _ABOUT:
                self.left_out += 1
        if records:
            self.wake()


class Relay:
    """One MCP server, kept connected while it is watched. `ready` is set while it is."""

    def __init__(self, server: Server) -> None:
        self.name = server.name
        self.ready = asyncio.Event()
        self._server = server

    async def watch(self) -> AsyncGenerator[Passed | Noticed, None]:
        """What the server says, and what becomes of it.

        Raises:
            CallerError: it was given up; the message says why.
        """
        from tidings.mcp.host.servers import Servers  # takes a second to load

        desk = _Desk()
        async with Servers([self._server], session=desk) as servers:
            with desk.listening() as news:
                gone = asyncio.create_task(servers.given_up())
                gone.add_done_callback(lambda _: desk.wake())
                try:
                    while not gone.done():
                        news.clear()
                        self._mark(servers[self.name].state == "connected")
                        for one in taken(desk):
                            yield one
                        await news.wait()
                finally:
                    gone.cancel()
            for one in taken(desk):
                yield one
            raise CallerError(servers[self.name].reason or "it was given up")

    def _mark(self, connected: bool) -> None:
        if connected:
            self.ready.set()
        else:
            self.ready.clear()


def taken(desk: _Desk) -> Iterator[Passed | Noticed]:
    """What came since the last time."""
    with desk.step():
        items: list[Item] = [item for seam in _SEAMS for item in desk.drain(seam)]
    for item in items:
        if isinstance(item.what, Reminder):
            yield Passed(options_of(item.what), item.mode)
    while desk.notes:
        yield _noticed(desk.notes.popleft())
    if desk.left_out:
        count, desk.left_out = desk.left_out, 0
        yield Noticed("notices_left_out", f"{count} notes about it were too many", {"count": count})


def _noticed(record: Record) -> Noticed:
    told = {name: value for name, value in record.payload.items() if value is not None}
    word = record.kind.rpartition(".")[2]
    code = str(told.pop("code", f"mcp_{word}"))
    message = str(told.pop("message", "") or told.get("detail") or told.get("reason") or word)
    details: Payload = {name: told[name] for name in ("count", "field", "reason") if name in told}
    return Noticed(code, message, details)
