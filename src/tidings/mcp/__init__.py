"""The Model Context Protocol: servers that push reminders, and hosts that hear them, in both eras.

The pure part (names, advertisement, notification, filters, queue, router) imports no SDK; `emit` and `host`
stand on the official one (`pip install tidings[mcp]`). The names below are loaded when first used, so that
importing this package loads no SDK.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
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

_HOME = {
    "emit.http": ("StartError", "Watch", "serving"),
    "emit.progress": ("progress",),
    "emit.reminders": ("Reminders", "reminders_of"),
    "emit.serve": ("serve_http", "serve_stdio"),
    "emit.tally": ("Dropped", "Stats"),
}
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names}

__all__ = [*_MODULE_OF]


def __getattr__(name: str) -> object:
    module = _MODULE_OF.get(name)
    if module is None:
        raise AttributeError(f"module 'tidings.mcp' has no attribute {name!r}")
    try:
        value: object = getattr(import_module(f"tidings.mcp.{module}"), name)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] not in ("mcp", "mcp_types"):
            raise
        fix = f"tidings.mcp.{name} needs the package mcp: pip install 'tidings[mcp]'"
        raise ImportError(fix, name=error.name) from error
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
