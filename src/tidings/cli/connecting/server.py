"""The server of a host that the hub speaks to by itself: remembered for the hub, and forgotten again."""

from __future__ import annotations

import asyncio

from tidings.bridge.rpc import RpcError
from tidings.errors import CallerError
from tidings.hosts.happening import Host
from tidings.hub.client import ask
from tidings.hub.failure import HubError
from tidings.hub.hosting.pushing import surfaces
from tidings.hub.hosting.pushing.attending import NAME
from tidings.hub.hosting.pushing.surfaces import Surface
from tidings.hub.place import Place, prepare

SECONDS = 5.0


def wanted(host: Host, url: str | None, wake: bool) -> Surface | None:
    """The server to speak to, if one was named.

    Raises:
        CallerError: the address cannot be used, or waking needs one.
    """
    if url is None:
        if wake and host == "codex":
            raise CallerError("codex is woken through its app-server: give --server ws://127.0.0.1:PORT")
        return None
    return Surface(url=surfaces.checked(host, url), wake=wake)


def remember(place: Place, host: Host, surface: Surface | None) -> bool:
    """Have the hub speak to this server from now on, or to none; whether that is new.

    Raises:
        CallerError: what is known of servers cannot be read.
        HubError: the hub's data folder cannot be used.
    """
    prepare(place)
    path = place.home / NAME
    before = surfaces.read(path)
    after = {name: one for name, one in before.items() if name != host}
    if surface is not None:
        after[host] = surface
    if after == before:
        return False
    surfaces.write(path, after)
    if place.answers:
        _reload(place)
    return True


def _reload(place: Place) -> None:
    try:
        asyncio.run(ask(place.socket, "hub/reload_hosts", {}, SECONDS))
    except (HubError, RpcError) as error:
        text = f"the hub was not told: {error}; restart it with `tidings down` and `tidings up`"
        raise CallerError(text) from error
