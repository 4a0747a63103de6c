"""Turning what servers push anyway into reminders: changed resources and lists, finished progress. Pure.

A `Rule` says which notification, about what, becomes which sentence. `DEFAULTS` are quiet about lists that
the host reads again by itself; a user's config adds rules or switches them off. The first that fits wins.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase

import msgspec

from tidings.core.producers import shown
from tidings.core.reminder import Payload
from tidings.errors import CallerError
from tidings.mcp.names import (
    PROGRESS,
    PROMPTS_CHANGED,
    RESOURCE_UPDATED,
    RESOURCES_CHANGED,
    TOOLS_CHANGED,
)

EVENTS = {
    "resource_updated": RESOURCE_UPDATED,
    "tools_changed": TOOLS_CHANGED,
    "prompts_changed": PROMPTS_CHANGED,
    "resources_changed": RESOURCES_CHANGED,
    "progress_finished": PROGRESS,
}
"""The notifications that a rule can be about, by the name that a config gives them."""

_LONGEST = 300


class Rule(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`on` one event about what `match` fits (a shell pattern of uris or messages): say `body`.

    `{server}`, `{uri}` and `{message}` in `body` and `dedupe_key` are filled in; no body means silence.
    """

    on: str
    match: str = "*"
    body: str | None = None
    dedupe_key: str | None = None
    ttl_turns: int = 2
    tags: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.on not in EVENTS:
            raise CallerError(f"rule `on` must be one of {', '.join(EVENTS)}; got {shown(self.on)}")
        if self.ttl_turns < 1:
            raise CallerError(f"rule `ttl_turns` must be 1 or more; got {self.ttl_turns!r}")


DEFAULTS = (
    Rule(
        on="resource_updated",
        body="{uri} changed on the server {server}; read it again before you rely on it.",
        dedupe_key="resource_updated:{uri}",
        tags=("resource_updated",),
    ),
    Rule(
        on="tools_changed",
        body="The tools of the server {server} changed.",
        dedupe_key="tools_changed",
        tags=("tools_changed",),
    ),
    Rule(
        on="progress_finished",
        body="{server} finished: {message}",
        dedupe_key="progress:{message}",
        tags=("progress",),
    ),
)
"""What is said unless a config says otherwise."""


def reminder_for(
    method: str, params: Mapping[str, object], server: str, rules: Sequence[Rule] = DEFAULTS
) -> Payload | None:
    """The options of the reminder that a notification means, if a rule says so."""
    about = _about(method, params)
    if about is None:
        return None
    subject = about["uri"] or about["message"]
    for rule in rules:
        if EVENTS[rule.on] == method and fnmatchcase(subject, rule.match):
            return _spoken(rule, {"server": server, **about})
    return None


def _about(method: str, params: Mapping[str, object]) -> dict[str, str] | None:
    """What the notification is about; None when nothing came of it yet."""
    if method == PROGRESS and not _finished(params):
        return None
    return {"uri": _text(params.get("uri")), "message": _text(params.get("message"))}


def _finished(params: Mapping[str, object]) -> bool:
    done, total = params.get("progress"), params.get("total")
    numbers = isinstance(done, (int, float)) and isinstance(total, (int, float))
    return numbers and done >= total  # type: ignore[operator]


def _text(value: object) -> str:
    return " ".join(value.split())[:_LONGEST] if isinstance(value, str) else ""


def _spoken(rule: Rule, words: Mapping[str, str]) -> Payload | None:
    if rule.body is None:
        return None
    options: Payload = {
        "body": _filled(rule.body, words),
        "tags": list(rule.tags),
        "ttl_turns": rule.ttl_turns,
    }
    if rule.dedupe_key is not None:
        options["dedupe_key"] = _filled(rule.dedupe_key, words)
    return options


def _filled(template: str, words: Mapping[str, str]) -> str:
    """Only our three names are filled in; what a server sent is never a template itself."""
    parts = template.split("{")
    filled = [parts[0]]
    for part in parts[1:]:
        name, brace, rest = part.partition("}")
        filled.append(words[name] + rest if brace and name in words else "{" + part)
    return "".join(filled)
