"""A place in a proxy chain: one pipe to a conductor instead of an editor and a child. No I/O.

A conductor hands us the client's messages as they are and the successor's wrapped; what is meant for the
successor we wrap ourselves. Three dialects of this are alive, told apart by their handshake; `DIALECTS`
is the table. Requests that pass through get ids of ours, and their answers the old ones back. A
cancellation is for one hop: it is sent on with the id that this hop knows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from tidings.acp.proxy.message import Head, Id, Members, head_of, line_of, members, text, value
from tidings.bridge import rpc

if TYPE_CHECKING:
    from tidings.acp.proxy.interposer import Interposer

PASSING = 10_000
"""How many requests may be under way; the sender of one more is told."""

_NO_AGENT = (
    "this interposer has no agent: start it with `tidings acp-proxy -- <agent command>`, "
    "or from a conductor that speaks proxy/initialize"
)


class Dialect(NamedTuple):
    """How a conductor greets a proxy, and how it wraps what goes to or comes from the successor."""

    initialize: str
    request: str
    notification: str
    confirms: bool = False


DIALECTS = (
    Dialect("proxy/initialize", "proxy/successor", "proxy/successor"),
    Dialect("_proxy/initialize", "_proxy/successor", "_proxy/successor"),
    Dialect("initialize", "_proxy/successor/request", "_proxy/successor/notification", confirms=True),
)
"""The draft's own, its underscored form, and the older one that asks by `_meta.proxy` and wants it back."""


class Passing(NamedTuple):
    """A request that we sent on: whether to the successor, and the id that its sender gave it."""

    to_agent: bool
    id: Id


class Chain:
    """Turns a conductor's lines into an editor's and an agent's, and back."""

    def __init__(self, interposer: Interposer, token: str, report: Callable[[str], None]) -> None:
        self.interposer = interposer
        self._prefix = f"tidings-hop-{token}-"
        self._report = report
        self._count = 0
        self._passing: dict[str, Passing] = {}
        self._greeting: tuple[Id] | None = None
        self.dialect: Dialect | None = None

    def receive(self, line: bytes) -> bytes:
        """What goes back to the conductor for one line of it."""
        head = head_of(line)
        if head is None:
            line = rpc.mended(line)
            head = head_of(line)
        if head is None:
            if line.strip():
                self._report("a line of the conductor is no message and was dropped")
            return b""
        if not isinstance(head.method, str):
            return self._returned(head, line)
        if self.dialect is None and not self._detect(head):
            return self._refuse(head)
        return self._routed(head, line)

    def _detect(self, head: Head) -> bool:
        for dialect in DIALECTS:
            if head.method == dialect.initialize and (not dialect.confirms or _is_proxy_offer(head)):
                self.dialect = dialect
                self._greeting = (head.key,)
        return self.dialect is not None

    def _refuse(self, head: Head) -> bytes:
        self._report(_NO_AGENT)
        if not head.has_id:
            return b""
        return rpc.error_line(head.key, rpc.RpcError(rpc.METHOD_NOT_FOUND, _NO_AGENT))

    def _routed(self, head: Head, line: bytes) -> bytes:
        assert self.dialect is not None
        if head.method in (self.dialect.request, self.dialect.notification):
            return self.to_editor(self.interposer.from_agent(_unwrapped(head)))
        if head.method == self.dialect.initialize:
            greeting = {**(members(line) or {}), "method": "initialize"}
            return self.to_agent(self.interposer.from_editor(line_of(greeting)))
        if head.method == "$/cancel_request":
            return self._cancelled(head)
        return self.to_agent(self.interposer.from_editor(line))

    def _returned(self, head: Head, line: bytes) -> bytes:
        passing = self._passing.pop(str(head.key), None)
        if passing is None:
            return b""
        answer = line_of({**(members(line) or {}), "id": passing.id})
        if passing.to_agent:
            return self.to_editor(self.interposer.from_agent(answer))
        return self.to_agent(self.interposer.from_editor(answer))

    def _cancelled(self, head: Head) -> bytes:
        params = members(head.params) or {}
        meant = value(params.get("requestId"))
        for name, passing in self._passing.items():
            if passing.id == meant:
                changed: Members = {**params, "requestId": name}
                return line_of({"jsonrpc": "2.0", "method": "$/cancel_request", "params": changed})
        return b""

    def to_agent(self, lines: bytes) -> bytes:
        """Lines for the successor, as the conductor takes them."""
        return b"".join([self._towards_agent(line) for line in _each(lines)])

    def to_editor(self, lines: bytes) -> bytes:
        """Lines for the client, as the conductor takes them."""
        return b"".join([self._towards_editor(line) for line in _each(lines)])

    def _towards_agent(self, line: bytes) -> bytes:
        head, message = head_of(line), members(line)
        if head is None or message is None or self.dialect is None or not isinstance(head.method, str):
            return line
        inner: Members = {name: message[name] for name in ("method", "params") if name in message}
        if not head.has_id:
            return line_of({"jsonrpc": "2.0", "method": self.dialect.notification, "params": inner})
        name = self._named(Passing(True, head.key))
        if name is None:
            return self.to_editor(_too_many(head))
        return line_of({"jsonrpc": "2.0", "id": name, "method": self.dialect.request, "params": inner})

    def _towards_editor(self, line: bytes) -> bytes:
        head, message = head_of(line), members(line)
        if head is None or message is None:
            return line
        if isinstance(head.method, str) and head.has_id:
            name = self._named(Passing(False, head.key))
            return _too_many(head) if name is None else line_of({**message, "id": name})
        if head.has_id and (head.key,) == self._greeting:
            self._greeting = None
            return self._confirmed(message, line)
        return line

    def _confirmed(self, message: Members, line: bytes) -> bytes:
        """The answer to the handshake, with the word that the older dialect waits for."""
        result = members(message.get("result"))
        if self.dialect is None or not self.dialect.confirms or result is None:
            return line
        meta = members(result.get("_meta")) or {}
        return line_of({**message, "result": {**result, "_meta": {**meta, "proxy": True}}})

    def _named(self, passing: Passing) -> str | None:
        if len(self._passing) >= PASSING:
            return None
        self._count += 1
        name = f"{self._prefix}{self._count}"
        self._passing[name] = passing
        return name


def _too_many(head: Head) -> bytes:
    text = f"{PASSING} requests are under way already; send this one again later"
    return rpc.error_line(head.key, rpc.RpcError(rpc.SERVER_BUSY, text))


def _is_proxy_offer(head: Head) -> bool:
    meta = members((members(head.params) or {}).get("_meta"))
    return meta is not None and value(meta.get("proxy")) is True


def _unwrapped(head: Head) -> bytes:
    """The successor's own message, with the id that the conductor gave it."""
    params = members(head.params) or {}
    message: Members = {"jsonrpc": "2.0", "method": text(params, "method") or ""}
    if "params" in params:
        message["params"] = params["params"]
    return line_of({**message, "id": head.key} if head.has_id else message)


def _each(lines: bytes) -> list[bytes]:
    return [line + b"\n" for line in lines.split(b"\n") if line]
