"""One call through a door, for programs that send and leave: connect, ask, read the answer.

Blocking and with a deadline; `tidings remind` and scripts use it. What the other side refuses is an
`RpcError` with its code and data; a door that does not open is a `DoorError`.
"""

from __future__ import annotations

import socket
from collections.abc import Mapping

from tidings.bridge.door.failure import DoorError
from tidings.bridge.door.server import LONGEST_LINE
from tidings.bridge.rpc import Malformed, Reply, RpcError, call_line, read
from tidings.core.reminder import Payload

SECONDS = 65.0
_ID = "tidings"


def call(path: str, method: str, params: Mapping[str, object], seconds: float = SECONDS) -> Payload:
    """The result of one request.

    Raises:
        DoorError: nobody listens, or no answer came.
        RpcError: the call was refused.
    """
    try:
        with socket.socket(socket.AF_UNIX) as peer:
            peer.settimeout(seconds)
            _connect(peer, path)
            peer.sendall(call_line(method, params, _ID))
            return _result(_line(peer, path), path)
    except TimeoutError as error:
        raise DoorError(f"{path!r} gave no answer within {seconds:g} s") from error
    except OSError as error:
        raise DoorError(f"the connection to {path!r} broke: {error.strerror or error}") from error


def _connect(peer: socket.socket, path: str) -> None:
    try:
        peer.connect(path)
    except FileNotFoundError as error:
        raise DoorError(f"there is no socket at {path!r}") from error
    except ConnectionRefusedError as error:
        raise DoorError(f"nobody listens at {path!r}: the program that opened it is gone") from error
    except OSError as error:
        raise DoorError(f"{path!r} cannot be reached: {error.strerror or error}") from error


def _line(peer: socket.socket, path: str) -> bytes:
    received = bytearray()
    while b"\n" not in received:
        part = peer.recv(65536)
        if not part or len(received) > LONGEST_LINE:
            raise DoorError(f"{path!r} closed the connection without an answer")
        received += part
    return bytes(received.partition(b"\n")[0])


def _result(line: bytes, path: str) -> Payload:
    reply = read(line)
    if isinstance(reply, Malformed) or not isinstance(reply, Reply):
        raise DoorError(f"{path!r} sent something that is no answer")
    if reply.error is not None:
        raise _refused(reply.error)
    if not isinstance(reply.result, dict):
        raise DoorError(f"{path!r} answered without a result")
    return reply.result


def _refused(error: Payload) -> RpcError:
    code, data = error.get("code"), error.get("data")
    return RpcError(
        code if isinstance(code, int) else 0,
        str(error.get("message", "refused")),
        data if isinstance(data, dict) else None,
    )
