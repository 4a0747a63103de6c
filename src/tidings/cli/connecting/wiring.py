"""The plan of a connection: for each host its file, its hooks or plugin, and what to tell the user."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

import tidings.hosts
from tidings.cli.connecting import files, manifest, plan
from tidings.cli.connecting.manifest import Entry, Manifest
from tidings.cli.connecting.places import (
    Scope,
    Target,
    command,
    hub_options,
    monitor_targets,
    target,
    wake_command,
)
from tidings.cli.connecting.plan import Plan
from tidings.core.reminder import Payload
from tidings.errors import CallerError
from tidings.hosts.happening import Host
from tidings.hosts.reach import REACH
from tidings.hosts.settings.wiring import groups
from tidings.hub.place import Place
from tidings.version import __version__

TRUST: dict[Host, str] = {
    "claude-code": (
        "Claude Code runs hooks of your own settings without asking again. It may show the change when a "
        "session runs already; sessions that run take it up by themselves. With --wake and without "
        "--project it also loads a plugin of ours from `skills` beside its settings, whose monitor "
        "is a command that stays beside each session in a terminal."
    ),
    "codex": (
        "Codex skips hooks that you have not reviewed, and `codex exec` does so silently: start `codex` "
        "once and trust the new hooks there. Automation has --dangerously-bypass-hook-trust."
    ),
    "gemini": (
        "Gemini CLI runs hooks only in folders that you trust, and warns once about hooks that a project "
        "brings. Sessions that run need a restart."
    ),
    "opencode": (
        "opencode loads a plugin as code of its own process, without asking. Its next start fetches "
        "@opencode-ai/plugin once and needs the network for that. Sessions that run need a restart."
    ),
}
"""What each host asks its user to trust, or does not."""

_PLUGIN = Path(tidings.hosts.__file__).parent / "plugins" / "opencode.js"
_OPTIONS = "const OPTIONS = { home: null, wake: false }\n"


class Wish(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be connected, and for whom."""

    host: Host
    scope: Scope
    folder: Path
    wake: bool = False


def connecting(wish: Wish, known: Manifest, environ: Mapping[str, str] = os.environ) -> tuple[Plan, ...]:
    """What connecting would do: to the host's own file, and then to others.

    Raises:
        CallerError: it cannot be done; nothing was changed.
    """
    place = target(wish.host, wish.scope, wish.folder, environ)
    if wish.wake and REACH[wish.host].idle_wake.how == "no":
        raise CallerError(f"{wish.host} cannot be woken: {REACH[wish.host].idle_wake.note}")
    now, entry = files.read(place.path), known.find(place.path)
    if place.plugin:
        return (plan.plugged(place, now, entry, plugin(place, wish.wake, environ), wish.wake),)
    waker = wake_command(place, environ) if wish.wake and wish.host == "claude-code" else None
    hooks = groups(wish.host, command(place, environ), waker)
    return (plan.connected(place, now, entry, hooks, wish.wake), *_monitor(wish, known, environ))


def disconnecting(wish: Wish, known: Manifest, environ: Mapping[str, str] = os.environ) -> tuple[Plan, ...]:
    """What disconnecting would do: to the host's own file, and then to others.

    Raises:
        CallerError: it cannot be done; nothing was changed.
    """
    place = target(wish.host, wish.scope, wish.folder, environ)
    now, entry = files.read(place.path), known.find(place.path)
    change = (plan.unplugged if place.plugin else plan.disconnected)(place, now, entry)
    return (change, *_monitor(msgspec.structs.replace(wish, wake=False), known, environ))


def _monitor(wish: Wish, known: Manifest, environ: Mapping[str, str]) -> list[Plan]:
    """The plugin with a monitor, where the host has such; it goes again when there is no wish to wake."""
    changes = []
    for place in monitor_targets(wish.scope, environ) if wish.host == "claude-code" else ():
        now, entry = files.read(place.path), known.find(place.path)
        if wish.wake:
            source = monitor_file(place, environ)
            changes.append(plan.plugged(place, now, entry, source, wish.wake))
        elif entry is not None or plan.is_our_plugin(now or b""):
            changes.append(plan.unplugged(place, now, entry))
    return changes


def plugin(place: Target, wake: bool, environ: Mapping[str, str]) -> str:
    """The plugin's source, for this user's hub."""
    source = _PLUGIN.read_text()
    named = None if place.shared else next(iter(hub_options(environ)[1:]), None)
    options = msgspec.json.encode({"home": named, "wake": wake}).decode()
    return source.replace(_OPTIONS, f"const OPTIONS = {options}\n")


def monitor_file(place: Target, environ: Mapping[str, str]) -> str:
    """What stands in a file of the plugin with a monitor."""
    about: Payload = {"name": "tidings", "version": __version__, "description": plan.PLUGIN}
    command = wake_command(place, environ, "--monitor")
    beside: Payload = {"name": "tidings", "command": command, "description": plan.MONITOR}
    content: object = about if place.path.name == "plugin.json" else [beside]
    return msgspec.json.format(msgspec.json.encode(content)).decode() + "\n"


def carry_out(changes: Sequence[Plan], place: Place, known: Manifest) -> None:
    """Write what plans say, and remember it; what goes, goes in the opposite order.

    Raises:
        CallerError: a file cannot be written.
        HubError: the hub's data folder cannot be used.
    """
    going = [each for each in changes if each.after is None]
    for each in (*(one for one in changes if one.after is not None), *reversed(going)):
        known = _carried_out(each, place, known)


def _carried_out(change: Plan, place: Place, known: Manifest) -> Manifest:
    path = change.target.path
    if change.after is None:
        former = known.find(path)
        files.remove(path, former.folders if former is not None else ())
    elif change.after != change.before:
        made = files.write(path, change.after)
        change = msgspec.structs.replace(change, entry=_with_folders(change.entry, made))
    after = known.without(path) if change.entry is None else known.with_entry(change.entry)
    if after != known:
        manifest.save(place, after)
    return after


def _with_folders(entry: Entry | None, made: tuple[str, ...]) -> Entry | None:
    return None if entry is None else msgspec.structs.replace(entry, folders=(*made, *entry.folders))
