"""What an expression is without running it: its value, the text in it, the options it spells out.

An expression that is not literal has no value here (`UNKNOWN`), and nobody judges it. Text is
wider than value: of an f-string the fixed parts are known, and a gap stands for the rest.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from functools import reduce
from operator import or_
from typing import Final

import msgspec

from tidings.diagnostics.lint.names import Names

GAP = "\ufffc"
"""Stands in a text for what is only known at run time."""


class _Unknown:
    """The value of an expression that is not literal."""


UNKNOWN: Final = _Unknown()


def value_of(node: ast.expr, names: Names) -> object:
    """The literal value of `node`, or `UNKNOWN`."""
    node = names.resolve(node)
    if isinstance(node, (ast.JoinedStr, ast.BinOp)) and _is_fixed(node, names):
        return text_of(node, names)
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError):
        return UNKNOWN


def _is_fixed(node: ast.expr, names: Names) -> bool:
    """Whether an expression is nothing but joined string literals."""
    node = names.resolve(node)
    match node:
        case ast.BinOp(op=ast.Add(), left=left, right=right):
            return _is_fixed(left, names) and _is_fixed(right, names)
        case ast.JoinedStr(values=values):
            return all(isinstance(value, ast.Constant) for value in values)
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def text_of(node: ast.expr, names: Names) -> str | None:
    """The text that `node` gives, with gaps; None if it is not made from string literals."""
    node = names.resolve(node)
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=values):
            return _with_gaps([text_of(value, names) for value in values])
        case ast.BinOp(op=ast.Add(), left=left, right=right):
            parts = (text_of(left, names), text_of(right, names))
            return None if parts == (None, None) else _with_gaps(parts)
        case ast.BinOp(op=ast.Mod(), left=left):
            return text_of(left, names)
        case ast.IfExp(body=body, orelse=orelse):
            parts = (text_of(body, names), text_of(orelse, names))
            return "\n".join(part for part in parts if part is not None) or None
        case ast.Call(func=ast.Attribute(value=inner), args=args):
            return text_of(inner, names) or (text_of(args[0], names) if args else None)
    return None


def _with_gaps(parts: Sequence[str | None]) -> str:
    return "".join(GAP if part is None else part for part in parts)


_SOMETHING = ast.Name(id="", ctx=ast.Load())


class Options(msgspec.Struct, frozen=True):
    """What a dict or a call spells out: each key's expression and the place it is written at.

    `whole` is False when a spread or a computed key may add more.
    """

    given: dict[object, ast.expr]
    places: dict[str, ast.AST]
    whole: bool = True

    def __or__(self, more: Options) -> Options:
        """Both, where neither can give a key of the other again."""
        return Options(
            {**self.given, **more.given},
            {**self.places, **more.places},
            self.whole and more.whole,
        )

    def then(self, later: Options) -> Options:
        """Both, where `later` wins; if it is not whole, the earlier values are not certain."""
        if later.whole:
            return self | later
        unsure: dict[object, ast.expr] = dict.fromkeys(self.given, _SOMETHING)
        return Options(unsure, self.places) | later

    def value(self, name: str, names: Names) -> object:
        """The literal value under `name`, None if there is no such key."""
        return value_of(self.given[name], names) if name in self.given else None


EMPTY = Options({}, {})
OPEN = Options({}, {}, whole=False)


def options_of(node: ast.expr, names: Names) -> Options | None:
    """The options that a dict display or a `dict(...)` call spells out, else None."""
    node = names.resolve(node)
    if isinstance(node, ast.Dict):
        return reduce(Options.then, _items(node, names), EMPTY)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "dict":
        return keywords_of(node, names) if not node.args else OPEN
    return None


def keywords_of(call: ast.Call, names: Names) -> Options:
    """The options that a call's keywords spell out."""
    parts = (
        Options({word.arg: word.value}, {word.arg: word})
        if word.arg is not None
        else _spread(word.value, names)
        for word in call.keywords
    )
    return reduce(or_, parts, EMPTY)


def _items(node: ast.Dict, names: Names) -> Iterator[Options]:
    for key, value in zip(node.keys, node.values, strict=True):
        if key is None:
            yield _spread(value, names)
            continue
        name = value_of(key, names)
        known = name is not UNKNOWN and name.__hash__ is not None
        yield Options({name: value}, {str(name): key}) if known else OPEN


def _spread(node: ast.expr, names: Names) -> Options:
    return options_of(node, names) or OPEN
