"""What the SDK calls a stream: something that is entered and left, and one that is read to its end.

The SDK hands both around by these shapes. `stdio.py` and the host's `stdio.py` and `tap.py` fill them with
pipes, processes and other streams; what is received or sent is theirs.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from types import TracebackType
from typing import Self, TypeAlias

import anyio
from mcp.shared.message import SessionMessage

Incoming: TypeAlias = SessionMessage | Exception
"""A message, or why a line is none."""


class Entered(ABC):
    """A stream that is closed when its block is left."""

    @abstractmethod
    async def aclose(self) -> None:
        """Close it."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()


class Received(Entered):
    """A stream of messages that come in, one by one, until there are no more."""

    @abstractmethod
    async def receive(self) -> Incoming:
        """The next message.

        Raises:
            anyio.EndOfStream: there will be no more.
        """

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Incoming:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None
