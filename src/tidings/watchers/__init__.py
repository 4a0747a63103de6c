"""Watchers: something outside the conversation happens, and the agent is told in a sentence.

A watcher is an async iterator of `Told` values. `watching(session, …)` puts them into a session of this
process; `tidings watch` serves the same watchers as MCP servers. What to say is decided by pure functions;
the modules that wait are thin. Importing this package loads none of it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tidings.watchers.command import CommandWatcher as CommandWatcher
    from tidings.watchers.files import FileWatcher as FileWatcher
    from tidings.watchers.joining import watching as watching
    from tidings.watchers.own import OwnWrites as OwnWrites
    from tidings.watchers.reviews.poller import PollWatcher as PollWatcher
    from tidings.watchers.reviews.receiver import WebhookWatcher as WebhookWatcher
    from tidings.watchers.suites import SuiteWatcher as SuiteWatcher
    from tidings.watchers.told import Noticed as Noticed
    from tidings.watchers.told import Told as Told
    from tidings.watchers.told import Watcher as Watcher

_HOMES = {
    "CommandWatcher": "command",
    "FileWatcher": "files",
    "Noticed": "told",
    "OwnWrites": "own",
    "PollWatcher": "reviews.poller",
    "SuiteWatcher": "suites",
    "Told": "told",
    "Watcher": "told",
    "WebhookWatcher": "reviews.receiver",
    "watching": "joining",
}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return list(__all__)
