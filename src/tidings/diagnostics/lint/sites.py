"""Where a file speaks of reminders: its calls, registered functions, returned effects, messages.

One walk over the tree gives the specs to judge, the selectors to check and the registered
providers. Nothing here says what is right or wrong; that is `rules.py`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TypeAlias

import msgspec

from tidings.core.producers import ALL_FIELDS, OPTION_FIELDS
from tidings.diagnostics.lint.calls import called_selector, called_specs, wire_specs
from tidings.diagnostics.lint.effects import bare, carried, only_carries, returned
from tidings.diagnostics.lint.literal import Options
from tidings.diagnostics.lint.names import Function, Names, names_of
from tidings.diagnostics.lint.registrars import REGISTRARS, Registration, decorated, registered
from tidings.diagnostics.lint.spec import Reader, Spec, spec_at

_Readers: TypeAlias = dict[Function, list[Reader]]


class Selection(msgspec.Struct, frozen=True):
    """A call of `clear_reminders`; `options` is None for a literal that is no mapping."""

    node: ast.Call
    options: Options | None


class Sites(msgspec.Struct, frozen=True):
    """Everything in a file that the rules look at."""

    tree: ast.Module
    names: Names
    specs: list[Spec]
    selections: list[Selection]
    providers: list[Registration]


def sites_of(tree: ast.Module) -> Sites:
    """Find the sites of a file."""
    sites = Sites(tree, names_of(tree), [], [], [])
    readers: _Readers = {}
    functions: list[Function] = []
    for node in ast.walk(tree):
        match node:
            case ast.Call():
                _read_call(node, sites, readers)
            case ast.Dict():
                sites.specs.extend(wire_specs(node, sites.names))
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                functions.append(node)
                readers.setdefault(node, []).extend(decorated(node, sites.names))
            case ast.Lambda():
                functions.append(node)
    for function in functions:
        sites.specs.extend(_returned_specs(function, readers.get(function, []), sites.names))
    return sites


def _read_call(call: ast.Call, sites: Sites, readers: _Readers) -> None:
    name = sites.names.called(call.func)
    if name is None:
        return
    sites.specs.extend(called_specs(call, name, sites.names))
    if name == "clear_reminders":
        sites.selections.append(Selection(call, called_selector(call, sites.names)))
    elif name in REGISTRARS:
        found = registered(call, name, sites.names)
        sites.providers.extend(found.providers)
        for function in found.functions:
            readers.setdefault(function, []).append(found.reader)


def _returned_specs(function: Function, readers: list[Reader], names: Names) -> Iterator[Spec]:
    for node in returned(function):
        for reader in dict.fromkeys(readers):
            places = (*carried(node, names), *bare(node, names, only=reader == "provider"))
            yield from (spec for place in places for spec in spec_at(place, reader, names))
        if not readers:
            yield from _unregistered(node, names)


def _unregistered(node: ast.expr, names: Names) -> Iterator[Spec]:
    """The effects of a function that another file may register; only what is surely meant for us."""
    if only_carries(node, names):
        for place in carried(node, names):
            yield from (s for s in spec_at(place, "hook", names) if _looks_like_ours(s, names))


def _looks_like_ours(spec: Spec, names: Names) -> bool:
    if spec.options is None or not spec.options.whole:
        return False
    keys = spec.options.given.keys()
    known, odd = keys & OPTION_FIELDS, keys - OPTION_FIELDS
    if odd & ALL_FIELDS:
        return False
    return names.speaks_of_us or len(known) > max(1, len(odd))
