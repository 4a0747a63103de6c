"""opencode's own server: sessions followed by its events and told over HTTP, without a plugin.

A text goes to a working session as a synthetic part that wants no reply: it stands behind the tool's result
in the next request. A session at rest gets one that does want a reply, and so is woken. A server with a
password is not spoken to.
"""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import quote

import msgspec

from tidings.core.reminder import Payload
from tidings.hub.hosting.pushing.plain_http import HttpError, events, request
from tidings.hub.hosting.pushing.pusher import Attendant

KNOWN = 1_000
"""How many sessions are told apart from children."""


class OpencodeServer:
    """The server at a URL."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._children: dict[str, bool] = {}

    async def follow(self, attendant: Attendant) -> None:
        """Tell of sessions until the connection ends.

        Raises:
            OSError: it cannot be reached, or broke.
        """
        async for data in events(self._url, "/global/event"):
            told = _object(_decoded(data))
            payload = _object(told.get("payload"))
            about = _object(payload.get("properties"))
            name = about.get("sessionID")
            if isinstance(name, str):
                await self._noted(str(payload.get("type")), name, about, told.get("directory"), attendant)

    async def _noted(
        self, kind: str, name: str, about: Mapping[str, object], folder: object, attendant: Attendant
    ) -> None:
        if kind == "session.deleted":
            attendant.gone(name)
        elif kind == "session.status" and not await self._is_child(name):
            busy = _object(about.get("status")).get("type") != "idle"
            place = folder if isinstance(folder, str) and folder.startswith("/") else None
            attendant.tell(self, name, place, busy)

    async def _is_child(self, name: str) -> bool:
        if name not in self._children:
            status, body = await request(self._url, "GET", f"/session/{quote(name, safe='')}")
            found = _object(_decoded(body)) if status == 200 else {}
            self._children[name] = bool(found.get("parentID"))
            while len(self._children) > KNOWN:
                del self._children[next(iter(self._children))]
        return self._children[name]

    async def give(self, session_id: str, text: str, *, wake: bool) -> None:
        """Add a synthetic part to a session, with a reply when it is to be woken.

        Raises:
            OSError: the server refused, or is gone.
        """
        body: Payload = {"parts": [{"type": "text", "synthetic": True, "text": text}]}
        if not wake:
            body["noReply"] = True
        path = f"/session/{quote(session_id, safe='')}/prompt_async"
        status, _ = await request(self._url, "POST", path, msgspec.json.encode(body))
        if status not in (200, 204):
            raise HttpError(f"the server answered a text with {status}")


def _decoded(data: bytes) -> object:
    try:
        return msgspec.json.decode(data)
    except msgspec.DecodeError:
        return None


def _object(value: object) -> Mapping[str, object]:
    return value if isinstance(value, dict) else {}
