"""What the names of a file stand for, as far as the file itself makes it certain.

A name counts as known only when the file binds it once: then it is its one value wherever it
is read. Anything that can be changed in place must also be read only once. Which function a call
means follows the imports: `td.inject_reminder`, an alias, or a name that the file never binds.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from typing import TypeAlias

import msgspec

PACKAGE = "tidings"
_USUAL = (PACKAGE, "td")
Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_CHANGEABLE = (ast.Dict, ast.List, ast.Set, ast.Call)


class Names(msgspec.Struct, frozen=True):
    """The bindings of a file: how often each name is bound and read, and to what."""

    bound: Counter[str]
    read: Counter[str]
    origins: dict[str, str]
    values: dict[str, ast.expr]
    functions: dict[str, Function]

    @property
    def speaks_of_us(self) -> bool:
        """Whether the file imports from this package."""
        return any(_is_ours(origin) for origin in self.origins.values())

    def resolve(self, node: ast.expr) -> ast.expr:
        """What a name stands for if that is certain, else `node` itself."""
        if not isinstance(node, ast.Name) or self.bound[node.id] != 1:
            return node
        value = self.values.get(node.id, node)
        if isinstance(value, _CHANGEABLE) and self.read[node.id] != 1:
            return node
        return value

    def function(self, node: ast.expr) -> Function | None:
        """The function of this file that `node` names or is."""
        if isinstance(node, ast.Lambda):
            return node
        if isinstance(node, ast.Name) and self.bound[node.id] == 1:
            value = self.values.get(node.id)
            return value if isinstance(value, ast.Lambda) else self.functions.get(node.id)
        return None

    def called(self, func: ast.expr) -> str | None:
        """The name by which this package knows the function that `func` refers to, if it may."""
        if isinstance(func, ast.Name):
            origin = self.origins.get(func.id)
            if origin is not None:
                return origin.rpartition(".")[2] if _is_ours(origin) else None
            return None if self.bound[func.id] else func.id
        return self._attribute(func) if isinstance(func, ast.Attribute) else None

    def is_package_function(self, func: ast.expr) -> bool:
        """Whether `func` is surely a function of the package, not a method of some object."""
        if isinstance(func, ast.Name):
            return True
        root = _root(func)
        origin = self.origins.get(root, PACKAGE if root in _USUAL and not self.bound[root] else "")
        return _is_ours(origin)

    def _attribute(self, func: ast.Attribute) -> str | None:
        if isinstance(func.value, ast.Name) and func.value.id in ("self", "cls", "super"):
            return None
        origin = self.origins.get(_root(func))
        return None if origin is not None and not _is_ours(origin) else func.attr


def names_of(tree: ast.Module) -> Names:
    """Collect the bindings of a whole file, all scopes together."""
    names = Names(Counter(), Counter(), {}, {}, {})
    for node in ast.walk(tree):
        names.bound.update(_bindings(node))
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            names.read[node.id] += 1
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            names.functions[node.name] = node
        names.origins.update(_imports(node))
        names.values.update(_assigned(node))
    for name in _circular(names.values):
        del names.values[name]
    return names


def _bindings(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Name(id=name, ctx=ast.Store() | ast.Del()) | ast.arg(arg=name):
            yield name
        case ast.alias(name=name, asname=alias):
            yield alias or name.partition(".")[0]
        case ast.ExceptHandler(name=str(name)) | ast.MatchStar(name=str(name)):
            yield name
        case ast.MatchAs(name=str(name)) | ast.MatchMapping(rest=str(name)):
            yield name
        case ast.Global(names=many) | ast.Nonlocal(names=many):
            yield from many
        case _ if isinstance(node, _DEFINITIONS):
            yield node.name


def _imports(node: ast.AST) -> Iterator[tuple[str, str]]:
    if isinstance(node, ast.Import):
        for alias in node.names:
            first = alias.name.partition(".")[0]
            yield alias.asname or first, alias.name if alias.asname else first
    elif isinstance(node, ast.ImportFrom):
        module = "." * node.level + (node.module or "")
        for alias in node.names:
            yield alias.asname or alias.name, f"{module}.{alias.name}"


def _assigned(node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    match node:
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            yield name, value
        case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
            yield name, value


def _circular(values: dict[str, ast.expr]) -> list[str]:
    """The names whose value leads back to a name on the way: resolving them would not end."""
    uses = {name: _used(value) & values.keys() for name, value in values.items()}
    return [name for name in values if _leads_back(name, uses)]


def _used(value: ast.expr) -> set[str]:
    return {node.id for node in ast.walk(value) if isinstance(node, ast.Name)}


def _leads_back(name: str, uses: dict[str, set[str]]) -> bool:
    seen: set[str] = set()
    waiting = list(uses[name])
    while waiting:
        current = waiting.pop()
        if current == name:
            return True
        if current not in seen:
            seen.add(current)
            waiting += uses[current]
    return False


def _is_ours(origin: str) -> bool:
    return origin == PACKAGE or origin.startswith(f"{PACKAGE}.")


def _root(node: ast.expr) -> str:
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""
