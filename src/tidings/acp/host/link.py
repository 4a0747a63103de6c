"""Between the official SDK and the agent: the SDK's transport, and a way to send what the SDK cannot.

Everything the agent sends passes here first. Updates stay here, because the SDK drops kinds it does not
know; answers and requests reach the SDK only in shapes that cannot hurt it (its receive loop ends at an
id that is a list, and a request's `_meta` would override parameters). Our own requests have ids of their
own, which are strings, so that they never collide with the SDK's numbers.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

import msgspec

from tidings.acp.host.failure import AgentRefusedError, BusyError
from tidings.acp.host.feed import Feeds
from tidings.acp.host.notes import Notes
from tidings.acp.host.process import AgentProcess
from tidings.bridge import rpc
from tidings.core.producers import shown
from tidings.core.reminder import Payload
from tidings.errors import CallerError

OWN = "tidings-"
UNANSWERED = 1_000
"""How many requests may wait for their answer."""

_encode = msgspec.json.Encoder(enc_hook=str).encode


class Link:
    """A transport for the SDK that keeps what is ours."""

    def __init__(self, process: AgentProcess, feeds: Feeds, notes: Notes, answers: frozenset[str]) -> None:
        self._process = process
        self._feeds = feeds
        self._notes = notes
        self._answers = answers
        self._asked: OrderedDict[int | str, tuple[str, str | None]] = OrderedDict()
        self._own: dict[str, asyncio.Future[object]] = {}
        self._count = 0
        self.initialized: object = None
        """The raw result of `initialize`: the SDK drops the keys it does not know."""

    async def send(self, message: dict[str, Any]) -> None:
        """Write what the SDK sends."""
        number = message.get("id")
        if isinstance(number, int) and "method" in message:
            self._remember(number, message["method"], message.get("params"))
        try:
            await self._write(message)
        except CallerError as error:
            if "method" in message:
                raise
            self._notes.add("unsent_answer", str(error))
            self._tell(rpc.error_line(message["id"], rpc.RpcError(rpc.INTERNAL_ERROR, str(error))))

    async def receive(self) -> dict[str, Any] | None:
        """The next message that is for the SDK; None when the agent sends no more."""
        while (line := await self._process.line()) is not None:
            message = self._heard(line) if line.strip() else None
            if message is not None:
                return message
        self._end(ConnectionError("the agent sends no more"))
        return None

    async def close(self) -> None:
        """Give up what waits. The process is its owner's to stop."""
        self._end(ConnectionError("the host was stopped"))

    async def request(self, method: str, params: Payload) -> object:
        """Send a request of our own and wait for its result. The caller sets the deadline.

        Raises:
            AgentRefusedError: the agent answered with an error.
            BusyError: too many wait already.
            ConnectionError: the agent is gone.
        """
        if len(self._own) >= UNANSWERED:
            raise BusyError(f"{UNANSWERED} requests wait for the agent, which answers none of them")
        self._count += 1
        number = f"{OWN}{self._count}"
        self._remember(number, method, params)
        answer = self._own[number] = asyncio.get_running_loop().create_future()
        try:
            await self._write({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
            return await answer
        finally:
            self._own.pop(number, None)

    def _remember(self, number: int | str, method: str, params: object) -> None:
        session_id = params.get("sessionId") if isinstance(params, Mapping) else None
        self._asked[number] = (method, session_id if isinstance(session_id, str) else None)
        if len(self._asked) > 2 * UNANSWERED:
            self._asked.popitem(last=False)

    async def _write(self, message: Mapping[str, object]) -> None:
        try:
            line = _encode(message) + b"\n"
        except (UnicodeEncodeError, TypeError, ValueError) as error:
            raise CallerError(
                f"{shown(message.get('method'))} cannot be written as JSON: {error}"
            ) from error
        if len(line) > rpc.LONGEST_LINE:
            raise CallerError(f"a message may have {rpc.LONGEST_LINE} bytes; this one has {len(line)}")
        self._process.put(line)
        await self._process.flush()

    def _heard(self, line: bytes) -> dict[str, Any] | None:
        match rpc.read(line):
            case rpc.Call() as call:
                return self._called(call)
            case rpc.Reply() as reply:
                return self._replied(reply)
            case rpc.Malformed(error, number):
                return self._unreadable(line, error, number)

    def _unreadable(self, line: bytes, error: rpc.RpcError, number: rpc.Id) -> dict[str, Any] | None:
        """Note a line that is no message; whoever waits for the answer it meant to be is told."""
        self._notes.add("unreadable_line", f"{error.message}: {shown(line[:200])}")
        if number is not None:
            self._tell(rpc.error_line(number, error))
            return None
        meant = _meant(line)
        if meant is None or meant not in self._asked:
            return None
        refusal: Payload = {"code": rpc.INTERNAL_ERROR, "message": "an answer without a result or an error"}
        return self._replied(rpc.Reply(meant, None, refusal))

    def _called(self, call: rpc.Call) -> dict[str, Any] | None:
        if call.method in self._answers and call.wants_reply:
            params = {name: value for name, value in call.params.items() if name != "_meta"}
            return {"jsonrpc": "2.0", "id": call.id, "method": call.method, "params": params}
        if call.method == "session/update" and not call.wants_reply:
            self._feeds.update(call.params)
        elif call.wants_reply:
            error = rpc.RpcError(rpc.METHOD_NOT_FOUND, f"this host does not do {shown(call.method)}")
            self._notes.add("refused_request", error.message)
            self._tell(rpc.error_line(call.id, error))
        else:
            self._notes.add("ignored_notification", f"the agent sent {shown(call.method)}")
        return None

    def _replied(self, reply: rpc.Reply) -> dict[str, Any] | None:
        number = reply.id
        asked = None if isinstance(number, (float, type(None))) else self._asked.pop(number, None)
        if asked is None:
            what = shown(reply.result if reply.error is None else reply.error)
            self._notes.add("stray_answer", f"an answer to {shown(number)}, which waits for none: {what}")
            return None
        method, session_id = asked
        self._feeds.answered(method, session_id, reply.result)
        if method == "initialize":
            self.initialized = reply.result
        if isinstance(number, str):
            self._settle(number, method, reply)
            return None
        return _plain(number, reply)

    def _settle(self, number: str, method: str, reply: rpc.Reply) -> None:
        waiting = self._own.get(number)
        if waiting is None or waiting.done():
            self._notes.add(
                "late_answer", f"{method} was answered when nobody waited: {shown(reply.result)}"
            )
        elif reply.error is None:
            waiting.set_result(reply.result)
        else:
            code, message, data = _parts(reply.error)
            waiting.set_exception(AgentRefusedError(method, code, message, data))

    def _tell(self, line: bytes) -> None:
        """Answer for ourselves, without waiting: the reader must go on reading."""
        try:
            self._process.put(line)
        except (ConnectionError, BusyError) as error:
            self._notes.add("unsent_answer", str(error))

    def _end(self, error: ConnectionError) -> None:
        for waiting in self._own.values():
            if not waiting.done():
                waiting.set_exception(error)
        self._feeds.close()


def _meant(line: bytes) -> int | str | None:
    """The id of an answer that has neither a result nor a readable error."""
    try:
        message = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    found = message.get("id") if isinstance(message, dict) and "method" not in message else None
    return found if isinstance(found, (int, str)) and not isinstance(found, bool) else None


def _plain(number: object, reply: rpc.Reply) -> dict[str, Any]:
    """A reply that the SDK can read without harm."""
    if reply.error is None:
        return {"jsonrpc": "2.0", "id": number, "result": reply.result}
    code, message, data = _parts(reply.error)
    return {"jsonrpc": "2.0", "id": number, "error": {"code": code, "message": message, "data": data}}


def _parts(error: Payload) -> tuple[int, str, object]:
    code, message = error.get("code"), error.get("message")
    number = code if isinstance(code, int) and not isinstance(code, bool) else rpc.INTERNAL_ERROR
    return number, message if isinstance(message, str) else shown(message), error.get("data")
