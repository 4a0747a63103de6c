"""JSON-RPC 2.0, one message per line: bytes become calls and replies, and back. Pure.

A line that is no message becomes `Malformed`, which carries the error to send back. Nothing here knows what
a method means; `methods.py` does. The interposer, the bridge and the tests read lines with this.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import TypeAlias

import msgspec

from tidings.core.producers import shown
from tidings.core.reminder import Payload
from tidings.errors import TidingsError

LONGEST_LINE = 16 * 1024 * 1024
"""How many bytes one message may have; a longer one is refused and the connection goes on."""

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
SERVER_BUSY = -32000
UNKNOWN_SESSION = -32002
CANCELLED = -32800

Id: TypeAlias = str | int | float | None


class RpcError(TidingsError):
    """What is sent back instead of a result: `code`, `message`, and `data` for a program to read."""

    def __init__(self, code: int, message: str, data: Payload | None = None) -> None:
        self.code = code
        self.message = message
        self.data = data
        super().__init__(message)

    def to_dict(self) -> Payload:
        """The `error` member of a reply."""
        error: Payload = {"code": self.code, "message": self.message}
        if self.data is not None:
            error["data"] = self.data
        return error


class Call(msgspec.Struct, frozen=True):
    """A request, or a notification when `wants_reply` is false."""

    method: str
    params: Payload
    id: Id = None
    wants_reply: bool = True


class Reply(msgspec.Struct, frozen=True):
    """The answer to a request of ours. A peer that could not read us sends `id` None."""

    id: Id
    result: object = None
    error: Payload | None = None


class Malformed(msgspec.Struct, frozen=True):
    """A line that is no message: what to answer, and to which id if one could be read."""

    error: RpcError
    id: Id = None


Incoming: TypeAlias = Call | Reply | Malformed

_decode = msgspec.json.Decoder().decode


def read(line: bytes) -> Incoming:
    """The message of one line."""
    if len(line) > LONGEST_LINE:
        text = f"a message may have {LONGEST_LINE} bytes; this one has {len(line)}"
        return Malformed(RpcError(INVALID_REQUEST, text))
    try:
        message = _decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        return _read_mended(line, error)
    except RecursionError:
        return Malformed(RpcError(PARSE_ERROR, "nested too deeply to be read"))
    return of_message(message)


def _read_mended(line: bytes, error: Exception) -> Incoming:
    try:
        return of_message(_decode(mended(line)))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return Malformed(RpcError(PARSE_ERROR, f"not JSON: {error}"), _id_inside(line))


_BOM = b"\xef\xbb\xbf"
_ESCAPE = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)",
    re.DOTALL,
)
"""Every escape of a JSON text; the group holds half of a character outside the basic plane."""


def mended(line: bytes) -> bytes:
    """`line` without what some writers let slip: a byte order mark, halves of characters (as U+FFFD)."""
    return _ESCAPE.sub(_whole, line.removeprefix(_BOM))


def _whole(escape: re.Match[bytes]) -> bytes:
    return escape[0] if escape[1] is None else b"\\ufffd"


def _id_inside(line: bytes) -> Id:
    """The id of a request that is no proper JSON, so that whoever waits for its answer gets one."""
    try:
        message = json.loads(line.decode(errors="replace"))
    except (ValueError, RecursionError):
        return None
    return _id(message) if isinstance(message, dict) and "method" in message else None


def of_message(message: object) -> Incoming:
    """The message that a decoded JSON value is."""
    if not isinstance(message, dict):
        text = f"a message must be one JSON object; got {shown(message)}"
        return Malformed(RpcError(INVALID_REQUEST, text))
    if "method" not in message:
        return _reply(message)
    return _call(message)


def _reply(message: Payload) -> Incoming:
    error = message.get("error")
    if "result" not in message and not isinstance(error, Mapping):
        return Malformed(RpcError(INVALID_REQUEST, "a message needs a `method`, a `result` or an `error`"))
    return Reply(_id(message), message.get("result"), dict(error) if isinstance(error, Mapping) else None)


def _call(message: Payload) -> Incoming:
    number, method, params = _id(message), message["method"], message.get("params")
    if not isinstance(method, str):
        text = f"`method` must be a string; got {shown(method)}"
        return Malformed(RpcError(INVALID_REQUEST, text), number)
    if params is not None and not isinstance(params, dict):
        text = f"`params` of {method} must be an object; got {shown(params)}"
        return Malformed(RpcError(INVALID_PARAMS, text), number)
    return Call(method, params or {}, number, "id" in message)


def _id(message: Payload) -> Id:
    found = message.get("id")
    if isinstance(found, bool) or not isinstance(found, (str, int, float)):
        return None
    return found


def call_line(method: str, params: Mapping[str, object], id: Id = None) -> bytes:
    """A request with `id`, or a notification without."""
    message: Payload = {"jsonrpc": "2.0", "method": method, "params": params}
    if id is not None:
        message["id"] = id
    return _line(message)


def result_line(id: Id, result: object) -> bytes:
    """The answer to a request."""
    return _line({"jsonrpc": "2.0", "id": id, "result": result})


def error_line(id: Id, error: RpcError) -> bytes:
    """The refusal of a request."""
    return _line({"jsonrpc": "2.0", "id": id, "error": error.to_dict()})


def _line(message: Payload) -> bytes:
    return msgspec.json.encode(message) + b"\n"
