"""The Model Context Protocol: servers that push reminders, and hosts that hear them, in both eras.

The pure part (names, advertisement, notification, filters, queue, router) imports no SDK; `emit` and `host`
stand on the official one (`pip install tidings[mcp]`). The names below are loaded when first used, so that
importing this package loads no SDK.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tidings.mcp.budget import Budget as Budget
    from tidings.mcp.config import ConfigError as ConfigError
    from tidings.mcp.config import Server as Server
    from tidings.mcp.config import read_config as read_config
    from tidings.mcp.emit.http import StartError as StartError
    from tidings.mcp.emit.http import Watch as Watch
    from tidings.mcp.emit.http import serving as serving
    from tidings.mcp.emit.progress import progress as progress
    from tidings.mcp.emit.reminders import Reminders as Reminders
    from tidings.mcp.emit.reminders import reminders_of as reminders_of
    from tidings.mcp.emit.serve import serve_http as serve_http
    from tidings.mcp.emit.serve import serve_stdio as serve_stdio
    from tidings.mcp.emit.tally import Dropped as Dropped
    from tidings.mcp.emit.tally import Stats as Stats
    from tidings.mcp.host.entry import from_acp as from_acp
    from tidings.mcp.host.link import Status as Status
    from tidings.mcp.host.listing import Caches as Caches
    from tidings.mcp.host.servers import Servers as Servers
    from tidings.mcp.host.settings import Backoff as Backoff
    from tidings.mcp.host.settings import Deadlines as Deadlines
    from tidings.mcp.rules import Rule as Rule

_HOME = {
    "budget": ("Budget",),
    "config": ("ConfigError", "Server", "read_config"),
    "emit.http": ("StartError", "Watch", "serving"),
    "emit.progress": ("progress",),
    "emit.reminders": ("Reminders", "reminders_of"),
    "emit.serve": ("serve_http", "serve_stdio"),
    "emit.tally": ("Dropped", "Stats"),
    "host.entry": ("from_acp",),
    "host.link": ("Status",),
    "host.listing": ("Caches",),
    "host.servers": ("Servers",),
    "host.settings": ("Backoff", "Deadlines"),
    "rules": ("Rule",),
}
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names}

_SDK = ("mcp", "mcp_types", "anyio", "httpx2", "pydantic")
"""What the extra brings: if one is missing, that is what to install."""

__all__ = [*_MODULE_OF]


def __getattr__(name: str) -> object:
    module = _MODULE_OF.get(name)
    if module is None:
        raise AttributeError(f"module 'tidings.mcp' has no attribute {name!r}")
    try:
        value: object = getattr(import_module(f"tidings.mcp.{module}"), name)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] not in _SDK:
            raise
        fix = f"tidings.mcp.{name} needs the package mcp: pip install 'tidings[mcp]'"
        raise ImportError(fix, name=error.name) from error
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
