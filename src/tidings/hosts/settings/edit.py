"""Hooks put into a settings file and taken out of it, as text: all that is not ours keeps its bytes. Pure.

A file has `hooks`, an object of lists by event; each list holds groups, each group a list of handlers. We
add a group of our own to each event. Every change is an insertion, so that taking out what was put in gives
the original back. Where a file was changed since, our handlers are found by their command and removed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

import msgspec

from tidings.core.producers import shown
from tidings.core.reminder import Payload
from tidings.hosts.settings.tree import Node, SettingsError, parse, skip

HOOKS = "hooks"
_INDENT = re.compile(r"^([ \t]+)\S", re.MULTILINE)

Ours = Callable[[Payload], bool]
"""Whether a handler is one of ours."""


class Insertion(msgspec.Struct, frozen=True):
    """A piece of text that was put in: its place, once all before it were in, and its length."""

    at: int
    length: int


class Edited(msgspec.Struct, frozen=True):
    """A text with our hooks in it, and what was put in, in order."""

    text: str
    inserted: tuple[Insertion, ...]


def added(text: str, groups: Mapping[str, Payload]) -> Edited:
    """`text` with one group more for each event; an empty text becomes a file of its own.

    Raises:
        SettingsError: it is no JSON, or its hooks have another shape.
    """
    if not text.strip():
        whole: Payload = {HOOKS: {event: [group] for event, group in groups.items()}}
        piece = _written(whole, "  ", "", "\n") + "\n"
        return Edited(text + piece, (Insertion(len(text), len(piece)),))
    inserted = []
    for event, group in groups.items():
        at, piece = _insertion(text, event, group)
        text = text[:at] + piece + text[at:]
        inserted.append(Insertion(at, len(piece)))
    return Edited(text, tuple(inserted))


def undone(text: str, inserted: Sequence[Insertion]) -> str:
    """`text` without what was put in, the last insertion first."""
    for one in reversed(inserted):
        text = text[: one.at] + text[one.at + one.length :]
    return text


def removed(text: str, ours: Ours, kept: frozenset[str] = frozenset()) -> str:
    """`text` without our handlers, and without the groups and lists that are empty then.

    Lists and `hooks` itself that stood there before us are `kept`, by the event's name.

    Raises:
        SettingsError: it is no JSON.
    """
    touched = {event for event, handler in handlers(parse(text)) if ours(handler)}
    spare = frozenset([*touched, HOOKS] if touched else ()) - kept
    while (place := _first(parse(text), ours, spare)) is not None:
        text = _cut(text, *place)
    return text


def events_of(text: str) -> frozenset[str]:
    """The events that a file has lists for, and `hooks` when it has them."""
    hooks = parse(text).get(HOOKS) if text.strip() else None
    if hooks is None or hooks.kind != "object":
        return frozenset()
    return frozenset([HOOKS, *(str(name.value) for name, _ in hooks.members)])


def handlers(root: Node) -> list[tuple[str, Payload]]:
    """Every handler of a file, with its event."""
    hooks = root.get(HOOKS)
    found: list[tuple[str, Payload]] = []
    for name, groups in hooks.members if hooks is not None else ():
        for group in groups.items:
            inner = group.get(HOOKS)
            plain = [one.plain() for one in inner.items] if inner is not None else []
            found += [(str(name.value), one) for one in plain if isinstance(one, dict)]
    return found


def checked(root: Node, events: Mapping[str, object]) -> None:
    """Refuse a file whose hooks are not where we would put ours.

    Raises:
        SettingsError: naming what stands there.
    """
    if root.kind != "object":
        raise SettingsError(f"the file holds {shown(root.plain())}; it must hold one object")
    hooks = root.get(HOOKS)
    if hooks is None:
        return
    if hooks.kind != "object":
        raise SettingsError(f"`hooks` is {shown(hooks.plain())}; it must be an object of lists")
    for event in events:
        groups = hooks.get(event)
        if groups is not None and groups.kind != "list":
            raise SettingsError(f"`hooks.{event}` is {shown(groups.plain())}; it must be a list")


def _insertion(text: str, event: str, group: Payload) -> tuple[int, str]:
    """Where one more group goes, and the text to put there."""
    root = parse(text)
    checked(root, {event: group})
    hooks = root.get(HOOKS)
    if hooks is None:
        return _appended(text, root, {event: [group]}, HOOKS)
    groups = hooks.get(event)
    if groups is None:
        return _appended(text, hooks, [group], event)
    return _appended(text, groups, group)


def _appended(text: str, into: Node, value: object, name: str | None = None) -> tuple[int, str]:
    """A value at the end of a list, or a member at the end of an object."""
    newline = "\r\n" if "\r\n" in text else "\n"
    step = found[1] if (found := _INDENT.search(text)) else "  "
    label = "" if name is None else f"{msgspec.json.encode(name).decode()}: "
    ends = [value.end for _, value in into.members] or [item.end for item in into.items]
    starts = [name.start for name, _ in into.members] or [item.start for item in into.items]
    if not ends:
        outer = _indent(text, into.start)
        body = label + _written(value, step, outer + step, newline)
        return into.start + 1, f"{newline}{outer + step}{body}{newline}{outer}"
    if _begins_line(text, starts[-1]):
        inner = _indent(text, starts[-1])
        return ends[-1], f",{newline}{inner}{label}{_written(value, step, inner, newline)}"
    return ends[-1], f", {label}{msgspec.json.encode(value).decode()}"


def _written(value: object, step: str, indent: str, newline: str) -> str:
    """A value as JSON over several lines, the first one without indent."""
    text = msgspec.json.format(msgspec.json.encode(value), indent=2).decode()
    lines = (line.lstrip(" ") for line in text.split("\n"))
    deep = (step * ((len(line) - len(line.lstrip(" "))) // 2) for line in text.split("\n"))
    return f"{newline}{indent}".join(map(str.__add__, deep, lines))


def _indent(text: str, at: int) -> str:
    """The blank beginning of the line in which this place is."""
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _begins_line(text: str, at: int) -> bool:
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return not line.strip() and "\n" in text[:at]


def _first(root: Node, ours: Ours, spare: frozenset[str]) -> tuple[Node, int] | None:
    """The container and position of the first thing to take out; `spare` may go once it is empty."""
    hooks = root.get(HOOKS)
    if hooks is None or hooks.kind != "object":
        return None
    for place, (name, groups) in enumerate(hooks.members):
        for number, group in enumerate(groups.items):
            inner = group.get(HOOKS)
            if inner is None:
                continue
            mine = [at for at, one in enumerate(inner.items) if _is(one, ours)]
            if mine and len(mine) == len(inner.items):
                return groups, number
            if mine:
                return inner, mine[0]
        if groups.kind == "list" and not groups.items and name.value in spare:
            return hooks, place
    if not hooks.members and HOOKS in spare:
        return root, next(at for at, (name, _) in enumerate(root.members) if name.value == HOOKS)
    return None


def _is(node: Node, ours: Ours) -> bool:
    plain = node.plain()
    return isinstance(plain, dict) and ours(plain)


def _cut(text: str, container: Node, place: int) -> str:
    """`text` without one item or member, its comma and the space it stood in."""
    spans = [(name.start, value.end) for name, value in container.members]
    spans = spans or [(item.start, item.end) for item in container.items]
    start, end = spans[place]
    if place > 0:
        before = spans[place - 1][1]
        comma = skip(text, before)
        return text[:comma] + _remarks(text[comma + 1 : start]) + text[end:]
    if len(spans) > 1:
        return text[:start] + text[spans[1][0] :]
    rest = _remarks(text[container.start + 1 : start]) + _remarks(
        text[end : container.end - 1].lstrip(" ,")
    )
    return text[: container.start + 1] + rest + text[container.end - 1 :]


def _remarks(text: str) -> str:
    """Blank text is dropped; one that holds a comment stays whole, and ends a line that needs it."""
    if not text.strip(" \t\r\n,"):
        return ""
    return text if text.endswith("\n") else text + "\n"
