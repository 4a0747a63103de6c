"""Asking a running hub from an event loop, through its socket: connect, ask, read the answer.

One connection for each call; a call that waits can be cancelled. Blocking programs use
`tidings.bridge.door.call` with the same methods.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from tidings.bridge.door.server import LONGEST_LINE
from tidings.bridge.rpc import Reply, RpcError, call_line, read
from tidings.core.reminder import Payload
from tidings.hub.failure import HubError

SECONDS = 65.0
LONGEST_ANSWER = 100 * LONGEST_LINE
"""How many bytes an answer may have: a lease can hold a hundred reminders."""

_ID = "hub"


async def ask(path: str, method: str, params: Mapping[str, object], seconds: float = SECONDS) -> Payload:
    """The result of one request.

    Raises:
        HubError: no hub answers at this socket.
        RpcError: the hub refused.
    """
    try:
        async with asyncio.timeout(seconds):
            line = await _exchange(path, call_line(method, params, _ID))
    except TimeoutError as error:
        raise HubError(f"the hub gave no answer within {seconds:g} s") from error
    except FileNotFoundError as error:
        raise HubError(f"no hub runs (there is no socket {path!r}); start one with `tidings up`") from error
    except ConnectionRefusedError as error:
        text = f"no hub runs (nobody answers at {path!r} any more); start one with `tidings up`"
        raise HubError(text) from error
    except (OSError, ValueError) as error:
        raise HubError(f"no hub answers at {path!r}: {error}; start one with `tidings up`") from error
    return _result(line)


async def _exchange(path: str, line: bytes) -> bytes:
    reader, writer = await asyncio.open_unix_connection(path, limit=LONGEST_ANSWER)
    try:
        writer.write(line)
        await writer.drain()
        return await reader.readline()
    finally:
        writer.close()


def _result(line: bytes) -> Payload:
    reply = read(line) if line else None
    if not isinstance(reply, Reply):
        raise HubError("the hub closed the connection without an answer")
    if reply.error is not None:
        code, data = reply.error.get("code"), reply.error.get("data")
        raise RpcError(
            code if isinstance(code, int) else 0,
            str(reply.error.get("message", "refused")),
            data if isinstance(data, dict) else None,
        )
    if not isinstance(reply.result, dict):
        raise HubError("the hub answered without a result")
    return reply.result
