"""What stands on the wire, captured: real calls to a real session, a real run. For wire.md.

Every line is written and read by the code that serves hosts; only the ids are chosen, so that a page stays
as it is. `→` goes to the agent, `←` comes back.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import cache

import msgspec

from docs.parts.markdown import code, fenced, table
from tidings.acp.capabilities import FULL, advertised, client_advertised
from tidings.acp.proxy.telling import Outbox
from tidings.agent.loop import agent_loop
from tidings.agent.models.scripted import ScriptedModel
from tidings.agent.session import Session
from tidings.bridge import rpc
from tidings.bridge.handle import Target, answer
from tidings.bridge.methods import METHODS, OPERATIONS, Operation
from tidings.bridge.rpc import Call, RpcError
from tidings.bridge.shapes import REQUESTS, RESPONSES, SessionInjectReminderEnvelope
from tidings.bridge.updates import PHASES, SOURCES, update_of
from tidings.core.records import LIFECYCLE_TOPIC
from tidings.core.reminder import Payload, Reminder, read_payload
from tidings.log.memory import MemoryLog

SESSION = "s1"
RED: Payload = {"body": "The build is red: 2 tests fail.", "dedupeKey": "build", "ttlTurns": 1}
GREEN: Payload = {"body": "The build is green again.", "dedupeKey": "build", "ttlTurns": 1}
CHUNK: Payload = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "Done."}}


class Desk:
    """One session, and the notifications that it refused."""

    def __init__(self, session: Session | None = None) -> None:
        self.session = session or Session(SESSION)
        self.refused: list[str] = []

    def find(self, session_id: str, /) -> Target | None:
        """The session, if it is meant."""
        return self.session if session_id == SESSION else None

    def only(self) -> Target | None:
        """The session."""
        return self.session

    def rejected(self, _session_id: str | None, method: str, error: RpcError, /) -> None:
        """Written down."""
        self.refused.append(f"{method}: {error}")

    def lines(self, line: bytes) -> list[str]:
        """A line, and what is sent back."""
        call = rpc.read(line)
        assert isinstance(call, Call)
        try:
            result = answer(call, self)
        except RpcError as error:
            return [_shown("→", line), _shown("←", rpc.error_line(call.id, error))]
        back = [_shown("←", rpc.result_line(call.id, result))] if call.wants_reply else []
        return [_shown("→", line), *back]


def _shown(arrow: str, line: bytes) -> str:
    return f"{arrow} {line.decode().rstrip()}"


def _exchange(desk: Desk, *calls: tuple[str, Payload]) -> str:
    """Requests, numbered, with their answers."""
    lines = [
        desk.lines(rpc.call_line(name, params, number)) for number, (name, params) in enumerate(calls, 1)
    ]
    return fenced("\n".join(line for pair in lines for line in pair), "text")


def inject() -> str:
    """A reminder, and a newer one with its key."""
    first: Payload = {"sessionId": SESSION, **RED, "id": "build-1"}
    second: Payload = {"sessionId": SESSION, **GREEN, "id": "build-2", "mode": "interrupt_immediate"}
    return _exchange(Desk(), ("session/inject_reminder", first), ("session/inject_reminder", second))


def older() -> str:
    """The older name and spelling, as a notification; then one that is refused."""
    desk = Desk()
    right: Payload = {"body": "src/lib.rs changed.", "dedupe_key": "src/lib.rs", "ttl_turns": 2}
    lines = [desk.lines(rpc.call_line("session/remind", params)) for params in (right, {"content": "x"})]
    told = [f"# written down: {text}" for text in desk.refused]
    return fenced("\n".join([*(line for pair in lines for line in pair), *told]), "text")


def queue() -> str:
    """What waits, taking one back, clearing."""
    named: Payload = {"sessionId": SESSION}
    return _exchange(
        Desk(),
        ("session/inject_reminder", {**named, **RED, "id": "build-1", "tags": ["build"]}),
        ("session/inject", {**named, "content": "Also update the docs.", "messageId": "m-1"}),
        ("session/pending_injections", named),
        ("session/revoke_reminder", {**named, "reminderId": "build-1"}),
        ("session/revoke_reminder", {**named, "reminderId": "build-1"}),
        ("session/clear_reminders", {**named, "tag": "build"}),
    )


def refusals() -> str:
    """What is wrong, told so that a program can read it."""
    session = Session(SESSION)
    session.remind({**RED_OPTIONS, "id": "build-1"})
    with session.step():
        session.drain("iteration_start")
    return _exchange(
        Desk(session),
        ("session/inject_reminder", {"sessionId": SESSION, "body": " ", "propagate": "children", "ttl": 3}),
        ("session/inject_reminder", {"sessionId": "s2", **RED}),
        ("session/revoke_reminder", {"sessionId": SESSION, "reminderId": "build-1"}),
        ("session/revoke_reminder", {"sessionId": SESSION, "reminderId": "build-7"}),
        ("session/replace_reminder", {"sessionId": SESSION}),
    )


RED_OPTIONS: Payload = {"body": RED["body"], "dedupe_key": "build", "ttl_turns": 1}
GREEN_OPTIONS: Payload = {"body": GREEN["body"], "dedupe_key": "build", "ttl_turns": 1}


@cache
def _told() -> tuple[Payload, ...]:
    """The updates of a run in which one reminder replaced another, was shown, and left."""
    log = MemoryLog()
    session = Session(SESSION, log=log)
    session.remind({**RED_OPTIONS, "id": "build-1"})
    session.remind({**GREEN_OPTIONS, "id": "build-2"})
    asyncio.run(agent_loop("Finish the change.", model=ScriptedModel(["Done."]), session=session))
    known = _reminders(log, session)
    records = log.read(LIFECYCLE_TOPIC)
    found = [update_of(record.kind, record.payload, known.get) for record in records]
    return tuple(update for update in found if update is not None)


def _reminders(log: MemoryLog, session: Session) -> dict[str, Reminder]:
    """The reminders that were let in, by id: the lifecycle's records carry no bodies."""
    found: dict[str, Reminder] = {}
    for record in log.read(f"session.{session.id}.transcript"):
        event = record.payload.get("event")
        reminder = read_payload(event.get("reminder")) if isinstance(event, dict) else None
        if reminder is not None:
            found[reminder.id] = reminder
    return found


