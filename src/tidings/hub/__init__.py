"""The hub: a local daemon that takes reminders from anywhere and gives them to the sessions meant.

`Attached` joins a session of your own loop to it; `Hub` is the hub itself, without a wire.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tidings.hub.attached import Attached
    from tidings.hub.service import Hub

_HOMES = {"Attached": "tidings.hub.attached", "Hub": "tidings.hub.service"}

__all__ = ["Attached", "Hub"]


def __getattr__(name: str) -> object:
    """Fetch a public name from its home when it is first used."""
    from importlib import import_module

    if name not in _HOMES:
        raise AttributeError(f"module 'tidings.hub' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
