"""Between HTTP and the hub's answers: bodies and queries in, JSON and status codes out.

Bodies are bounded in size and time. `STATUS` says which status each error of the bridge gets.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import msgspec
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from tidings.bridge.rpc import (
    INTERNAL_ERROR,
    INVALID_REQUEST,
    PARSE_ERROR,
    SERVER_BUSY,
    UNKNOWN_SESSION,
    RpcError,
)
from tidings.core.producers import shown
from tidings.core.reminder import Payload

LONGEST_BODY = 1024 * 1024
BODY_SECONDS = 10.0
JSON = "application/json"

STATUS: dict[int, int] = {UNKNOWN_SESSION: 404, SERVER_BUSY: 429, INTERNAL_ERROR: 500}
"""The status of each code of an error; 400 for all others."""

REASONS: dict[str, int] = {
    "already_delivered": 409,
    "expired": 409,
    "duplicate_id": 409,
    "unknown_reminder_id": 404,
    "not_there": 404,
}
"""The status of an error by its reason, which knows more than its code."""

PLAIN = {
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
    "cross-origin-resource-policy": "same-origin",
}
"""The headers of every answer: nobody stores it, guesses its type, or embeds it in another page."""


class HttpRefusal(Exception):
    """A request that HTTP itself refuses: its status, its code and its message."""

    def __init__(self, status: int, code: int, text: str) -> None:
        self.status = status
        self.code = code
        super().__init__(text)


async def read_body(request: Request, longest: int = LONGEST_BODY) -> Payload:
    """The JSON object of a request.

    Raises:
        HttpRefusal: not JSON, too long, too slow, or no object.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != JSON:
        raise HttpRefusal(415, INVALID_REQUEST, f"Content-Type is {shown(kind)}; send {JSON}")
    try:
        body = msgspec.json.decode(await _bytes(request, longest))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise HttpRefusal(400, PARSE_ERROR, f"the body is not JSON: {error}") from error
    if not isinstance(body, dict):
        raise HttpRefusal(400, INVALID_REQUEST, f"the body must be one JSON object; got {shown(body)}")
    return body


async def _bytes(request: Request, longest: int) -> bytes:
    received = bytearray()
    try:
        async with asyncio.timeout(BODY_SECONDS):
            async for part in request.stream():
                received += part
                if len(received) > longest:
                    text = f"the body has more than {longest} bytes"
                    raise HttpRefusal(413, INVALID_REQUEST, text)
    except TimeoutError:
        text = f"the body did not come within {BODY_SECONDS:g} s"
        raise HttpRefusal(400, INVALID_REQUEST, text) from None
    except ClientDisconnect as error:
        raise HttpRefusal(400, INVALID_REQUEST, "the client left before its body was there") from error
    return bytes(received)


def read_query(request: Request) -> Payload:
    """The query of a request.

    Raises:
        HttpRefusal: a member is given twice.
    """
    pairs = request.query_params.multi_items()
    query: Payload = dict(pairs)
    if len(query) != len(pairs):
        raise HttpRefusal(400, INVALID_REQUEST, "a member of the query is given twice; give each once")
    return query


def json_response(value: object, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """A JSON answer that nobody stores."""
    sent = {**PLAIN, **(headers or {})}
    return Response(msgspec.json.encode(value), status, headers=sent, media_type=JSON)


def refusal_response(
    status: int, code: int, text: str, headers: Mapping[str, str] | None = None
) -> Response:
    """The answer to a request that HTTP itself refuses."""
    return json_response({"error": RpcError(code, text).to_dict()}, status, headers)


def error_response(error: RpcError) -> Response:
    """The answer to a request that the hub refuses."""
    reason = (error.data or {}).get("reason")
    status = REASONS.get(str(reason)) or STATUS.get(error.code, 400)
    return json_response({"error": error.to_dict()}, status)
