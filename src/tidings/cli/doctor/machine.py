"""Checks of this machine: Python, extras, the data folder, the hub's own file, the token, the disk."""

from __future__ import annotations

import os
import platform
import shutil
import sqlite3
import stat
import sys
import tomllib
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from tidings.cli.doctor.finding import Finding, Here, note, ok, problem
from tidings.hub.failure import HubError
from tidings.hub.place import prepare, token_of
from tidings.hub.policy import FILE, TABLE, read_policy
from tidings.hub.workspace.problems import WorkspaceConfigError
from tidings.hub.workspace.reading import read_file

OLDEST = (3, 11)
LITTLE, TOO_LITTLE = 1024**3, 100 * 1024**2

EXTRAS: dict[str, tuple[tuple[str, ...], str]] = {
    "hub": (("starlette", "uvicorn"), "the hub itself"),
    "watch": (("watchfiles",), "watching files, commands and tests"),
    "mcp": (("mcp",), "MCP servers"),
    "acp": (("acp",), "agents over ACP"),
    "memory": (("wordllama",), "similarity in `tidings memory`"),
    "recall": (("tantivy",), "a quicker index for many facts"),
}
"""Each extra, the modules it brings, and what they are for."""


def python(_: Here) -> Iterator[Finding]:
    """Whether Python is new enough."""
    found = f"Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}"
    if sys.version_info < OLDEST:
        yield problem(found, "Tidings needs Python 3.11 or newer")
    else:
        yield ok(found)


def extras(here: Here) -> Iterator[Finding]:
    """Which extras are there, and whether this folder's file needs one that is not."""
    missing = [name for name, (modules, _) in EXTRAS.items() if not all(map(find_spec, modules))]
    needed = _needed(here.folder)
    for name in missing:
        install = f"pip install 'tidings[{name}]'"
        what = f"tidings[{name}] is not installed: {EXTRAS[name][1]}"
        yield problem(f"{what} (needed here)", install) if name in needed else note(what, install)
    there = [name for name in EXTRAS if name not in missing]
    yield ok(f"installed: {', '.join(there) or 'none'}")


def _needed(folder: Path) -> set[str]:
    """The extras without which the hub, or what the folder's file says, does not work."""
    try:
        file = read_file(folder)
    except WorkspaceConfigError:
        return {"hub"}
    if file is None:
        return {"hub"}
    watch = file.config.watch
    watches = bool(watch.files or watch.tests or watch.commands)
    return {"hub", *(("watch",) if watches else ()), *(("mcp",) if file.config.servers else ())}


def data_folder(here: Here) -> Iterator[Finding]:
    """Whether the hub's folder is its owner's alone."""
    home = here.place.home
    if not home.exists():
        yield note(f"{home} is not there yet", "`tidings up` makes it")
        return
    try:
        prepare(here.place)
    except HubError as error:
        yield problem(str(error), f"chmod go-w {home}")
        return
    if not os.access(home, os.R_OK | os.W_OK | os.X_OK):
        yield problem(f"{home} cannot be read and written", f"chmod u+rwx {home}")
        return
    yield ok(str(home))


def settings(here: Here) -> Iterator[Finding]:
    """Whether the hub's own file can be used, if there is one, and says nothing that nobody reads."""
    path = here.place.home / FILE
    if not path.exists():
        yield ok("there is none: the defaults hold")
        return
    fix = f"edit {path}, then start the hub anew: tidings down; tidings up"
    try:
        read_policy(here.place.home)
    except HubError as error:
        yield problem(str(error), fix)
        return
    for name in tomllib.loads(path.read_text(encoding="utf-8")):
        if name != TABLE:
            yield note(f"{path}: `{name}` is read by nobody; known is [{TABLE}]", fix)
    yield ok(str(path))


def token(here: Here) -> Iterator[Finding]:
    """Whether the token can be read, by its owner alone."""
    path = here.place.token_file
    if not path.exists():
        yield note("there is no token yet", "`tidings up` makes it")
        return
    try:
        token_of(here.place)
    except (HubError, OSError) as error:
        yield problem(str(error), f"rm {path}, then start the hub again: tidings down; tidings up")
        return
    yield ok(f"{path} ({stat.filemode(path.stat().st_mode)})")


def disk(here: Here) -> Iterator[Finding]:
    """Whether there is room for the log."""
    home = here.place.home
    while not home.exists():
        home = home.parent
    free = shutil.disk_usage(home).free
    amount = f"{free / 1024**3:.1f} GiB" if free >= LITTLE else f"{free / 1024**2:.1f} MiB"
    text = f"{amount} are free at {home}"
    if free < TOO_LITTLE:
        yield problem(text, "make room: a hub that cannot write accepts nothing")
    elif free < LITTLE:
        yield note(text, "make room, or shorten the log: tidings purge --older-than 7d")
    else:
        yield ok(text)
