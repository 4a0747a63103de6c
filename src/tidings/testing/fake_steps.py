"""What the fake provider is told to do for each request: `Say` something, or `Refuse`.

Waits are gates that a test opens, never sleeps. The wire modules (`fake_anthropic.py`, …) turn a `Say`
into the vendor's frames; `fake_provider.py` sends them.
"""

from __future__ import annotations

import re
from socket import MSG_PEEK, socket
from threading import Condition, Event, Thread
from typing import Literal, NamedTuple, Protocol, TypeAlias

import msgspec

from tidings.agent.port import Usage
from tidings.core.reminder import Payload

DEADLINE = 10.0
"""Seconds after which a gate that nobody opened gives up."""


class Call(msgspec.Struct, frozen=True):
    """A tool call; `arguments` as text are sent as they are, broken or not. `id=""`: the wire's own.

    On the Responses wire only: `namespace` is that of a tool which has one, and a `freeform` tool takes its
    arguments as plain text instead of JSON.
    """

    name: str
    arguments: Payload | str = {}
    id: str = ""
    namespace: str = ""
    freeform: bool = False


class Gate:
    """Holds an answer back until `open()`, or until the client has gone; gives up after `deadline` s."""

    def __init__(self, deadline: float = DEADLINE) -> None:
        self.reached = Event()
        self._deadline = deadline
        self._changed = Condition()
        self._opened = False
        self._left = False

    def open(self) -> None:
        """Let the answer go on."""
        with self._changed:
            self._opened = True
            self._changed.notify_all()

    def hold(self, connection: socket) -> bool:
        """Wait for `open()`; False when the client left first.

        Raises:
            TimeoutError: nothing happened within the deadline.
        """
        connection.settimeout(self._deadline)
        Thread(target=self._watch, args=(connection,), daemon=True).start()
        self.reached.set()
        with self._changed:
            if not self._changed.wait_for(lambda: self._opened or self._left, self._deadline):
                raise TimeoutError(f"a gate was neither opened nor left within {self._deadline:g} s")
            return self._opened

    def _watch(self, connection: socket) -> None:
        try:
            gone = connection.recv(1, MSG_PEEK) == b""
        except TimeoutError:  # the client did nothing at all: `hold` gives up by itself
            return
        except OSError:  # closed under our hands: that is the news
            gone = True
        with self._changed:
            self._left = gone
            self._changed.notify_all()


class Say(msgspec.Struct, frozen=True, kw_only=True):
    """An answer. `stop` is the vendor's own word, if not the usual one.

    `before` holds back everything, `midway` what follows the first text. After that text `cut` may
    drop the connection, end the stream too early, or send garbage.
    """

    text: str = ""
    calls: tuple[Call, ...] = ()
    thinking: str = ""
    usage: Usage = Usage(12, 5, 0)
    stop: str | None = None
    before: Gate | None = None
    midway: Gate | None = None
    cut: Literal["drop", "end", "garbage"] | None = None


class Refuse(msgspec.Struct, frozen=True, kw_only=True):
    """An HTTP error in the vendor's shape, or with `in_stream` an error event after the headers."""

    status: int = 400
    message: str = "refused by the script"
    kind: str | None = None
    retry_after: str | None = None
    in_stream: bool = False


Step: TypeAlias = Say | Refuse


class Frame(NamedTuple):
    """One server-sent event; `text` says whether it streams text."""

    data: bytes
    text: bool = False


class Speaker(Protocol):
    """One vendor's wire: checks requests as its servers do, and writes answers."""

    key_headers: tuple[str, ...]

    def problem(self, body: Payload) -> str | None:
        """Why the vendor would refuse `body`."""
        ...

    def streams(self, path: str, body: Payload) -> bool:
        """Whether the answer is to be streamed."""
        ...

    def whole(self, say: Say, body: Payload, number: int) -> Payload:
        """The answer in one piece."""
        ...

    def frames(self, say: Say, body: Payload, number: int) -> list[Frame]:
        """The answer as a stream."""
        ...

    def error(self, refuse: Refuse) -> Payload:
        """The body of an HTTP error."""
        ...

    def error_frame(self, refuse: Refuse) -> Frame:
        """An error inside a stream."""
        ...


def sse(data: Payload, event: str | None = None, *, text: bool = False) -> Frame:
    """A server-sent event."""
    head = b"" if event is None else b"event: " + event.encode() + b"\n"
    return Frame(head + b"data: " + msgspec.json.encode(data) + b"\n\n", text)


def words(text: str) -> list[str]:
    """`text` in the pieces in which it streams."""
    return re.findall(r"\S+\s*|\s+", text)


def arguments_text(call: Call) -> str:
    """The arguments as JSON text, or as the script has them."""
    return (
        call.arguments if isinstance(call.arguments, str) else msgspec.json.encode(call.arguments).decode()
    )
