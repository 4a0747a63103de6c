"""The drain: a host's hook payload in, the host's answer out. The shell around what `deciding` decides.

A session is registered on its first call. Between looking at what waits and writing what goes out nothing
is awaited, so that of several hooks at once one delivers. Whatever is wrong with a payload, or with us, the
host gets the answer that changes nothing, and a warning is kept.
"""

from __future__ import annotations

import asyncio
import logging
import os
import stat
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from tidings.core import records
from tidings.core.lifecycle import Selector
from tidings.core.records import Record
from tidings.core.reminder import Payload, Reminder
from tidings.core.seams import Seam
from tidings.errors import TidingsError
from tidings.hosts.happening import NEUTRAL, PUSH, WAKE, Happening, Host, Odd
from tidings.hosts.reach import REACH
from tidings.hosts.table import TONGUES
from tidings.hub import shapes
from tidings.hub.hosting.choosing import waiting
from tidings.hub.hosting.deciding import Decision, Pulse, Situation, decide
from tidings.hub.hosting.hosted import CLEARED, SEEN, WARNING, Hosted, scoped
from tidings.hub.hosting.seeing import found
from tidings.hub.hosting.telling import Teller
from tidings.hub.hosting.waking import Waking
from tidings.hub.hosting.wrote import Wrote

if TYPE_CHECKING:
    from tidings.hub.service import Hub

PATIENCE_SECONDS = 3600.0
"""How long a session of a host is known without a word: an idle agent says nothing."""
PULSES = 4_096
WARNED = 256
"""How many different warnings are remembered, so that each is written once."""
TAIL = 128 * 1024
"""How much of the end of a host's own file is looked at."""
SEEN_TAIL = 1024 * 1024
LAST: tuple[Seam | None, ...] = ("iteration_end", "loop_exit")
"""The seams at which a host's file is looked at."""
LOOK_AGAIN = (0.5, 3.0)
"""Seconds after which it is looked at once more: a host writes it when it has a moment."""
OWN_EVENTS = (WAKE, PUSH)
HELD_MS = 2_000
"""After so long a call no longer belongs to the batch that was declined, when nothing else tells."""

_logger = logging.getLogger(__name__)


