"""Calls through the door for an agent that takes reminders itself: they are handed to it. Pure.

The interposer is out of the way then, but programs still know its socket. Each call becomes a request in
the agent's own words, by the names that it advertises, and its answer goes back as it is.
"""

from __future__ import annotations

from collections.abc import Sequence

from tidings.acp.capabilities import Capabilities
from tidings.acp.proxy.message import Head, value
from tidings.bridge.methods import METHODS
from tidings.bridge.rpc import INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND, Call, RpcError
from tidings.core.reminder import Payload


def native_request(call: Call, native: Capabilities, sessions: Sequence[str]) -> tuple[str, Payload]:
    """Method and parameters in the agent's words.

    Raises:
        RpcError: an unknown method, or no session is named and there is not exactly one.
    """
    operation = METHODS.get(call.method)
    if operation is None:
        raise RpcError(METHOD_NOT_FOUND, f"unknown method {call.method!r:.80}")
    own = [name for name in native.methods if METHODS.get(name) == operation]
    prefix = "session/" if any(name.startswith("session/") for name in native.methods) else "_session/"
    params = dict(call.params)
    if params.get("sessionId", params.get("session_id")) is None:
        if len(sessions) != 1:
            raise RpcError(INVALID_PARAMS, "`sessionId` is missing, and there is not exactly one session")
        params["sessionId"] = sessions[0]
    return (own[0] if own else prefix + operation), params


def native_result(head: Head | None) -> Payload:
    """What the agent answered.

    Raises:
        RpcError: it refused, took too long, or gave no result.
    """
    if head is None:
        raise RpcError(INTERNAL_ERROR, "the agent did not answer in time")
    error = value(head.error)
    if isinstance(error, dict):
        code, data = error.get("code"), error.get("data")
        raise RpcError(
            code if isinstance(code, int) else INTERNAL_ERROR,
            str(error.get("message", "refused by the agent")),
            data if isinstance(data, dict) else None,
        )
    result = value(head.result)
    if not isinstance(result, dict):
        raise RpcError(INTERNAL_ERROR, "the agent answered without a result: it does not know this method")
    return result
