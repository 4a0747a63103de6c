"""One GET of a JSON document: conditional, bounded in size and time, without redirects.

Redirects are not followed: a token would go along to wherever they lead. Blocking; the poller calls it in a
thread.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import IO, TYPE_CHECKING

import msgspec

from tidings.errors import TidingsError

if TYPE_CHECKING:
    from urllib.request import OpenerDirector

LARGEST = 5_000_000
DEADLINE = 30.0
_CHUNK = 65_536


class FetchError(TidingsError):
    """The document could not be had; `retry_after` is what the server asks for, in seconds."""

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        self.retry_after = retry_after
        super().__init__(message)


class Fetched(msgspec.Struct, frozen=True):
    """What came: no document when it has not changed since."""

    document: object = None
    changed: bool = True
    etag: str | None = None


def fetch(
    url: str,
    headers: Mapping[str, str],
    etag: str | None,
    *,
    deadline: float = DEADLINE,
    largest: int = LARGEST,
) -> Fetched:
    """The document at `url`, if it is another than `etag` names.

    Raises:
        FetchError: no answer in time, another status, too large, or no JSON.
    """
    from http.client import HTTPException
    from urllib.error import HTTPError
    from urllib.request import Request

    conditional = {"If-None-Match": etag} if etag else {}
    request = Request(url, headers={"Accept": "application/json", **headers, **conditional})
    until = time.monotonic() + deadline
    try:
        with _opener().open(request, timeout=deadline) as answer:
            body = _read(answer, until, largest)
            return Fetched(_decoded(body), True, answer.headers.get("ETag"))
    except HTTPError as error:
        with error:
            if error.code == 304:
                return Fetched(changed=False, etag=etag)
            wait = error.headers.get("Retry-After", "")
            asked = float(wait) if wait.isdigit() and len(wait) < 6 else None
            moved = "; redirects are not followed: give the address it leads to" if error.code < 400 else ""
            raise FetchError(f"the server answered {error.code}{moved}", asked) from error
    except (OSError, HTTPException) as error:
        raise FetchError(f"no answer: {type(error).__name__}: {error}") from error


def _opener() -> OpenerDirector:
    from urllib.request import HTTPRedirectHandler, build_opener

    class Stay(HTTPRedirectHandler):
        def redirect_request(self, *_: object, **__: object) -> None:
            return None

    return build_opener(Stay())


def _read(answer: IO[bytes], until: float, largest: int) -> bytes:
    parts: list[bytes] = []
    size = 0
    while chunk := answer.read(_CHUNK):
        size += len(chunk)
        if size > largest:
            raise FetchError(f"the document has more than {largest} bytes")
        if time.monotonic() > until:
            raise FetchError("the document did not arrive in time")
        parts.append(chunk)
    return b"".join(parts)


def _decoded(body: bytes) -> object:
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError) as error:
        raise FetchError("the document is not JSON") from error
