"""One GET of a JSON document: conditional, bounded in size and time, without redirects.

Redirects are not followed: a token would go along to wherever they lead. The deadline is for all of it: a
server that sends a byte now and then is cut off. Blocking; the poller calls it in a thread.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from email.utils import parsedate_to_datetime
from typing import IO, TYPE_CHECKING

import msgspec

from tidings.errors import TidingsError

if TYPE_CHECKING:
    from socket import socket
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
    with _cut_after(deadline) as line:
        try:
            with _opener(line).open(request, timeout=deadline) as answer:
                body = _read(answer, largest)
                line.must_be_whole()
                return Fetched(_decoded(body), True, answer.headers.get("ETag"))
        except HTTPError as error:
            with error:
                if error.code == 304:
                    return Fetched(changed=False, etag=etag)
                raise _refused(error.code, error.headers.get("Retry-After", "")) from error
        except (OSError, HTTPException) as error:
            line.must_be_whole()
            raise FetchError(f"no answer: {type(error).__name__}: {error}") from error


def asked_wait(header: str, now: float) -> float | None:
    """The seconds that `Retry-After` asks for, as a number or as a date; None when it is neither."""
    if header.isascii() and header.isdigit():
        return float(header[:9])
    try:
        return max(0.0, parsedate_to_datetime(header).timestamp() - now)
    except (ValueError, OverflowError):
        return None


def _refused(status: int, wait: str) -> FetchError:
    moved = "; redirects are not followed: give the address it leads to" if status < 400 else ""
    return FetchError(f"the server answered {status}{moved}", asked_wait(wait, time.time()))


class _Line:
    """The connection of one request, which another thread may cut."""

    def __init__(self) -> None:
        self._socket: socket | None = None
        self._cut = False

    def opened(self, found: socket) -> None:
        self._socket = found
        if self._cut:
            self.cut()

    def cut(self) -> None:
        self._cut = True
        if self._socket is not None:
            with suppress(OSError):
                self._socket.shutdown(2)

    def must_be_whole(self) -> None:
        """Refuse what came over a line that was cut.

        Raises:
            FetchError: it was.
        """
        if self._cut:
            raise FetchError("the document did not arrive in time")


@contextmanager
def _cut_after(seconds: float) -> Iterator[_Line]:
    """A line that is cut unless the block is over by then."""
    from threading import Timer

    line = _Line()
    timer = Timer(seconds, line.cut)
    timer.daemon = True
    timer.start()
    try:
        yield line
    finally:
        timer.cancel()


def _opener(line: _Line) -> OpenerDirector:
    from http.client import HTTPConnection, HTTPResponse, HTTPSConnection
    from urllib.request import HTTPHandler, HTTPRedirectHandler, HTTPSHandler, Request, build_opener

    class Plain(HTTPConnection):
        def connect(self) -> None:
            super().connect()
            line.opened(self.sock)

    class Secure(HTTPSConnection):
        def connect(self) -> None:
            super().connect()
            line.opened(self.sock)

    class OpenPlain(HTTPHandler):
        def http_open(self, req: Request) -> HTTPResponse:
            return self.do_open(Plain, req)

    class OpenSecure(HTTPSHandler):
        def https_open(self, req: Request) -> HTTPResponse:
            return self.do_open(Secure, req)

    class Stay(HTTPRedirectHandler):
        def redirect_request(self, *_: object, **__: object) -> None:
            return None

    return build_opener(OpenPlain(), OpenSecure(), Stay())


def _read(answer: IO[bytes], largest: int) -> bytes:
    parts: list[bytes] = []
    size = 0
    while chunk := answer.read(_CHUNK):
        size += len(chunk)
        if size > largest:
            raise FetchError(f"the document has more than {largest} bytes")
        parts.append(chunk)
    return b"".join(parts)


def _decoded(body: bytes) -> object:
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError) as error:
        raise FetchError("the document is not JSON") from error
