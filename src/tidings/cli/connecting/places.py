"""Where each host keeps its settings, for the user or for a project, and the command that its hooks run.

Nothing that connects to the hub is a secret: the command finds the hub's socket, which only its owner can
reach. So no token is written anywhere. Files that a team may share name `tidings` by its name alone.
"""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec

from tidings.cli.hook import call
from tidings.errors import CallerError
from tidings.hosts.happening import Host
from tidings.hub.place import HOME_VARIABLE

Scope: TypeAlias = Literal["user", "project"]


class Target(msgspec.Struct, frozen=True):
    """A file that is changed for a host; `shared` says that others may get it, with the project."""

    host: Host
    path: Path
    shared: bool = False
    plugin: bool = False


def target(host: Host, scope: Scope, folder: Path, environ: Mapping[str, str] = os.environ) -> Target:
    """The file of a host, for this user or for the project in `folder`."""
    if scope == "project":
        return _of_project(host, folder)
    home = Path(environ.get("HOME") or os.path.expanduser("~"))
    match host:
        case "claude-code":
            base = Path(environ.get("CLAUDE_CONFIG_DIR") or home / ".claude")
            return Target(host, base / "settings.json")
        case "codex":
            return Target(host, Path(environ.get("CODEX_HOME") or home / ".codex") / "hooks.json")
        case "gemini":
            return Target(host, home / ".gemini" / "settings.json")
        case "opencode":
            config = Path(environ.get("XDG_CONFIG_HOME") or home / ".config")
            return Target(host, config / "opencode" / "plugins" / "tidings.js", plugin=True)


def _of_project(host: Host, folder: Path) -> Target:
    match host:
        case "claude-code":
            return Target(host, folder / ".claude" / "settings.local.json")
        case "codex":
            return Target(host, folder / ".codex" / "hooks.json", shared=True)
        case "gemini":
            return Target(host, folder / ".gemini" / "settings.json", shared=True)
        case "opencode":
            return Target(host, folder / ".opencode" / "plugins" / "tidings.js", shared=True, plugin=True)


def command(place: Target, environ: Mapping[str, str] = os.environ) -> str:
    """What a hook runs: the small command by its path, or by its name where the file is shared."""
    if place.shared and shutil.which("tidings") is not None:
        return f"tidings hook {place.host}"
    words = [sys.executable, "-I", "-S", os.path.abspath(call.__file__), place.host]
    return shlex.join([*words, *hub_options(environ)])


def monitor_targets(wish: Scope, environ: Mapping[str, str] = os.environ) -> tuple[Target, ...]:
    """The files of the plugin whose monitor stands beside each session of Claude Code, outermost first.

    It loads plugins from this folder of the user's, and none of a project's.
    """
    if wish == "project":
        return ()
    folder = target("claude-code", "user", Path(), environ).path.parent / "skills" / "tidings"
    inside = (Path(".claude-plugin", "plugin.json"), Path("monitors", "monitors.json"))
    return tuple(Target("claude-code", folder / each, plugin=True) for each in inside)


def wake_command(place: Target, environ: Mapping[str, str] = os.environ, option: str = "--wake") -> str:
    """What waits beside an idle session, or with `--monitor` beside any.

    Raises:
        CallerError: the `tidings` script cannot be found.
    """
    beside = os.path.join(os.path.dirname(sys.executable), "tidings")
    found = beside if os.access(beside, os.X_OK) else shutil.which("tidings")
    if found is None:
        raise CallerError("--wake needs the `tidings` script on the PATH; install Tidings with pip or pipx")
    return shlex.join([found, "hook", place.host, option, *hub_options(environ)])


def hub_options(environ: Mapping[str, str]) -> list[str]:
    """Names the hub's folder, when it is not where everybody looks."""
    named = environ.get(HOME_VARIABLE)
    return ["--home", os.path.abspath(named)] if named else []
