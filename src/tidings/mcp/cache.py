"""Results that a client may keep for a while: `ttlMs` and `cacheScope` of seed 002. Pure but for its dict.

A private result is reused only within the authorization context that got it; a public one by anybody. A
notification that something changed throws away what it concerns, at once. The caller brings the clock.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping

import msgspec

from tidings.core.reminder import Payload
from tidings.mcp.names import PROMPTS_CHANGED, RESOURCE_UPDATED, RESOURCES_CHANGED, TOOLS_CHANGED

CACHEABLE = (
    "server/discover",
    "tools/list",
    "prompts/list",
    "resources/list",
    "resources/templates/list",
    "resources/read",
)
"""The methods whose complete results say how long they hold."""

INVALIDATES: dict[str, tuple[str, ...]] = {
    TOOLS_CHANGED: ("tools/list",),
    PROMPTS_CHANGED: ("prompts/list",),
    RESOURCES_CHANGED: ("resources/list", "resources/templates/list"),
    RESOURCE_UPDATED: ("resources/read",),
}
"""Which results a notification makes stale; an update concerns only reads of its resource."""

LARGEST = 1_000
"""How many results are kept; the one used longest ago leaves first."""

_encode = msgspec.json.Encoder(order="deterministic").encode


class _Kept(msgspec.Struct, frozen=True):
    result: Payload
    until: float


class Cache:
    """Kept results. `context` names an authorization context, such as a digest of the access token."""

    def __init__(self, largest: int = LARGEST) -> None:
        self._kept: OrderedDict[tuple[str, bytes, str | None], _Kept] = OrderedDict()
        self._largest = largest

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, method: str, params: Mapping[str, object], *, context: str, now: float) -> Payload | None:
        """A result that still holds for `context`; `now` is in seconds of any steady clock."""
        for owner in (context, None):
            place = _place(method, params, owner)
            kept = self._kept.get(place)
            if kept is None:
                continue
            if kept.until > now:
                self._kept.move_to_end(place)
                return kept.result
            del self._kept[place]
        return None

    def put(
        self, method: str, params: Mapping[str, object], result: Payload, *, context: str, now: float
    ) -> bool:
        """Keep `result` if it says that it may be kept; gives whether it was."""
        ttl = result.get("ttlMs")
        complete = result.get("resultType", "complete") == "complete"
        if method not in CACHEABLE or not complete or not _positive(ttl):
            return False
        owner = None if result.get("cacheScope") == "public" else context
        place = _place(method, params, owner)
        self._kept[place] = _Kept(result, now + float(str(ttl)) / 1000)
        self._kept.move_to_end(place)
        if len(self._kept) > self._largest:
            self._kept.popitem(last=False)
        return True

    def heard(self, method: str, params: Mapping[str, object]) -> int:
        """A notification arrived: throw away what it makes stale; gives how many."""
        stale = [place for place in self._kept if _concerns(place, method, params)]
        for place in stale:
            del self._kept[place]
        return len(stale)


def _place(method: str, params: Mapping[str, object], owner: str | None) -> tuple[str, bytes, str | None]:
    """Requests are the same when all but their `_meta` is."""
    asked = {name: value for name, value in params.items() if name != "_meta"}
    return method, _encode(asked), owner


def _positive(ttl: object) -> bool:
    return isinstance(ttl, (int, float)) and not isinstance(ttl, bool) and ttl > 0


def _concerns(place: tuple[str, bytes, str | None], method: str, params: Mapping[str, object]) -> bool:
    if place[0] not in INVALIDATES.get(method, ()):
        return False
    if method != RESOURCE_UPDATED:
        return True
    read = msgspec.json.decode(place[1]).get("uri")
    changed = str(params.get("uri", ""))
    return read == changed or changed.startswith(f"{str(read).rstrip('/')}/")
