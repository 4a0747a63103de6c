"""Bytes of a server's output become messages: bounded lines, then what kind of message each is. Pure.

A line that is too long is forgotten as it comes. Of a message only the outside is read at first, so that a
notification of ten megabytes costs no more than passing over it.
"""

from __future__ import annotations

import msgspec

from tidings.core.reminder import Payload
from tidings.errors import CallerError


class Lines:
    """Cuts what comes into lines; `skipped` counts the ones that were too long."""

    def __init__(self, longest: int) -> None:
        self._longest = longest
        self._parts: list[bytes] = []
        self._size = 0
        self.skipped = 0

    @property
    def waiting(self) -> int:
        """How many bytes of an unfinished line are kept."""
        return sum(map(len, self._parts))

    def feed(self, data: bytes) -> list[bytes]:
        """The lines that `data` completes, without the empty ones."""
        head, *rest = data.split(b"\n")
        self._keep(head)
        if not rest:
            return []
        last = rest.pop()
        whole = [self._close(), *rest]
        self._keep(last)
        return [line for line in whole if line.strip()]

    def _keep(self, part: bytes) -> None:
        if not part:
            return
        self._size += len(part)
        if self._size <= self._longest:
            self._parts.append(part)
        else:
            self._parts.clear()

    def _close(self) -> bytes:
        line = b"".join(self._parts)
        self.skipped += self._size > self._longest
        self._parts.clear()
        self._size = 0
        return line


class UnreadableError(CallerError):
    """A line that is no JSON-RPC message."""


class _Outside(msgspec.Struct):
    """A message whose values are not looked into."""

    method: str | msgspec.UnsetType = msgspec.UNSET
    id: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    params: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    result: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    error: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


class Notification(msgspec.Struct, frozen=True):
    """A notification; `params` are read when somebody wants them."""

    method: str
    raw: bytes

    def params(self) -> Payload:
        """Its params.

        Raises:
            UnreadableError: they are no object.
        """
        found = _decoded(self.raw) if self.raw else {}
        if isinstance(found, dict):
            return found
        raise UnreadableError(f"`params` of {self.method} must be an object")


class Other(msgspec.Struct, frozen=True):
    """A request or an answer, whole."""

    message: Payload
    is_request: bool


_outside = msgspec.json.Decoder(_Outside)
_whole = msgspec.json.Decoder()


def read(line: bytes) -> Notification | Other:
    """The message of one line.

    Raises:
        UnreadableError: it is none.
    """
    try:
        outside = _outside.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UnreadableError(str(error)) from None
    method = outside.method
    if isinstance(method, str) and outside.id is msgspec.UNSET:
        return Notification(method, b"" if outside.params is msgspec.UNSET else bytes(outside.params))
    if isinstance(method, str) or outside.result is not msgspec.UNSET or outside.error is not msgspec.UNSET:
        message = _decoded(line)
        if isinstance(message, dict):
            return Other(message, isinstance(method, str))
    raise UnreadableError("a message needs a `method`, a `result` or an `error`")


def method_of(line: bytes) -> str | None:
    """The method that a message calls; None when it calls none. Its values are not looked into."""
    try:
        method = _outside.decode(line).method
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return method if isinstance(method, str) else None


def answered_by(line: bytes) -> str | None:
    """The id of the request that a message answers, as text; None when it answers none."""
    try:
        outside = _outside.decode(line)
        if isinstance(outside.method, str) or isinstance(outside.id, msgspec.UnsetType):
            return None
        return str(_whole.decode(outside.id))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def _decoded(raw: bytes) -> object:
    try:
        return _whole.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UnreadableError(str(error)) from None
