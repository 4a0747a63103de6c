"""Between the bytes of an ACP client and the SDK: the seam where reminders live.

In: the reminder methods are answered here, notifications that the SDK does not know end here, and `_meta`
of a call is taken off, because the SDK lets it override parameters. Out: the answer to `initialize` gets
our capabilities, the answer to a prompt what news is left, and refusals lose the values that the SDK
repeats.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from functools import partial
from typing import Any

from tidings.acp.agent.outlet import AcpOutlet, with_news
from tidings.acp.capabilities import FULL, advertised, client_takes_updates
from tidings.bridge import handle
from tidings.bridge.methods import METHODS
from tidings.bridge.rpc import INTERNAL_ERROR, Call, Id, RpcError
from tidings.bridge.served.peer import Peer
from tidings.bridge.served.sessions import Served
from tidings.core.reminder import Payload

GOODBYE = 5.0
"""Seconds that answers to a client that closed its side get to leave."""
LONGEST_NAME = 80

_logger = logging.getLogger(__name__)


class ReminderTransport:
    """A transport for `acp.run_agent`: async `send`, `receive` and `close`."""

    def __init__(self, peer: Peer, served: Served, outlet: AcpOutlet, *, rfc: bool = True) -> None:
        self._peer = peer
        self._served = served
        self._outlet = outlet
        self._rfc = rfc
        self._origin = "acp"

    async def receive(self) -> dict[str, Any] | None:
        """The next message for the SDK; None when the client is gone and all work has ended."""
        while (call := await self._peer.receive()) is not None:
            if call.method in METHODS:
                self._peer.reply(call, partial(handle.answer, call, self._served, self._origin))
            elif call.method == "$/cancel_request":
                self._cancel_request(call)
            elif call.wants_reply or call.method == "session/cancel":
                self._look(call)
                return _for_sdk(call)
            else:
                _logger.info("an unknown notification was ignored: %.80r", call.method)
        await self._served.shutdown()
        await self._peer.settled(GOODBYE)
        return None

    async def send(self, message: dict[str, Any]) -> None:
        """Send what the SDK answers."""
        number: Id = message.get("id")
        call = self._peer.opened(number)
        error = message.get("error")
        if isinstance(error, Mapping):
            self._peer.refuse(number, _refusal(error))
        else:
            self._peer.answer(number, self._result(call, message.get("result")))

    async def close(self) -> None:
        """Nothing to do: whoever made the peer closes it."""

    def _cancel_request(self, call: Call) -> None:
        """A prompt that is not wanted any more ends, those beside it do not."""
        wanted = call.params.get("requestId")
        asked = self._peer.opened(wanted) if isinstance(wanted, (str, int)) else None
        if asked is None or asked.method != "session/prompt":
            return
        session = self._served.find(str(asked.params.get("sessionId")))
        if session is not None:
            session.cancel_one(asked.id)

    def _look(self, call: Call) -> None:
        """Learn from `initialize` who the client is and what it can take."""
        if call.method != "initialize":
            return
        self._outlet.takes_updates = client_takes_updates(call.params.get("clientCapabilities"))
        info = call.params.get("clientInfo")
        name = info.get("name") if isinstance(info, Mapping) else None
        if isinstance(name, str) and name.strip():
            self._origin = f"acp:{' '.join(name.split())[:LONGEST_NAME]}"

    def _result(self, call: Call | None, result: object) -> object:
        if call is None or not isinstance(result, Mapping):
            return result
        if call.method == "initialize":
            ours = advertised(_object(result.get("agentCapabilities")), FULL, rfc=self._rfc)
            return {**result, "agentCapabilities": ours}
        if call.method in ("session/prompt", "session/close"):
            return with_news(dict(result), self._outlet.news(str(call.params.get("sessionId"))))
        return result


def _for_sdk(call: Call) -> dict[str, Any]:
    """The call without its `_meta`, whose members the SDK hands to the method: ours names the request."""
    params = {name: value for name, value in call.params.items() if name != "_meta"}
    if call.method == "session/prompt":
        params["_meta"] = {"request_id": call.id}
    message: dict[str, Any] = {"jsonrpc": "2.0", "method": call.method, "params": params}
    return {**message, "id": call.id} if call.wants_reply else message


def _refusal(error: Mapping[str, object]) -> RpcError:
    """The SDK's error, with where and why of what was wrong but without the value itself."""
    code, data = error.get("code"), error.get("data")
    told = dict(data) if isinstance(data, Mapping) else None
    if told is not None and isinstance(told.get("errors"), list):
        told["errors"] = [_problem(problem) for problem in told["errors"]]
    return RpcError(code if isinstance(code, int) else INTERNAL_ERROR, str(error.get("message")), told)


def _problem(problem: object) -> Payload:
    given = _object(problem)
    where = given.get("loc")
    path = ".".join(str(part) for part in where) if isinstance(where, (list, tuple)) else ""
    return {"field": path, "message": str(given.get("msg")), "type": str(given.get("type"))}


def _object(value: object) -> Payload:
    return dict(value) if isinstance(value, Mapping) else {}