class Hosting:
    """Answers hook calls for a hub. Calls belong in its event loop."""

    def __init__(self, hub: Hub) -> None:
        self.hub = hub
        self.waking = Waking(self)
        self.reload = asyncio.Event()
        self._hooked: set[str] = set()
        self._pulses: OrderedDict[str, Pulse] = OrderedDict()
        self._warned: OrderedDict[tuple[str, str], None] = OrderedDict()
        self._teller = Teller(hub.told)
        self._wrote = Wrote()

    async def drain(self, asked: shapes.Drain) -> shapes.DrainAnswer:
        """Answer a hook call of a coding agent."""
        late = asked.until_ms is not None and self.hub.now_ms() > asked.until_ms
        return shapes.DrainAnswer(answer=NEUTRAL if late else await self.hook(asked.host, asked.event))

    async def hook(self, host: Host, payload: Mapping[str, object]) -> Payload:
        """The answer to a hook payload, in the host's own form."""
        tongue = TONGUES[host]
        happening = await self.met(host, payload)
        if happening is None:
            return NEUTRAL
        if happening.name not in OWN_EVENTS:
            self._hooked.add(self.name_of(happening))
        try:
            decision = self._acted(happening)
            await self._followed(happening)
        except TidingsError as error:
            self.warn(host, str(error))
            return NEUTRAL
        return tongue.complete(tongue.answer(happening, decision.delivery), payload)

    async def news(self, host: Host, payload: Mapping[str, object]) -> str:
        """The text that an event of ours fetches; none when there is nothing, or something is wrong."""
        happening = await self.met(host, payload)
        if happening is None:
            return ""
        try:
            return self._acted(happening).delivery.text
        except TidingsError as error:
            self.warn(host, str(error))
            return ""

    async def met(self, host: Host, payload: Mapping[str, object]) -> Happening | None:
        """What a payload says, in a session that is registered; None when that cannot be."""
        happening = TONGUES[host].read(payload)
        for each in (happening.message,) if isinstance(happening, Odd) else happening.odd:
            self.warn(host, each)
        if isinstance(happening, Odd):
            return None
        try:
            self.hub.sweep()
            name = self.name_of(happening)
            await self._register(name, happening)
            await self._teller.open(name)
        except TidingsError as error:
            self.warn(host, str(error))
            return None
        return happening

    def name_of(self, happening: Happening) -> str:
        """The id of its session at the hub."""
        return scoped(happening.host, happening.session_id)

    def _acted(self, happening: Happening) -> Decision:
        """Decide about an event, write what was decided, and tell it."""
        name = self.name_of(happening)
        self.hub.present(name)
        decision = decide(self.situation(name, happening))
        self.hub.store.commit(decision.written)
        self._remember(name, decision.pulse)
        self._teller.tell(name, decision, self.hub.now_ms(), happening.agent_id)
        return decision

    async def _followed(self, happening: Happening) -> None:
        """What an event means beside its answer."""
        name, event = self.name_of(happening), happening.event
        if happening.agent_id is None:
            self.waking.heard(name, event)
        session, places = self.hub.board.sessions.get(name), self.hub.workspaces
        if happening.wrote and session is not None and session.workspace is not None:
            self._wrote.note(name, session.workspace, happening.wrote)
            if places is not None:
                places.wrote(session, happening.wrote)
        if event.seam in LAST and REACH[happening.host].seen.how == "yes" and happening.transcript:
            asyncio.get_running_loop().call_soon(self._look, name, happening.transcript, LOOK_AGAIN)
        if event.phase == "ends":
            self._hooked.discard(name)
            self._pulses.pop(name, None)
            self._wrote.forget(name)
            self._teller.close(name)
            await self.hub.unregister(shapes.Who(session_id=name))

    def _look(self, name: str, path: str, again: Sequence[float]) -> None:
        """Find out, after the hook has its answer, whether the host's file holds what was offered."""
        session = self.hub.board.hosted.get(name)
        if session is None or not (unsure := session.unsure()):
            return
        text = tail(path, SEEN_TAIL)
        if names := found(unsure, text or b""):
            self._written([Record(SEEN, {"session_id": name, "reminder_ids": names})])
        if again and len(names) < len(unsure):
            asyncio.get_running_loop().call_later(again[0], self._look, name, path, again[1:])

    def has_hooks(self, name: str) -> bool:
        """Whether hooks of a session were heard, which tell it what waits while it works."""
        self._hooked &= self.hub.board.sessions.keys()
        return name in self._hooked

    def has_pulse(self, name: str) -> bool:
        """Whether it is known if a session works or rests."""
        return name in self._pulses

    def rested(self, name: str) -> None:
        """A session has come to rest, unless it is being continued."""
        pulse = self._pulses.get(name, Pulse())
        if not pulse.continued:
            self._remember(name, replace(pulse, asking=False))

    def situation(self, name: str, happening: Happening) -> Situation:
        """An event, and all that bears on it."""
        session = self.hub.board.hosted.get(name) or Hosted(session_id=name)
        pulse, now = self._pulses.get(name, Pulse()), self.hub.now_ms()
        return Situation(
            session=session,
            happening=happening,
            reach=REACH[happening.host],
            waiting=self._wrote.others(name, waiting(self.hub.board.box(name), name)),
            pulse=pulse,
            now_ms=now,
            moved_on=_moved_on(session, happening, now - pulse.declined_ms),
        )

    def _remember(self, name: str, pulse: Pulse) -> None:
        self._pulses[name] = pulse
        self._pulses.move_to_end(name)
        while len(self._pulses) > PULSES:
            self._pulses.popitem(last=False)

    async def _register(self, name: str, happening: Happening) -> None:
        """Make the session known, or its new place when it starts anew."""
        known = self.hub.board.sessions.get(name)
        started = happening.event.phase == "starts"
        if known is not None and not (started and known.workspace != _real(happening.workspace)):
            return
        reach = REACH[happening.host]
        await self.hub.register(
            shapes.Register(
                session_id=name,
                agent=happening.host,
                workspace=happening.workspace,
                tags=[happening.host],
                capabilities={
                    "host": happening.host,
                    "delivery": reach.durability,
                    "patienceSeconds": PATIENCE_SECONDS,
                    "reach": reach.abilities(),
                },
            )
        )

    def standing(self, name: str, chosen: Selector) -> list[Reminder]:
        """What stands before the model of a session and matches."""
        session = self.hub.board.hosted.get(name) or Hosted(session_id=name)
        return [one.reminder for one in session.standing.values() if chosen.matches(one.reminder)]

    def clear(self, name: str, chosen: Selector) -> tuple[int, bool]:
        """Let go of what stands and matches; gives how many, and whether the host un-shows them.

        Raises:
            LogUnavailableError: nothing has changed.
        """
        gone = self.standing(name, chosen)
        if gone:
            about: Payload = {"session_id": name, "reminder_ids": [each.id for each in gone]}
            self.hub.store.commit([Record(CLEARED, about)])
            told = tuple(records.expired(each, "cleared") for each in gone)
            decision = Decision(session=self.hub.board.hosted[name], pulse=Pulse(), told=told)
            self._teller.tell(name, decision, self.hub.now_ms(), None)
        host = self.hub.board.sessions[name].capabilities.get("host")
        return len(gone), host in REACH and REACH[host].un_showing.how == "yes"

    def warn(self, host: Host, message: str) -> None:
        """Keep a warning, once."""
        if (host, message) in self._warned:
            return
        self._warned[host, message] = None
        while len(self._warned) > WARNED:
            self._warned.popitem(last=False)
        self._written([Record(WARNING, {"host": host, "message": message})])

    def _written(self, written: Sequence[Record]) -> None:
        """Write what nobody waits for."""
        try:
            self.hub.store.commit(written)
        except TidingsError as error:
            _logger.warning("hub: %s could not be written: %s", written[0].kind, error)


def _real(path: str | None) -> str | None:
    return None if path is None else os.path.realpath(path)


def _moved_on(session: Hosted, happening: Happening, since_ms: int) -> bool:
    """Whether a request followed the calls that were declined, for hosts that do not say so."""
    look = TONGUES[happening.host].moved_on
    if look is None or not session.declined or not happening.event.declines:
        return False
    text = None if happening.transcript is None else tail(happening.transcript)
    return since_ms > HELD_MS if text is None else look(text, session.declined, happening.calls)


def tail(path: str, most: int = TAIL) -> bytes | None:
    """The end of a regular file; None when it cannot be read."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        about = os.fstat(handle)
        if not stat.S_ISREG(about.st_mode):
            return None
        return os.pread(handle, most, max(0, about.st_size - most))
    except OSError:
        return None
    finally:
        os.close(handle)