def updates() -> str:
    """The three updates, for a client that asked for them."""
    lines = [rpc.call_line("session/update", {"sessionId": SESSION, "update": one}) for one in _told()]
    return fenced("\n".join(_shown("←", line) for line in lines), "text")


def carried() -> str:
    """The same inside an ordinary update, for a client that did not."""
    outbox = Outbox(SESSION)
    for update in _told():
        outbox.add(update)
    laden = outbox.onto(dict(CHUNK))
    return fenced(
        _shown("←", rpc.call_line("session/update", {"sessionId": SESSION, "update": laden})), "text"
    )


def initialize() -> str:
    """Both sides of the handshake."""
    asked: Payload = {"protocolVersion": 1, "clientCapabilities": client_advertised({})}
    told: Payload = {"protocolVersion": 1, "agentCapabilities": advertised({"loadSession": True}, FULL)}
    lines = (_shown("→", rpc.call_line("initialize", asked, 0)), _shown("←", rpc.result_line(0, told)))
    return fenced("\n".join(lines), "text")


def methods() -> str:
    """Every method: its names, what it takes and gives."""
    rows = [_method(operation) for operation in OPERATIONS]
    return table(("method", "also read as", "takes", "gives"), rows)


def _method(operation: Operation) -> tuple[str, ...]:
    first, *others = [name for name, does in METHODS.items() if does == operation]
    takes = REQUESTS[operation]
    injecting = takes is SessionInjectReminderEnvelope
    names = ["a [reminder](reminder.md#fields)"] if injecting else []
    return (
        f"`{first}`",
        code(others),
        ", ".join([*names, code(_members(takes))]),
        code(_members(RESPONSES[operation])),
    )


def _members(kind: type[msgspec.Struct]) -> Sequence[str]:
    return [field.encode_name for field in msgspec.structs.fields(kind)]


def errors() -> str:
    """The error codes."""
    rows = [(f"`{number}`", WHY[name]) for name, number in _codes()]
    return table(("code", "when"), rows)


def _codes() -> list[tuple[str, int]]:
    found = [(n, v) for n, v in vars(rpc).items() if n.isupper() and isinstance(v, int) and v < 0]
    return sorted(found, key=lambda pair: pair[1])


WHY: dict[str, str] = {
    "PARSE_ERROR": "the line is not JSON",
    "INVALID_REQUEST": "the JSON is no message, or the line is too long",
    "METHOD_NOT_FOUND": "unknown method",
    "INVALID_PARAMS": "wrong parameters; `data` has the diagnostic code and every problem, or a `reason`",
    "INTERNAL_ERROR": "a failure of the agent itself, such as a log that cannot be written",
    "SERVER_BUSY": "the mailbox is full; `data.reason` is `mailbox_full`",
    "UNKNOWN_SESSION": "unknown session; `data.sessionId` is the id that was sent",
    "CANCELLED": "the request was cancelled",
}


def sources() -> str:
    """What a source of the transcript is called in an update."""
    return table(
        ("`source` of a reminder", "`source` of an update"),
        [(f"`{a}`", f"`{b}`") for a, b in SOURCES.items()],
    )


def phases() -> str:
    """What a reason of the log is called in an update."""
    return table(
        ("`reason` in the log", "`phase` of an update"), [(f"`{a}`", f"`{b}`") for a, b in PHASES.items()]
    )
