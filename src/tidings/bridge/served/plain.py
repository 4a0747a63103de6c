"""The plain bridge: sessions over newline JSON-RPC for hosts that speak no ACP. `tidings bridge` runs it.

The methods are few and small (`docs/how-to/bridge.md`): `initialize`, `session/new`, `load`, `list`,
`close`, `prompt`, `cancel`, `set_mode`, and the reminder methods under every name. Updates are
`session/update` notifications in the words of ACP and seed 004.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import TypeAlias

from tidings.bridge import handle
from tidings.bridge import params as read
from tidings.bridge.methods import METHODS
from tidings.bridge.rpc import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    SERVER_BUSY,
    Call,
    RpcError,
)
from tidings.bridge.served.gate import MODES
from tidings.bridge.served.peer import Peer, Read, Write
from tidings.bridge.served.run import Ended, Settings
from tidings.bridge.served.session import ServedSession
from tidings.bridge.served.sessions import Served
from tidings.core.producers import shown
from tidings.core.reminder import Payload
from tidings.errors import TidingsError
from tidings.version import __version__

GOODBYE = 5.0
"""Seconds that answers to a host that closed its side get to leave."""
TASKS = 1_000

Handler: TypeAlias = Callable[[Payload], Awaitable[Payload]]

_logger = logging.getLogger(__name__)


class PlainOutlet:
    """Writes everything as it is: a plain host asked for it."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer

    def update(self, session_id: str, update: Payload) -> None:
        """Send a `session/update`."""
        self._peer.notify("session/update", {"sessionId": session_id, "update": update})

    reminder = update

    async def ask(self, method: str, params: Payload) -> object:
        """Ask the host.

        Raises:
            RpcError: its error, or that it is gone.
        """
        return await self._peer.ask(method, params)


class Plain:
    """The methods of one connection."""

    def __init__(self, peer: Peer, served: Served, outlet: PlainOutlet) -> None:
        self._peer = peer
        self._served = served
        self._outlet = outlet
        self._origin = "bridge"
        self._tasks: set[asyncio.Task[None]] = set()
        self._methods: dict[str, Handler] = {
            "initialize": self._initialize,
            "session/new": self._new,
            "session/load": self._load,
            "session/list": self._list,
            "session/close": self._close,
            "session/prompt": self._prompt,
            "session/cancel": self._cancel,
            "session/set_mode": self._set_mode,
        }

    def take(self, call: Call) -> None:
        """Begin what `call` asks, after the calls before it have begun."""
        if len(self._tasks) >= TASKS:
            self._refuse(call, RpcError(SERVER_BUSY, f"{TASKS} calls are worked on already"))
            return
        work = self._remind(call) if call.method in METHODS else self._work(call)
        task = asyncio.create_task(work, name=call.method)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def end(self) -> None:
        """Cancel what runs and let the last answers out."""
        await self._served.shutdown()
        await self._peer.settled(GOODBYE)
        for task in self._tasks:
            task.cancel()

    async def _remind(self, call: Call) -> None:
        self._peer.reply(call, lambda: handle.answer(call, self._served, self._origin))

    async def _work(self, call: Call) -> None:
        handler = self._methods.get(call.method)
        try:
            if handler is None:
                known = ", ".join(self._methods)
                text = f"unknown method {shown(call.method)}; known are {known} and the reminder methods"
                raise RpcError(METHOD_NOT_FOUND, text)
            result = await handler(call.params)
        except TidingsError as error:
            self._refuse(call, handle.refusal(error))
        except Exception as error:
            _logger.exception("%s failed", call.method)
            self._refuse(call, RpcError(INTERNAL_ERROR, f"{call.method} failed: {type(error).__name__}"))
        else:
            if call.wants_reply:
                self._peer.answer(call.id, result)

    def _refuse(self, call: Call, error: RpcError) -> None:
        if call.wants_reply:
            self._peer.refuse(call.id, error)
        elif call.method in self._methods or call.method in METHODS:
            self._served.rejected(handle.named(call), call.method, error)

    async def _initialize(self, params: Payload) -> Payload:
        info = params.get("clientInfo")
        name = info.get("name") if isinstance(info, dict) else None
        if isinstance(name, str) and name.strip():
            self._origin = f"bridge:{' '.join(name.split())[:80]}"
        return {
            "name": "tidings",
            "version": __version__,
            "methods": [*self._methods, *METHODS],
            "modes": [mode.id for mode in MODES],
        }

    async def _new(self, params: Payload) -> Payload:
        return _opened(self._served.new(params.get("cwd")))

    async def _load(self, params: Payload) -> Payload:
        served = self._served.load(_required(params), params.get("cwd"))
        for update in served.history():
            self._outlet.update(served.id, update)
        return _opened(served)

    async def _list(self, params: Payload) -> Payload:
        cwd, cursor = _optional(params, "cwd"), _optional(params, "cursor")
        listed, following = self._served.page(cwd, cursor)
        answer: Payload = {"sessions": [each.to_wire() for each in listed]}
        return answer if following is None else {**answer, "nextCursor": following}

    async def _close(self, params: Payload) -> Payload:
        await self._served.close(self._meant(params).id)
        return {}

    async def _prompt(self, params: Payload) -> Payload:
        return _ended(await self._served.prompt(self._meant(params).id, params.get("prompt")))

    async def _cancel(self, params: Payload) -> Payload:
        return {"cancelled": self._meant(params).cancel()}

    async def _set_mode(self, params: Payload) -> Payload:
        self._meant(params).set_mode(params.get("modeId"))
        return {}

    def _meant(self, params: Payload) -> ServedSession:
        named = read.session_id_of(params)
        if named is not None:
            return self._served.get(named)
        only = self._served.only()
        if only is None:
            raise RpcError(INVALID_PARAMS, "`sessionId` is missing, and there is not exactly one session")
        return only


async def serve(read: Read, write: Write, settings: Settings) -> None:
    """Serve one host until it closes its side."""
    async with Peer(read, write) as peer:
        outlet = PlainOutlet(peer)
        plain = Plain(peer, Served(settings, outlet), outlet)
        while (call := await peer.receive()) is not None:
            plain.take(call)
        await plain.end()


def _opened(served: ServedSession) -> Payload:
    return {"sessionId": served.id, "cwd": served.root, "modeId": served.gate.mode.id}


def _ended(ended: Ended) -> Payload:
    usage = ended.usage
    return {
        "stopReason": ended.stop_reason,
        "text": ended.text,
        "usage": {
            "inputTokens": usage.input_tokens,
            "outputTokens": usage.output_tokens,
            "cachedTokens": usage.cached_tokens,
        },
    }


def _required(params: Payload) -> str:
    named = read.session_id_of(params)
    if named is None:
        raise RpcError(INVALID_PARAMS, "`sessionId` is missing", {"field": "sessionId"})
    return named


def _optional(params: Payload, name: str) -> str | None:
    value = params.get(name)
    if value is None or isinstance(value, str):
        return value
    raise RpcError(INVALID_PARAMS, f"`{name}` must be a string; got {shown(value)}", {"field": name})
