"""What could stand at the end of a command line: for the scripts that `tidings completion` prints.

A shell asks at every Tab, so that the ids of sessions and reminders come straight from the hub's socket,
without loading the commands; a hub that does not answer at once has none. Everything else is read from the
commands themselves. The entry point of the console script calls `run`, before anything heavy is loaded.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterator, Sequence
from enum import Enum
from typing import Any, TypeAlias

SECONDS = 0.5
"""How long the hub has to answer."""
MOST = 100
"""How many reminders are offered."""

Candidate: TypeAlias = tuple[str, str]
"""A word, and what it is."""


def run(arguments: Sequence[str]) -> None:
    """Print the candidates: the shell's name comes first, then the words of the line up to the cursor."""
    shell, words = (arguments[0], list(arguments[1:])) if arguments else ("", [])
    if shell == "bash":
        words = split(words[0] if words else "")
    *before, current = words[1:] or [""]
    typed = current
    if current.startswith("-") and "=" in current:
        option, _, current = current.partition("=")
        before = [*before, option]
    cut = len(typed) - len(last_part(typed)) if shell == "bash" else 0
    for word, meaning in candidates(before, current):
        whole = typed[: len(typed) - len(current)] + word
        print(f"{whole[cut:]}\t{meaning}" if meaning else whole[cut:])


def split(line: str) -> list[str]:
    """The words of a line up to the cursor; the last is the one that is being typed."""
    line = line.removesuffix("\\")
    for closing in ("", '"', "'"):
        try:
            words = shlex.split(line + closing)
        except ValueError:
            continue
        return [*words, ""] if not closing and line[-1:].isspace() else words
    return line.split()


def last_part(word: str) -> str:
    """What bash replaces of a word: it begins anew behind = and :."""
    return word[max(word.rfind("="), word.rfind(":")) + 1 :]


def candidates(before: Sequence[str], current: str) -> list[Candidate]:
    """What may follow `before` and begins like `current`."""
    found = _ids(before) if not current.startswith("-") else None
    listed = _of_commands(before, current) if found is None else found()
    return [one for one in listed if one[0].startswith(current)]


def _ids(before: Sequence[str]) -> Callable[[], list[Candidate]] | None:
    """Where the ids come from that belong here, if any do."""
    option = before[-1] if before else ""
    if option in BY_OPTION:
        return BY_OPTION[option]
    command, *words = before or [""]
    if command in BY_COMMAND and not [word for word in words if not word.startswith("-")]:
        return BY_COMMAND[command]
    return None


def _sessions() -> list[Candidate]:
    rows = _asked("sessions", {}, "sessions")
    return [(str(row["sessionId"]), _short(row.get("agent") or row.get("workspace"))) for row in rows]


def _reminders() -> list[Candidate]:
    rows = _asked("pending", {"limit": MOST}, "reminders")
    return [(str(row["reminderId"]), _short(row["reminder"].get("body"))) for row in rows]


def _asked(name: str, params: dict[str, object], key: str) -> list[dict[str, Any]]:
    """The rows that the hub answers with; none when it does not. Loads nothing that it need not."""
    import json
    import socket

    from tidings.cli.hook.call import Unusable, socket_path

    line = json.dumps({"jsonrpc": "2.0", "id": 1, "method": f"hub/{name}", "params": params})
    try:
        with socket.socket(socket.AF_UNIX) as peer:
            peer.settimeout(SECONDS)
            peer.connect(socket_path(None, os.environ))
            peer.sendall(f"{line}\n".encode())
            with peer.makefile("rb") as answers:
                answer = json.loads(answers.readline())
    except (OSError, Unusable, ValueError):
        return []
    rows: list[dict[str, Any]] = answer.get("result", {}).get(key, [])
    return rows


def _short(value: object) -> str:
    from tidings.diagnostics.visible import visible

    return visible(" ".join(str(value or "").split()))[:60]


BY_OPTION: dict[str, Callable[[], list[Candidate]]] = {"--session": _sessions, "--id": _reminders}
"""The options whose value is an id that the hub knows."""

BY_COMMAND: dict[str, Callable[[], list[Candidate]]] = {"revoke": _reminders, "replay": _sessions}
"""The commands whose first word is one."""


def _of_commands(before: Sequence[str], current: str) -> list[Candidate]:
    """Commands, options and choices, by the commands themselves."""
    from tidings.cli.main import root

    command = root()
    for word in before:
        inner = command.get_command(None, word) if hasattr(command, "list_commands") else None
        command = inner or command
    if current.startswith("-"):
        return list(_options(command))
    if hasattr(command, "list_commands"):
        return [(name, "") for name in command.list_commands(None)]
    return _choices(command, before[-1] if before else "")


def _options(command: Any) -> Iterator[Candidate]:
    for parameter in command.params:
        if parameter.param_type_name == "option" and not parameter.hidden:
            for name in (*parameter.opts, *parameter.secondary_opts):
                yield name, " ".join((parameter.help or "").split())
    yield "--help", "Show how it is used."


def _choices(command: Any, option: str) -> list[Candidate]:
    """The values of an option that has a fixed set."""
    for parameter in command.params:
        if option in parameter.opts and isinstance(parameter.default, Enum):
            return [(str(one.value), "") for one in type(parameter.default)]
    return []
