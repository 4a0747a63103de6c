"""Calls through the door, answered by the interposer, or by an agent that takes reminders itself."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from tidings.acp.proxy.aside import native_request, native_result
from tidings.bridge.rpc import INVALID_PARAMS, Call, RpcError

if TYPE_CHECKING:
    from tidings.acp.proxy.interposer import Interposer
    from tidings.acp.proxy.message import Head
    from tidings.core.reminder import Payload

ORIGIN = "a program on this computer"
"""How a reminder that came through the door names its sender."""


async def visit(call: Call, interposer: Interposer) -> Payload | None:
    """The result of a call about reminders.

    Raises:
        RpcError: it is refused; when no session was named, `data` lists those there are.
    """
    try:
        if interposer.native is not None:
            return await _ask_agent(call, interposer)
        result = interposer.ask(call, ORIGIN)
        interposer.news()
        if isinstance(result, RpcError):
            raise result
    except RpcError as error:
        raise _with_sessions(error, call, interposer.places.ids()) from None
    return result


async def _ask_agent(call: Call, interposer: Interposer) -> Payload:
    assert interposer.native is not None
    method, params = native_request(call, interposer.native, interposer.places.ids())
    answered: asyncio.Future[Head | None] = asyncio.get_running_loop().create_future()

    def settle(head: Head | None) -> None:
        if not answered.done():
            answered.set_result(head)

    interposer.requests.send(method, params, settle)
    return native_result(await answered)


def _with_sessions(error: RpcError, call: Call, ids: list[str]) -> RpcError:
    named = call.params.get("sessionId", call.params.get("session_id"))
    if error.code != INVALID_PARAMS or error.data is not None or named is not None:
        return error
    return RpcError(error.code, error.message, {"sessions": ids[:100]})
