"""What can be asked of the hub: one table for the HTTP API, the socket and the OpenAPI document.

`operate` reads the request with the table's type, asks the hub, and gives plain JSON values; whatever is
wrong becomes an `RpcError`, as the bridge gives it, with the HARN code in `data` (decision 34).
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Literal, TypeAlias

import msgspec

from tidings.bridge.handle import refusal
from tidings.bridge.params import as_sent
from tidings.bridge.rpc import INTERNAL_ERROR, SERVER_BUSY, UNKNOWN_SESSION, RpcError
from tidings.core.reminder import Payload
from tidings.errors import DiagnosticError, LogError, TidingsError
from tidings.hub import shapes
from tidings.hub.failure import HubFullError, UnknownSessionError
from tidings.hub.rows import read_as
from tidings.hub.service import Hub

Answer: TypeAlias = msgspec.Struct | Awaitable[msgspec.Struct]

VERSION = "v1"
PREFIX = f"/{VERSION}"


class Operation(msgspec.Struct, frozen=True, kw_only=True):
    """One thing to ask: its names, its types, and what the hub does."""

    name: str
    verb: Literal["GET", "POST"]
    path: str
    asked: type[msgspec.Struct]
    answered: type[msgspec.Struct]
    run: Callable[[Hub, Any], Answer]
    raw: bool = False

    @property
    def method(self) -> str:
        """Its name on the socket."""
        return f"hub/{self.name}"

    @property
    def summary(self) -> str:
        """What it does, in a sentence."""
        return (inspect.getdoc(self.run) or "").partition("\n")[0]


def _asked(
    name: str,
    verb: Literal["GET", "POST"],
    path: str,
    types: tuple[type[msgspec.Struct], type[msgspec.Struct]],
    run: Callable[[Hub, Any], Answer],
    raw: bool = False,
) -> Operation:
    asked, answered = types
    return Operation(
        name=name, verb=verb, path=PREFIX + path, asked=asked, answered=answered, run=run, raw=raw
    )


def _sessions(hub: Hub, _: shapes.Nothing) -> Answer:
    """List the registered sessions."""
    return hub.sessions()


def _status(hub: Hub, _: shapes.Nothing) -> Answer:
    """Tell how many sessions and reminders there are."""
    return hub.status()


OPERATIONS: tuple[Operation, ...] = (
    _asked("remind", "POST", "/reminders", (shapes.Remind, shapes.Reminded), Hub.remind, raw=True),
    _asked("pending", "GET", "/reminders", (shapes.Pending, shapes.PendingAnswer), Hub.pending),
    _asked("revoke", "POST", "/reminders/revoke", (shapes.Revoke, shapes.RevokeAnswer), Hub.revoke),
    _asked("clear", "POST", "/reminders/clear", (shapes.Clear, shapes.ClearAnswer), Hub.clear),
    _asked("sessions", "GET", "/sessions", (shapes.Nothing, shapes.SessionsAnswer), _sessions),
    _asked("register", "POST", "/sessions", (shapes.Register, shapes.RegisterAnswer), Hub.register),
    _asked("heartbeat", "POST", "/sessions/heartbeat", (shapes.Who, shapes.Known), Hub.heartbeat),
    _asked("unregister", "POST", "/sessions/unregister", (shapes.Who, shapes.Known), Hub.unregister),
    _asked("lease", "POST", "/leases", (shapes.Lease, shapes.LeaseAnswer), Hub.lease),
    _asked(
        "acknowledge",
        "POST",
        "/leases/acknowledge",
        (shapes.Acknowledge, shapes.AcknowledgeAnswer),
        Hub.acknowledge,
    ),
    _asked("status", "GET", "/status", (shapes.Nothing, shapes.StatusAnswer), _status),
)

BY_METHOD: dict[str, Operation] = {operation.method: operation for operation in OPERATIONS}


async def operate(
    hub: Hub, operation: Operation, params: Mapping[str, object], *, strict: bool = True
) -> Payload:
    """The answer to a request, as plain values.

    Raises:
        RpcError: it cannot be done; code, message and data say why.
    """
    try:
        asked = params if operation.raw else read_as(operation.asked, params, strict=strict)
        answer = operation.run(hub, asked)
        if inspect.isawaitable(answer):
            answer = await answer
    except DiagnosticError as error:
        raise refusal(as_sent(error, operation.method, params)) from error
    except TidingsError as error:
        raise refused(error) from error
    result: Payload = msgspec.to_builtins(answer)
    return result


def refused(error: TidingsError) -> RpcError:
    """`error` as a caller is told it."""
    if isinstance(error, HubFullError):
        return RpcError(SERVER_BUSY, str(error), {"reason": "hub_full"})
    if isinstance(error, UnknownSessionError):
        return RpcError(UNKNOWN_SESSION, str(error), {"sessionId": error.session_id})
    if isinstance(error, LogError):
        return RpcError(INTERNAL_ERROR, str(error), {"reason": "log_unavailable"})
    return refusal(error)
