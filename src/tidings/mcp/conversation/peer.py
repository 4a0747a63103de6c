"""What asking needs of a server: the port, one in this process, and nothing of any SDK.

`hosted.py` makes peers of the servers of a `tidings.mcp` host; a program with a client of its own writes
the few lines below for it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Protocol, TypeAlias

from tidings.core.reminder import Payload
from tidings.mcp.conversation.names import CAPABILITY, EXTENSION
from tidings.mcp.conversation.wire import Offer

Answer: TypeAlias = Callable[[str, Payload], Awaitable[object]]


class Peer(Protocol):
    """One server. Whatever `request` and `notify` raise costs only this server's context."""

    @property
    def name(self) -> str:
        """The name under which the user knows it."""
        ...

    @property
    def target(self) -> str:
        """What it is, as a digest: `consent.target_of` makes one of a configured server."""
        ...

    @property
    def notifies(self) -> bool:
        """Whether notifications reach it, and its own reach us, outside of any request."""
        ...

    def capabilities(self) -> Mapping[str, object] | None:
        """What it says of itself, raw; None while it is not connected."""
        ...

    async def request(self, method: str, params: Payload) -> object:
        """Send a request and give its result; cancelling this tells the server."""
        ...

    async def notify(self, method: str, params: Payload) -> None:
        """Send a notification."""
        ...


class LocalPeer:
    """A memory in this process as a peer: `answer(method, params)` is called for whatever it is sent.

    With `offer.form` "notification" its answers go through `Asker.heard`, as those of any such server do.
    """

    def __init__(self, name: str, answer: Answer, offer: Offer | None = None) -> None:
        self.name = name
        self.target = f"local {name}"
        self.notifies = True
        self._answer = answer
        self._offer = offer or Offer()

    def capabilities(self) -> Mapping[str, object] | None:
        """What its offer says."""
        if self._offer.form == "notification":
            asked = {"onUserMessage": self._offer.user_message}
            return {CAPABILITY: {**asked, "onAssistantResponse": self._offer.assistant_response}}
        return {"extensions": {EXTENSION: self._offer.to_wire()}}

    async def request(self, method: str, params: Payload) -> object:
        """What `answer` gives."""
        return await self._answer(method, params)

    async def notify(self, method: str, params: Payload) -> None:
        """Tell it."""
        await self._answer(method, params)
