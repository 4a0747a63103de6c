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
from tidings.bridge.rpc import INTERNAL_ERROR, INVALID_PARAMS, SERVER_BUSY, UNKNOWN_SESSION, RpcError
from tidings.core.reminder import Payload
from tidings.errors import DiagnosticError, LogError, TidingsError
from tidings.hub import consents, purging, shapes, withdrawing
from tidings.hub.failure import HubFullError, NotThereError, UnknownSessionError
from tidings.hub.rows import read_as
from tidings.hub.service import Hub
from tidings.hub.takeback import DeliveredError
from tidings.hub.workspace import answering
from tidings.hub.workspace import shapes as places

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


async def _tell(hub: Hub, asked: shapes.Tell) -> shapes.TellAnswer:
    """Keep what a session tells of itself."""
    hub.sweep()
    hub.present(asked.session_id)
    session = hub.board.sessions.get(asked.session_id)
    if session is not None and hub.workspaces is not None:
        hub.workspaces.heard(session, asked.records)
    return await hub.told.tell(asked)


def _told(hub: Hub, asked: shapes.Told) -> Answer:
    """List what a session told of itself."""
    if not hub.knows(asked.session_id):
        raise UnknownSessionError(asked.session_id)
    return hub.told.read(asked)


async def _drain(hub: Hub, asked: shapes.Drain) -> shapes.DrainAnswer:
    """Answer a hook call of a coding agent with what waits for its session."""
    return await hub.hosting.drain(asked)


async def _grants(hub: Hub, _: shapes.Nothing) -> consents.GrantsAnswer:
    """List which conversation servers may see what."""
    return await hub.consents.grants()


async def _revoke_grant(hub: Hub, asked: consents.RevokeGrant) -> consents.GrantsAnswer:
    """Take a server's consent back, at once."""
    return await hub.consents.revoke(asked)


async def _ledger(hub: Hub, asked: consents.Ledger) -> consents.LedgerAnswer:
    """List what conversation servers were sent."""
    return await hub.consents.ledger(asked)


async def _wake(hub: Hub, asked: shapes.Wake) -> shapes.WakeAnswer:
    """Wait until an idle session of a coding agent should be woken."""
    return await hub.hosting.waking.wake(asked)


def _reload_hosts(hub: Hub, _: shapes.Nothing) -> Answer:
    """Look again at which hosts the hub speaks to by itself."""
    hub.hosting.reload.set()
    return shapes.Nothing()


def _status(hub: Hub, _: shapes.Nothing) -> Answer:
    """Tell how many sessions and reminders there are."""
    return hub.status()


OPERATIONS: tuple[Operation, ...] = (
    _asked("remind", "POST", "/reminders", (shapes.Remind, shapes.Reminded), Hub.remind, raw=True),
    _asked("pending", "GET", "/reminders", (shapes.Pending, shapes.PendingAnswer), Hub.pending),
    _asked("revoke", "POST", "/reminders/revoke", (shapes.Revoke, shapes.RevokeAnswer), Hub.revoke),
    _asked("clear", "POST", "/reminders/clear", (shapes.Clear, shapes.ClearAnswer), Hub.clear),
    _asked("sessions", "GET", "/sessions", (shapes.Sessions, shapes.SessionsAnswer), Hub.sessions),
    _asked("register", "POST", "/sessions", (shapes.Register, shapes.RegisterAnswer), Hub.register),
    _asked("heartbeat", "POST", "/sessions/heartbeat", (shapes.Who, shapes.Known), Hub.heartbeat),
    _asked("unregister", "POST", "/sessions/unregister", (shapes.Who, shapes.Known), Hub.unregister),
    _asked("tell", "POST", "/sessions/records", (shapes.Tell, shapes.TellAnswer), _tell),
    _asked("told", "GET", "/sessions/records", (shapes.Told, shapes.ToldAnswer), _told),
    _asked("lease", "POST", "/leases", (shapes.Lease, shapes.LeaseAnswer), Hub.lease),
    _asked(
        "acknowledge",
        "POST",
        "/leases/acknowledge",
        (shapes.Acknowledge, shapes.AcknowledgeAnswer),
        Hub.acknowledge,
    ),
    _asked(
        "answer",
        "POST",
        "/withdrawals/answer",
        (withdrawing.Answer, withdrawing.Answered),
        withdrawing.answer,
    ),
    _asked("drain", "POST", "/hosts/drain", (shapes.Drain, shapes.DrainAnswer), _drain),
    _asked("wake", "POST", "/hosts/wake", (shapes.Wake, shapes.WakeAnswer), _wake),
    _asked("reload_hosts", "POST", "/hosts/reload", (shapes.Nothing, shapes.Nothing), _reload_hosts),
    _asked(
        "workspaces", "GET", "/workspaces", (shapes.Nothing, places.WorkspacesAnswer), answering.workspaces
    ),
    _asked("attach", "POST", "/workspaces", (places.Attach, places.WorkspaceRow), answering.attach),
    _asked("detach", "POST", "/workspaces/detach", (places.Detach, places.Detached), answering.detach),
    _asked("grants", "GET", "/grants", (shapes.Nothing, consents.GrantsAnswer), _grants),
    _asked(
        "revoke_grant",
        "POST",
        "/grants/revoke",
        (consents.RevokeGrant, consents.GrantsAnswer),
        _revoke_grant,
    ),
    _asked("ledger", "GET", "/ledger", (consents.Ledger, consents.LedgerAnswer), _ledger),
    _asked("purge", "POST", "/purge", (purging.Purge, purging.PurgeAnswer), purging.purge),
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
    if isinstance(error, NotThereError):
        return RpcError(INVALID_PARAMS, str(error), {"reason": "not_there"})
    if isinstance(error, DeliveredError):
        told = refusal(error)
        kept = [msgspec.to_builtins(one) for one in error.reached]
        return RpcError(told.code, told.message, {**(told.data or {}), "sessions": kept})
    if isinstance(error, LogError):
        return RpcError(INTERNAL_ERROR, str(error), {"reason": "log_unavailable"})
    return refusal(error)
