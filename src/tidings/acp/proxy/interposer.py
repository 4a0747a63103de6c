"""What the interposer does with each line that matters: lines in, lines out, no I/O.

From the editor it takes the reminder methods for itself and adds waiting reminders to prompts. From the
agent it reads the answers that end a prompt, hides what it added from replayed history, and tells the
editor what became of reminders. It advertises what it really does, and steps aside for an agent that takes
reminders itself. `run` and `chain` feed it; a returned line goes on in the direction it came from.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from msgspec import UNSET

from tidings.acp.proxy import handshake, lowering, replay
from tidings.acp.proxy.message import Head, Id, head_of, line_of, members, text, value
from tidings.acp.proxy.places import Place, Places, Running
from tidings.acp.proxy.prompt import blocks_of, is_command, with_block
from tidings.acp.proxy.steering import Steering
from tidings.bridge import rpc
from tidings.bridge.handle import answer
from tidings.bridge.methods import METHODS
from tidings.core.reminder import Payload

if TYPE_CHECKING:
    from tidings.acp.capabilities import Capabilities
    from tidings.acp.proxy.requests import Requests
    from tidings.log.port import EventLog

AWAITED = 10_000
"""How many unanswered requests of the editor are remembered; more are only passed on."""

EDITOR = "the editor"
_OPENS = ("session/new", "session/fork", "session/load", "session/resume")
_NAMED_BY_AGENT = ("session/new", "session/fork")

_CLOSES = ("session/close", "session/delete")


def concerns_us(line: bytes) -> bool:
    """Whether an update may hold words of ours, or a compaction."""
    return b"system-reminder" in line or b"compaction_" in line or b"\\u00" in line


def mending(look: Callable[[bytes], bytes], line: bytes) -> bytes:
    """What `look` gives for a line that can be read once it is mended; the line itself if it is left."""
    better = rpc.mended(line)
    if better == line or head_of(better) is None:
        return line
    given = look(better)
    return line if given == better else given


class Awaited:
    """A request of the editor that the agent has not answered yet."""

    def __init__(self, method: str, session_id: str | None, cwd: str | None = None) -> None:
        self.method = method
        self.session_id = session_id
        self.cwd = cwd


class Interposer:
    """The state of one connection. `put_editor` takes lines of our own; `requests` asks the agent."""

    def __init__(
        self,
        put_editor: Callable[[bytes], None],
        requests: Requests,
        *,
        log: EventLog | None = None,
        rfc: bool = True,
        report: Callable[[str], None] = lambda _: None,
        changed: Callable[[], None] = lambda: None,
    ) -> None:
        self._put_editor = put_editor
        self._rfc = rfc
        self.requests = requests
        self.places = Places(log, report, changed)
        self.steering = Steering(requests, self.news)
        self.told = handshake.Told()
        self.awaiting: dict[Id, Awaited] = {}
        self.native: Capabilities | None = None

    @property
    def aside(self) -> bool:
        """Whether the agent takes reminders itself, so that all is passed on as it is."""
        return self.native is not None

    def wants_ride(self) -> bool:
        """Whether events wait for an update of the agent's that can carry them."""
        return not self.told.takes_updates and any(place.outbox for place in self.places.served())

    def from_editor(self, line: bytes) -> bytes:
        """What goes to the agent for a line of the editor."""
        head = head_of(line)
        if head is None:
            return mending(self.from_editor, line)
        if not isinstance(head.method, str) or (head.has_id and head.key in self.awaiting):
            return line
        if METHODS.get(head.method, "inject") != "inject" and not self.aside:
            self._claim(head, line)
            return b""
        if head.method == "initialize":
            line = self._initializing(head, line)
        elif head.method == "session/prompt":
            line = self._prompting(head, line)
        if head.has_id and len(self.awaiting) < AWAITED:
            params = members(head.params)
            self.awaiting[head.key] = Awaited(head.method, text(params, "sessionId"), text(params, "cwd"))
        return line

    def _initializing(self, head: Head, line: bytes) -> bytes:
        params, message = members(head.params), members(line)
        if params is None or message is None:
            return line
        self.told = handshake.client(value(params.get("clientCapabilities")))
        changed = handshake.with_compaction(params, self.told)
        return line if changed is None else line_of({**message, "params": changed})

    def _claim(self, head: Head, line: bytes) -> None:
        read = rpc.read(line)
        if isinstance(read, rpc.Call):
            self._reply(read, self.ask(read, EDITOR))
        elif isinstance(read, rpc.Malformed) and not head.has_id:
            self.places.rejected(None, str(head.method), read.error)
        elif isinstance(read, rpc.Malformed):
            self._put_editor(rpc.error_line(read.id, read.error))

    def _reply(self, call: rpc.Call, result: Payload | rpc.RpcError | None) -> None:
        if isinstance(result, rpc.RpcError):
            self._put_editor(rpc.error_line(call.id, result))
        elif result is not None:
            self._put_editor(rpc.result_line(call.id, result))
        self.news()

    def ask(self, call: rpc.Call, origin: str) -> Payload | rpc.RpcError | None:
        """Do what a call about reminders asks: its result, its refusal, or None when no reply is wanted."""
        try:
            return answer(call, self.places, origin)
        except rpc.RpcError as error:
            return error

    def news(self) -> None:
        """Reminders came or went: tell the editor, and interrupt where that is wanted and possible."""
        self._put_editor(self._updates())
        for place in self.places.served():
            self.steering.try_on(place)

    def _updates(self) -> bytes:
        if not self.told.takes_updates:
            return b""
        return b"".join([place.outbox.as_updates() for place in self.places.served() if place.outbox])

    def _prompting(self, head: Head, line: bytes) -> bytes:
        params, message = members(head.params), members(line)
        session_id = text(params, "sessionId")
        if self.aside or params is None or message is None or session_id is None:
            return line
        if not head.has_id:
            return line
        place = self.places.learn(session_id)
        blocks = blocks_of(params)
        running = Running(place.next_turn)
        if place.desk is not None and blocks is not None and not is_command(blocks):
            running.sent = place.desk.outgoing(running.turn, place.limit)
        place.running[head.key] = running
        self._put_editor(self._updates())
        if running.sent is None or blocks is None:
            return line
        return line_of({**message, "params": with_block(params, blocks, running.sent.to_block())})

    def from_agent(self, line: bytes) -> bytes:
        """What goes to the editor for a line of the agent."""
        head = head_of(line)
        if head is None:
            return mending(self.from_agent, line)
        if head.method == "session/update":
            return self._updated(head, line) if self.wants_ride() or concerns_us(line) else line
        if head.method is not UNSET or not head.has_id:
            return line
        if self.requests.is_ours(head.key):
            self.requests.answered(head)
            return self._updates()
        awaited = self.awaiting.pop(head.key, None)
        return line if awaited is None else self._answered(awaited, head, line)

    def _updated(self, head: Head, line: bytes) -> bytes:
        params = members(head.params) or {}
        update = members(params.get("update"))
        place = self.places.place(text(params, "sessionId") or "")
        if update is None:
            return line
        kind = text(update, "sessionUpdate") or ""
        if kind.startswith("compaction_"):
            if place is not None and place.desk is not None and text(update, "status") == "completed":
                place.desk.compacted()
            if not self.told.takes_compaction:
                return self._updates()
        if self.aside:
            return line
        changed = replay.cleaned_update(update)
        if changed is None:
            return b""
        if place is not None and not self.told.takes_updates:
            changed = place.outbox.onto(changed)
        if changed is update:
            return self._updates() + line
        return self._updates() + line_of({**(members(line) or {}), "params": {**params, "update": changed}})

    def _answered(self, awaited: Awaited, head: Head, line: bytes) -> bytes:
        if awaited.method == "session/prompt":
            return self._prompted(awaited, head, line)
        result = members(head.result)
        if result is None:
            return line
        if awaited.method == "initialize":
            return self._initialized(result, line)
        if awaited.method in _OPENS:
            named = awaited.method in _NAMED_BY_AGENT
            session_id = text(result, "sessionId") if named else awaited.session_id
            if session_id is not None:
                self.places.learn(session_id, fresh=awaited.method == "session/new", cwd=awaited.cwd)
        elif awaited.method in _CLOSES and awaited.session_id is not None:
            self.places.forget(awaited.session_id)
        elif awaited.method == "session/list" and not self.aside:
            changed = replay.cleaned_list(result)
            return line if changed is result else line_of({**(members(line) or {}), "result": changed})
        return line

    def _initialized(self, result: dict[str, object], line: bytes) -> bytes:
        self.native = handshake.native(result)
        if self.aside:
            return line
        self.steering.supported = handshake.steers(result)
        self.places.modes = lowering.STEERED_MODES if self.steering.supported else lowering.MODES
        changed = handshake.decorated(result, self.places.modes, rfc=self._rfc)
        return line_of({**(members(line) or {}), "result": changed})

    def _prompted(self, awaited: Awaited, head: Head, line: bytes) -> bytes:
        place = self.places.place(awaited.session_id or "")
        running = None if place is None else place.running.pop(head.key, None)
        if place is None or running is None:
            return line
        if head.error is not UNSET:
            self._failed(place, running)
            return self._updates() + line
        place.answered(running)
        result = members(head.result)
        if self.told.takes_updates or result is None:
            return self._updates() + line
        changed = place.outbox.onto(result)
        return line if changed is result else line_of({**(members(line) or {}), "result": changed})

    def _failed(self, place: Place, running: Running) -> None:
        if place.desk is not None:
            place.desk.returned(running.sent)
        elif not place.confirmed and not place.running:
            self.places.forget(place.id)

    def agent_gone(self, reason: str) -> bytes:
        """What the editor is told when the agent ended: an error for every request it still waits for."""
        for place in self.places.served():
            for running in place.running.values():
                self._failed(place, running)
            place.running.clear()
        error = rpc.RpcError(rpc.INTERNAL_ERROR, reason)
        lines = [rpc.error_line(awaited, error) for awaited in self.awaiting]
        self.awaiting.clear()
        return b"".join(lines)
