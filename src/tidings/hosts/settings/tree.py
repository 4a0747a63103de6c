"""JSON with comments as a tree that knows where everything stands in its text. Pure.

Only what an edit needs: kinds, places, keys and plain values. Comments and trailing commas are read over,
because some hosts allow them; anything else that is no JSON is refused with its line and column.
"""

from __future__ import annotations

import re
from typing import Literal

import msgspec

from tidings.errors import CallerError

DEPTH = 64
"""How deep values may be nested."""

_SPACE = re.compile(r"(?:[ \t\r\n\ufeff]|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"')
_SCALAR = re.compile(r"(?:true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)(?![\w.+-])")


class SettingsError(CallerError):
    """A settings file that cannot be changed safely; the message says where, and what to do."""


class Node(msgspec.Struct, frozen=True):
    """A value and its place. An object has `members`, a list has `items`; others have a plain `value`."""

    kind: Literal["object", "list", "plain"]
    start: int
    end: int
    members: tuple[tuple[Node, Node], ...] = ()
    items: tuple[Node, ...] = ()
    value: object = None

    def get(self, key: str) -> Node | None:
        """The member of that name; the last one counts, as for every reader."""
        return next((value for name, value in reversed(self.members) if name.value == key), None)

    def plain(self) -> object:
        """The value as Python has it."""
        if self.kind == "object":
            return {str(name.value): value.plain() for name, value in self.members}
        return [item.plain() for item in self.items] if self.kind == "list" else self.value


def parse(text: str) -> Node:
    """The tree of a text.

    Raises:
        SettingsError: it is no JSON, comments aside.
    """
    node, at = _value(text, skip(text, 0), 0)
    if (at := skip(text, at)) != len(text):
        raise _wrong(text, at, "the end of the file")
    return node


def skip(text: str, at: int) -> int:
    """The place of the next thing that is neither blank nor a comment."""
    found = _SPACE.match(text, at)
    return at if found is None else found.end()


def _value(text: str, at: int, depth: int) -> tuple[Node, int]:
    if depth > DEPTH:
        raise _wrong(text, at, f"no more than {DEPTH} values inside one another")
    opening = text[at : at + 1]
    if opening == "{":
        return _object(text, at, depth)
    if opening == "[":
        return _list(text, at, depth)
    found = (_STRING if opening == '"' else _SCALAR).match(text, at)
    if found is None:
        raise _wrong(text, at, "a value")
    return Node("plain", at, found.end(), value=msgspec.json.decode(found[0])), found.end()


def _object(text: str, start: int, depth: int) -> tuple[Node, int]:
    members: list[tuple[Node, Node]] = []
    at = skip(text, start + 1)
    while text[at : at + 1] != "}":
        key = _STRING.match(text, at)
        if key is None:
            raise _wrong(text, at, "a name in quotation marks, or }")
        name = Node("plain", at, key.end(), value=msgspec.json.decode(key[0]))
        at = skip(text, key.end())
        if text[at : at + 1] != ":":
            raise _wrong(text, at, "a colon")
        value, at = _value(text, skip(text, at + 1), depth + 1)
        members.append((name, value))
        at = _after(text, at, "}")
    return Node("object", start, at + 1, members=tuple(members)), at + 1


def _list(text: str, start: int, depth: int) -> tuple[Node, int]:
    items: list[Node] = []
    at = skip(text, start + 1)
    while text[at : at + 1] != "]":
        item, at = _value(text, at, depth + 1)
        items.append(item)
        at = _after(text, at, "]")
    return Node("list", start, at + 1, items=tuple(items)), at + 1


def _after(text: str, at: int, closing: str) -> int:
    """The place behind a value and its comma."""
    at = skip(text, at)
    following = text[at : at + 1]
    if following == ",":
        return skip(text, at + 1)
    if following != closing:
        raise _wrong(text, at, f"a comma or {closing}")
    return at


def _wrong(text: str, at: int, expected: str) -> SettingsError:
    line = text.count("\n", 0, at) + 1
    column = at - (text.rfind("\n", 0, at) + 1) + 1
    found = repr(text[at : at + 12]) if at < len(text) else "the end"
    return SettingsError(f"line {line}, column {column}: {expected} was expected, not {found}")
