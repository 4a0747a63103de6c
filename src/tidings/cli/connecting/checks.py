"""What `tidings doctor` asks about coding agents: are the connected ones still, and who is not yet."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path

from tidings.cli.connecting import files, manifest
from tidings.cli.connecting.manifest import Entry
from tidings.cli.connecting.places import monitor_targets, target
from tidings.cli.connecting.plan import is_our_plugin
from tidings.cli.doctor.finding import Finding, Here, note, ok, problem
from tidings.cli.hook.call import Unusable, socket_path
from tidings.errors import CallerError
from tidings.hosts.happening import Host
from tidings.hosts.settings.edit import handlers
from tidings.hosts.settings.tree import parse
from tidings.hosts.settings.wiring import EVENTS, is_ours

PROGRAMS: dict[Host, str] = {
    "claude-code": "claude",
    "codex": "codex",
    "gemini": "gemini",
    "opencode": "opencode",
}
"""The command of each host."""


def checks(here: Here) -> Iterator[Finding]:
    """Look at every connection, and at the hosts that have none."""
    known = manifest.load(here.place).entries
    for entry in known:
        yield _checked(entry)
    connected = {entry.host for entry in known}
    for host, program in PROGRAMS.items():
        if host not in connected and shutil.which(program) is not None:
            yield note(f"{host} is installed and not connected", f"tidings connect {host}")
    if here.running and connected and (found := _socket()) != here.place.socket:
        text = f"hooks look for the hub at {found or 'no socket'}, it listens at {here.place.socket}"
        yield problem(text, "connect again with the same TIDINGS_HOME and XDG_RUNTIME_DIR as the hub")


def _checked(entry: Entry) -> Finding:
    again = _again(entry)
    try:
        data = files.read(Path(entry.path))
        missing = None if data is None else _missing(entry, data)
    except CallerError as error:
        return problem(f"{entry.host}: {error}", f"mend the file, then `{again}`")
    if missing is None:
        return problem(f"{entry.host}: {entry.path} is gone", again)
    if missing:
        return problem(f"{entry.host}: {entry.path} no longer has {', '.join(missing)}", again)
    return ok(f"{entry.host} is connected in {entry.path}")


def _again(entry: Entry) -> str:
    """The command that made this connection, where its folder matters with that."""
    of_user = {target(entry.host, "user", Path()).path, *(each.path for each in monitor_targets("user"))}
    wake = " --wake" if entry.wake else ""
    if Path(entry.path) in of_user:
        return f"tidings connect {entry.host}{wake}"
    folder = Path(entry.path).parents[2 if entry.host == "opencode" else 1]
    return f"cd {shlex.quote(str(folder))} && tidings connect {entry.host} --project{wake}"


def _missing(entry: Entry, data: bytes) -> list[str]:
    """What is not there any more: events without our hook, or programs that hooks name."""
    if not entry.inserted:
        return _missing_of_plugin(data)
    ours = [(event, one) for event, one in handlers(parse(data.decode())) if is_ours(one)]
    events = {event for event, _ in ours}
    hooks = [f"a hook for {event}" for event in EVENTS[entry.host] if event not in events]
    return hooks + _gone(str(one["command"]) for _, one in ours)


def _missing_of_plugin(data: bytes) -> list[str]:
    if not is_our_plugin(data):
        return ["our plugin"]
    rows = parse(data.decode()).items if data.startswith(b"[") else ()
    return _gone(str(command.value) for row in rows if (command := row.get("command")) is not None)


def _gone(commands: Iterable[str]) -> list[str]:
    """The programs of commands that are not there any more."""
    words = {word for each in commands for word in shlex.split(each) if _is_gone(word)}
    return [f"the program {word}" for word in sorted(words)]


def _is_gone(word: str) -> bool:
    named = word.startswith("/") and word.endswith(("python", "python3", ".py", "/tidings"))
    return named and not os.path.exists(word)


def _socket() -> str | None:
    try:
        return socket_path(None, os.environ)
    except (Unusable, OSError):
        return None
