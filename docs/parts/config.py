"""The tables of `tidings.toml`, read from its types: for config.md."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from docs.parts.markdown import table
from tidings.hub.workspace import settings
from tidings.hub.workspace.reading import wanted

SECTIONS: dict[str, type[msgspec.Struct]] = {
    "watch.files": settings.Files,
    "watch.tests": settings.Suite,
    "watch.commands.NAME": settings.Check,
    "watch.reviews": settings.Reviews,
    "servers.NAME": settings.Server,
    "sessions": settings.Sessions,
    "budget": settings.Limits,
}
"""Each table of the file, in the order of the page."""

SHARED: dict[str, str] = {
    "folder": "where to watch, and to run the command",
    "only": "globs as in `.gitignore`; `!` leaves out",
    "poll": "look again and again where the system cannot tell of changes",
    "every": "run by the clock and not when files change",
    "deadline": "when a run is stopped and counts as failed",
    "enabled": "`false` switches it off",
}
"""What keys mean that several tables have."""

OWN: dict[tuple[str, str], str] = {
    ("watch.tests", "command"): "the command; without it the project's own runner is found: "
    "pytest, cargo, go, jest or vitest",
    (
        "watch.commands.NAME",
        "command",
    ): "the command; a text is split as a shell would, but none runs it",
    ("watch.commands.NAME", "report"): "which runs are told: those that turn, or every one",
    ("watch.commands.NAME", "first"): "whether the first run is told",
    (
        "watch.reviews",
        "secret_env",
    ): "the variables that hold the secrets of webhooks",
    ("watch.reviews", "scheme"): "how deliveries are signed",
    ("watch.reviews", "host"): "where to listen",
    ("watch.reviews", "port"): "where to listen",
    ("watch.reviews", "path"): "where to listen",
    ("watch.reviews", "repositories"): "only these, as `owner/name`; all without it",
    ("watch.reviews", "poll_url"): "a JSON endpoint to ask",
    ("watch.reviews", "token_env"): "the variable that holds a bearer token for the endpoint",
    ("watch.reviews", "every"): "how often it is asked",
    ("watch.reviews", "items"): "where the list stands in its answer",
    ("watch.reviews", "id"): "an item's id",
    ("watch.reviews", "title"): "an item's title",
    ("watch.reviews", "state"): "an item's state",
    ("servers.NAME", "command"): "a program to start; this or `url`",
    ("servers.NAME", "url"): "an address to connect to; `${NAME}` is filled in",
    ("servers.NAME", "env"): "its variables; `${NAME}` and `${NAME:-default}` are filled in",
    ("servers.NAME", "headers"): "for `url`; `${NAME}` is filled in",
    ("servers.NAME", "folder"): "where the program is started",
    ("servers.NAME", "era"): "which protocol to speak",
    ("servers.NAME", "grants"): "powers that it may claim",
    ("servers.NAME", "budget"): "how much it may say, as `[budget]`",
    ("servers.NAME", "rules"): "what else of it becomes a reminder; yours come before the defaults",
    ("sessions", "tags"): "sessions with one of these tags hear the news, wherever they work; "
    "without it everybody in the folder does",
    ("sessions", "deliver_within"): "how long news waits for a session to come",
    ("budget", "per_minute"): "reminders of one watcher",
    ("budget", "bytes_per_minute"): "bytes of one watcher",
}
"""What keys mean that one table has, or that mean something else there."""


def tables() -> str:
    """Every table of the file with its keys."""
    return "\n\n".join(_section(name, shape) for name, shape in SECTIONS.items())


def _section(name: str, shape: type[msgspec.Struct]) -> str:
    fields = msgspec.structs.fields(shape)
    rows = [(f"`{one.name}`", wanted(one.type), _default(one), meaning(name, one.name)) for one in fields]
    said = (shape.__doc__ or "").partition("\n")[0]
    return f"### `[{name}]`\n\n{said}\n\n{table(('key', 'value', 'default', 'meaning'), rows)}"


def meaning(section: str, field: str) -> str:
    """What a key is for."""
    return OWN.get((section, field)) or SHARED[field]


def _default(field: Any) -> str:
    if field.required:
        return "required"
    value = field.default_factory() if field.default is msgspec.NODEFAULT else field.default
    if value is None or value == {} or value == () or isinstance(value, msgspec.Struct):
        return ""
    return f"`{json.dumps(value)}`"
