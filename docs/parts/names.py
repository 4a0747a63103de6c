"""Public names and errors, by their own first sentences: for api.md and errors.md."""

from __future__ import annotations

import inspect
from importlib import import_module

import tidings as td
from docs.parts.markdown import fenced, table
from tidings import errors


def api() -> str:
    """Every public name."""
    rows = []
    for name in sorted(td.__all__, key=lambda name: (name.startswith("_"), name.lower())):
        home = td._MODULE_OF.get(name, "version")
        value = getattr(import_module(f"tidings.{home}"), name)
        said = "The version, as a string." if isinstance(value, str) else _sentence(value)
        rows.append((f"`{name}`", f"`tidings.{home}`", said))
    return table(("name", "home", "what it is"), rows)


def _sentence(value: object) -> str:
    return (inspect.getdoc(value) or "").partition("\n")[0]


def error_tree() -> str:
    """The tree as `errors.py` draws it."""
    drawn = inspect.getdoc(errors) or ""
    return fenced(drawn[drawn.index("TidingsError") :], "text")


def error_attributes() -> str:
    """Each error with its sentence."""
    rows = [(f"`{name}`", _sentence(value)) for name, value in vars(errors).items() if _is_error(value)]
    return table(("error", "meaning"), rows)


def _is_error(value: object) -> bool:
    return isinstance(value, type) and issubclass(value, errors.TidingsError)
