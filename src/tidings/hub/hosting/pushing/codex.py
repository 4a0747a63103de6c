"""Codex's app-server: threads followed and told over a WebSocket, beside a TUI on the same server.

While a turn runs, an injected item stands in its very next request, in the developer's voice. A thread at
rest gets the item and an empty turn: no words are put into the user's mouth.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import msgspec

from tidings.core.reminder import Payload
from tidings.hub.hosting.pushing.pusher import Attendant
from tidings.hub.hosting.pushing.websocket import SocketError, WebSocket, opened
from tidings.version import __version__

SECONDS = 10.0
_HELLO: Payload = {
    "clientInfo": {"name": "tidings", "title": "Tidings", "version": __version__},
    "capabilities": {"experimentalApi": True},
}


class AppServer:
    """The app-server at a URL."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._socket: WebSocket | None = None
        self._last = 0
        self._asked: dict[int, asyncio.Future[Mapping[str, object]]] = {}
        self._known: set[str] = set()

    async def follow(self, attendant: Attendant) -> None:
        """Tell of threads until the connection ends.

        Raises:
            OSError: it cannot be reached, or broke.
        """
        self._socket = await opened(self._url)
        self._known.clear()
        greeting = asyncio.create_task(self._greet(attendant))
        try:
            while (message := await self._socket.receive()) is not None:
                self._heard(msgspec.json.decode(message), attendant)
                if greeting.done():
                    greeting.result()
        except msgspec.DecodeError as error:
            raise SocketError(f"the app-server sent something that is no JSON: {error}") from error
        finally:
            greeting.cancel()
            await asyncio.wait({greeting})
            await self._leave()

    async def _leave(self) -> None:
        for waiting in self._asked.values():
            waiting.cancel()
        self._asked.clear()
        if self._socket is not None:
            await self._socket.close()
        self._socket = None

    async def _greet(self, attendant: Attendant) -> None:
        await self._ask("initialize", _HELLO)
        await self._send({"method": "initialized"})
        loaded = await self._ask("thread/loaded/list", {})
        names = loaded.get("data")
        for name in names if isinstance(names, list) else []:
            found = await self._ask("thread/read", {"threadId": name})
            self._learn(found.get("thread"), attendant)

    def _heard(self, message: object, attendant: Attendant) -> None:
        if not isinstance(message, dict):
            return
        number = message.get("id")
        waiting = self._asked.pop(number, None) if isinstance(number, int) else None
        if waiting is not None and "method" not in message:
            if not waiting.done():
                waiting.set_result(message)
            return
        params = message.get("params")
        if isinstance(params, dict):
            self._noted(str(message.get("method")), params, attendant)

    def _noted(self, method: str, params: Mapping[str, object], attendant: Attendant) -> None:
        name = params.get("threadId")
        if method == "thread/started":
            self._learn(params.get("thread"), attendant)
        elif not isinstance(name, str) or name not in self._known:
            return
        elif method == "thread/closed":
            self._known.discard(name)
            attendant.gone(name)
        elif method in ("turn/started", "turn/completed"):
            attendant.tell(self, name, None, method == "turn/started")
        elif method == "thread/status/changed":
            attendant.tell(self, name, None, _is_active(params.get("status")))

    def _learn(self, thread: object, attendant: Attendant) -> None:
        """Attend to a thread that a person works in: not to sub-agents, and not to those without a file."""
        if not isinstance(thread, dict) or thread.get("parentThreadId") or thread.get("ephemeral") is True:
            return
        name, folder = thread.get("id"), thread.get("cwd")
        if isinstance(name, str):
            self._known.add(name)
            place = folder if isinstance(folder, str) and folder.startswith("/") else None
            attendant.tell(self, name, place, _is_active(thread.get("status")))

    async def give(self, session_id: str, text: str, *, wake: bool) -> None:
        """Put a developer's message behind what the model has seen, and wake the thread if wanted.

        Raises:
            OSError: the server refused, or is gone.
        """
        item: Payload = {
            "type": "message",
            "role": "developer",
            "content": [{"type": "input_text", "text": text}],
        }
        await self._ask("thread/inject_items", {"threadId": session_id, "items": [item]})
        if wake:
            await self._ask("turn/start", {"threadId": session_id, "input": []})

    async def _ask(self, method: str, params: Payload) -> Mapping[str, object]:
        self._last += 1
        number = self._last
        answer: asyncio.Future[Mapping[str, object]] = asyncio.get_running_loop().create_future()
        self._asked[number] = answer
        await self._send({"id": number, "method": method, "params": params})
        try:
            async with asyncio.timeout(SECONDS):
                message = await answer
        finally:
            self._asked.pop(number, None)
        result = message.get("result")
        if not isinstance(result, dict):
            raise SocketError(f"the app-server refused {method}: {str(message.get('error'))[:200]}")
        return result

    async def _send(self, message: Payload) -> None:
        if self._socket is None:
            raise SocketError("the app-server is not connected")
        await self._socket.send(msgspec.json.encode(message))


def _is_active(status: object) -> bool:
    return isinstance(status, dict) and status.get("type") == "active"
