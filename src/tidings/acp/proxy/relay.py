"""Editor and agent with the interposer between them: bytes in, bytes out, still without processes.

`Relay` has a lane for each direction; `ChainRelay` has one, to a conductor. The interposer is loaded when
a line first matters: until something mentions a method, nothing but this file and `lane` is needed, so
that an agent starts as fast as without us.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from tidings.acp.proxy.lane import LONGEST_LINE, Lane

if TYPE_CHECKING:
    from tidings.acp.proxy.chain import Chain
    from tidings.acp.proxy.interposer import Interposer
    from tidings.log.port import EventLog

Sink: TypeAlias = Callable[[bytes], None]
Later: TypeAlias = Callable[[float, Callable[[], None]], object]


class Settings(NamedTuple):
    """What an interposer is given: a timer, what the user chose, and who hears of sessions."""

    later: Later
    log: EventLog | None = None
    rfc: bool = True
    report: Callable[[str], None] = lambda _: None
    longest: int = LONGEST_LINE
    changed: Callable[[], None] = lambda: None


class Relay:
    """Between an editor and an agent of our own."""

    def __init__(self, to_editor: Sink, to_agent: Sink, settings: Settings) -> None:
        self._settings = settings
        self._interposer: Interposer | None = None
        self.from_editor = Lane(self._edit, editor_matters, to_agent, settings.longest)
        self.from_agent = Lane(self._clean, self._agent_matters, to_editor, settings.longest)

    @property
    def interposer(self) -> Interposer:
        """The interposer, loaded now if it was not."""
        if self._interposer is None:
            self._interposer = interposer(self.from_agent.put, self.from_editor.put, self._settings)
        return self._interposer

    def _edit(self, line: bytes) -> bytes:
        return self.interposer.from_editor(line)

    def _clean(self, line: bytes) -> bytes:
        return self.interposer.from_agent(line)

    def _agent_matters(self, chunk: bytes) -> bool:
        if self._interposer is None:
            return False
        return agent_matters(chunk) or self._interposer.wants_ride()

    def agent_gone(self, reason: str) -> None:
        """The agent ended: whoever waits for an answer of it gets an error."""
        self.from_agent.end()
        if self._interposer is not None:
            self.from_agent.put(self._interposer.agent_gone(reason))


class ChainRelay:
    """Between a client and a successor, both of them behind one conductor."""

    def __init__(self, to_conductor: Sink, settings: Settings) -> None:
        self._settings = settings
        self._chain: Chain | None = None
        self.from_editor = Lane(
            self._receive, lambda _: True, to_conductor, settings.longest, self._too_long
        )

    @property
    def interposer(self) -> Interposer:
        """The interposer, loaded now if it was not."""
        return self.chain.interposer

    @property
    def chain(self) -> Chain:
        """Our place in the chain."""
        if self._chain is None:
            from tidings.acp.proxy.chain import Chain  # only a line that matters pays for loading it

            made = interposer(self._put_editor, self._put_agent, self._settings)
            self._chain = Chain(made, os.urandom(4).hex(), self._settings.report)
        return self._chain

    def _receive(self, line: bytes) -> bytes:
        return self.chain.receive(line)

    def _too_long(self) -> None:
        self._settings.report(f"a line of more than {self._settings.longest} bytes was dropped")

    def _put_editor(self, lines: bytes) -> None:
        self.from_editor.put(self.chain.to_editor(lines))

    def _put_agent(self, lines: bytes) -> None:
        self.from_editor.put(self.chain.to_agent(lines))


def interposer(put_editor: Sink, put_agent: Sink, settings: Settings) -> Interposer:
    """An interposer that writes its own lines with these."""
    from tidings.acp.proxy.interposer import Interposer  # only a line that matters pays for loading it
    from tidings.acp.proxy.requests import Requests

    requests = Requests(put_agent, settings.later, os.urandom(4).hex())
    return Interposer(
        put_editor,
        requests,
        log=settings.log,
        rfc=settings.rfc,
        report=settings.report,
        changed=settings.changed,
    )


def editor_matters(chunk: bytes) -> bool:
    """Whether a chunk of the editor's may hold a request or a notification."""
    return b'"method"' in chunk or b"\\u00" in chunk


def agent_matters(chunk: bytes) -> bool:
    """Whether a chunk of the agent's may hold an answer, words of ours, or a compaction."""
    return (
        b'"result"' in chunk
        or b'"error"' in chunk
        or b"system-reminder" in chunk
        or b"compaction_" in chunk
        or b"\\u00" in chunk
    )
