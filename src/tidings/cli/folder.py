"""The folder that a command is started in, as a workspace of the hub: which one it is, and attaching it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from tidings.core.reminder import Payload
from tidings.core.text import is_unicode
from tidings.diagnostics.visible import visible
from tidings.errors import CallerError
from tidings.hub.client import ask
from tidings.hub.place import Place

FILE = "tidings.toml"
"""As `tidings.hub.workspace.settings` says it, which a command need not load."""
ENVIRONMENT_MOST = 256 * 1024
"""How many characters of the environment are sent: a line to the hub has a bound."""


def this_folder() -> Path:
    """The folder that the command was started in.

    Raises:
        CallerError: it is gone.
    """
    try:
        return Path.cwd()
    except OSError as error:
        raise CallerError("this folder is gone; go to one that exists, and try again") from error


def project_folder(start: Path) -> Path:
    """The nearest folder with a `tidings.toml`, up to the root of the repository; else `start` itself."""
    start = Path(os.path.realpath(start))
    for folder in (start, *start.parents):
        if (folder / FILE).exists():
            return folder
        if (folder / ".git").exists():
            break
    return start


async def attached(place: Place, folder: Path) -> Payload:
    """Attach a folder, with the environment of this process; gives its row.

    Raises:
        HubError: no hub answers.
        RpcError: the hub refused.
    """
    asked: Payload = {"path": str(folder), "environment": environment(os.environ)}
    return await ask(place.socket, "hub/attach", asked)


def environment(given: Mapping[str, str]) -> dict[str, str]:
    """What of an environment can be sent: variables that are text, without the longest if they are many."""
    sent: dict[str, str] = {}
    size = 0
    for name, value in sorted(given.items(), key=lambda one: len(one[1])):
        size += len(name) + len(value) + 8
        if size <= ENVIRONMENT_MOST and is_unicode(name) and is_unicode(value):
            sent[name] = value
    return sent


def told(row: Payload) -> Iterator[str]:
    """What a person wants to know of an attached folder."""
    watchers = ", ".join(str(one["name"]) for one in _rows(row, "watchers"))
    path = visible(str(row.get("path")))
    if problems(row):
        yield f"{path} is attached; its {FILE} is not used, watching {visible(watchers) or 'nothing'}"
    elif row.get("config") is None:
        yield f"{path} is attached; it has no {FILE} (write one: tidings init)"
    else:
        yield f"{path} is attached; watching {visible(watchers) or 'nothing'}"


def problems(row: Payload) -> list[str]:
    """What is wrong with its file."""
    found = row.get("problems")
    return [f"{FILE}: {visible(str(one))}" for one in found] if isinstance(found, list) else []


def _rows(answer: Payload, name: str) -> list[Payload]:
    rows = answer.get(name)
    return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
