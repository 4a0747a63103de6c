"""All hosts, by name: how each is read and answered. Data."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import TypeAlias

import msgspec

from tidings.core.reminder import Payload
from tidings.hosts import claude_code, codex, gemini, opencode
from tidings.hosts.happening import HOSTS, Delivery, Event, Happening, Host, Odd

Read: TypeAlias = Callable[[Mapping[str, object]], Happening | Odd]
Answer: TypeAlias = Callable[[Happening, Delivery], Payload]
Complete: TypeAlias = Callable[[Payload, Mapping[str, object]], Payload]
MovedOn: TypeAlias = Callable[[bytes, Collection[str], Collection[str]], bool]


def _as_it_is(answer: Payload, _: Mapping[str, object]) -> Payload:
    return answer


class Tongue(msgspec.Struct, frozen=True):
    """How one host speaks: its events, how a payload is read, how a delivery is said.

    `complete` adds to an answer what only the payload has. `moved_on` finds in the end of the host's own
    file whether a request lies between the calls that were declined and those of now, where no event
    tells it.
    """

    events: Mapping[str, Event]
    read: Read
    answer: Answer
    complete: Complete = _as_it_is
    moved_on: MovedOn | None = None


TONGUES: dict[Host, Tongue] = {
    "claude-code": Tongue(claude_code.EVENTS, claude_code.read, claude_code.answer),
    "codex": Tongue(codex.EVENTS, codex.read, codex.answer, moved_on=codex.moved_on),
    "gemini": Tongue(gemini.EVENTS, gemini.read, gemini.answer, gemini.completed),
    "opencode": Tongue(opencode.EVENTS, opencode.read, opencode.answer),
}


def host_named(name: str) -> Host | None:
    """The host of this name, if there is one."""
    return next((host for host in HOSTS if host == name), None)
