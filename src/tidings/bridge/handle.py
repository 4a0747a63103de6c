"""Doing what a host's call about reminders asks, and saying why not. One way in for every protocol.

`Session` is a `Target`; so is what the interposer keeps for an agent that has none. Errors carry the HARN
code and every problem in `data` (decision 34); a notification has no reply, so its refusal is handed
to `Sessions.rejected`, which writes it down (decision 30).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, assert_never

import msgspec

from tidings.bridge import params as read
from tidings.bridge.methods import METHODS, Operation
from tidings.bridge.rpc import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    SERVER_BUSY,
    UNKNOWN_SESSION,
    Call,
    RpcError,
)
from tidings.core.mailbox import MailboxFullError, RevokeError
from tidings.core.producers import shown
from tidings.core.reminder import Payload
from tidings.core.seams import read_mode
from tidings.errors import CallerError, DiagnosticError, DuplicateReminderError, TidingsError


class Accepted(Protocol):
    """A reminder was accepted."""

    @property
    def reminder_id(self) -> str:
        """Its id."""
        ...

    @property
    def deduped_count(self) -> int:
        """How many queued or pending ones it will replace."""
        ...


class Target(Protocol):
    """What takes reminders: a session of the loop, or the interposer's stand-in for one."""

    def remind(
        self, options: Mapping[str, object], /, *, mode: str | None = None, origin: str | None = None
    ) -> Accepted:
        """Accept a reminder."""
        ...

    def inject(self, content: object, *, mode: str | None = None, id: str | None = None) -> str:
        """Accept a user's words; gives the message id."""
        ...

    def pending_injections(self) -> Payload:
        """What waits."""
        ...

    def revoke_reminder(self, reminder_id: str) -> Payload:
        """Take one back."""
        ...

    def clear(self, selector: Mapping[str, object], /) -> int:
        """Remove matching ones; gives how many."""
        ...


class Sessions(Protocol):
    """The sessions that a connection serves."""

    def find(self, session_id: str) -> Target | None:
        """The session of this id."""
        ...

    def only(self) -> Target | None:
        """The session that is meant when none is named: the only one there is."""
        ...

    def rejected(self, session_id: str | None, method: str, error: RpcError) -> None:
        """Write down that a notification was refused."""
        ...


def answer(call: Call, sessions: Sessions, origin: str | None = None) -> Payload | None:
    """Do what `call` asks; gives the result, or None when no reply is wanted.

    Raises:
        RpcError: a request that cannot be done. A refused notification raises nothing.
    """
    try:
        return _done(call, sessions, origin)
    except RpcError as error:
        if call.wants_reply:
            raise
        sessions.rejected(named(call), call.method, error)
        return None


def _done(call: Call, sessions: Sessions, origin: str | None) -> Payload | None:
    operation = METHODS.get(call.method)
    if operation is None:
        raise RpcError(METHOD_NOT_FOUND, f"unknown method {shown(call.method)}")
    try:
        target = _target(call, sessions)
        result = _operate(operation, target, call, origin)
    except DiagnosticError as error:
        raise refusal(read.as_sent(error, call.method, call.params)) from error
    except TidingsError as error:
        raise refusal(error) from error
    return result if call.wants_reply else None


def _target(call: Call, sessions: Sessions) -> Target:
    named = read.session_id_of(call.params)
    if named is None:
        only = sessions.only()
        if only is None:
            raise RpcError(INVALID_PARAMS, "`sessionId` is missing, and there is not exactly one session")
        return only
    found = sessions.find(named)
    if found is None:
        raise RpcError(UNKNOWN_SESSION, f"unknown session {shown(named)}", {"sessionId": named})
    return found


def named(call: Call) -> str | None:
    """The session that a call names, if it names one that can be read."""
    try:
        return read.session_id_of(call.params)
    except RpcError:
        return None


def _mode(value: object, context: str) -> str | None:
    """The mode as it was given; only text can be one."""
    return value if value is None or isinstance(value, str) else read_mode(value, context)[0]


def _operate(operation: Operation, target: Target, call: Call, origin: str | None) -> Payload:
    params = call.params
    match operation:
        case "inject_reminder":
            options, mode = read.reminder_of(params, call.method)
            accepted = target.remind(options, mode=_mode(mode, call.method), origin=origin)
            return {"reminderId": accepted.reminder_id, "dedupedCount": accepted.deduped_count}
        case "inject":
            words, chosen = read.words_of(params), read.message_id_of(params)
            mode = _mode(params.get("mode"), call.method)
            return {"messageId": target.inject(words, mode=mode, id=chosen)}
        case "pending_injections":
            return target.pending_injections()
        case "revoke_reminder":
            return target.revoke_reminder(read.reminder_id_of(params))
        case "clear_reminders":
            return {"removedCount": target.clear(read.selector_of(params))}
    assert_never(operation)


def refusal(error: TidingsError) -> RpcError:
    """`error` as a peer is told it (decision 34)."""
    if isinstance(error, RpcError):
        return error
    if isinstance(error, DiagnosticError):
        problems = [msgspec.structs.asdict(problem) for problem in error.problems]
        return RpcError(INVALID_PARAMS, str(error), {"code": error.code, "problems": problems})
    if isinstance(error, RevokeError):
        data: Payload = {"reason": error.reason, "reminderId": error.reminder_id}
        return RpcError(INVALID_PARAMS, str(error), data)
    if isinstance(error, DuplicateReminderError):
        told: Payload = {"reason": "duplicate_id", "reminderId": error.reminder_id}
        return RpcError(INVALID_PARAMS, str(error), told)
    if isinstance(error, MailboxFullError):
        return RpcError(SERVER_BUSY, str(error), {"reason": "mailbox_full"})
    return RpcError(INVALID_PARAMS if isinstance(error, CallerError) else INTERNAL_ERROR, str(error))
