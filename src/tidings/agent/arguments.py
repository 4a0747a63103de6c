"""Arguments of sessions and loops, read before anything happens: each becomes a value that can be used, or
an error that names it. Pure; `session.py`, `loop.py` and `result.py` ask here.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from typing import TypeGuard

from tidings.core.producers import shown
from tidings.errors import CallerError


def expect(name: str, given: object, fits: type | Callable[[object], bool], wanted: str) -> None:
    """See that `given` is of a kind, or fits.

    Raises:
        CallerError: it does not.
    """
    if not (isinstance(given, fits) if isinstance(fits, type) else fits(given)):
        raise CallerError(f"`{name}` must be {wanted}; got {shown(given)}")


def expect_text(**given: object) -> None:
    """See that these are strings: the log gives them back as such.

    Raises:
        CallerError: one is not.
    """
    for name, value in given.items():
        expect(name, value, str, "a string")


def read_fields(form: str, options: object, fields: Mapping[str, object]) -> dict[str, object]:
    """What was given as one mapping, as keywords, or as both.

    Raises:
        CallerError: something else was given.
    """
    if options is not None and not isinstance(options, Mapping):
        raise CallerError(f"write {form}, or give one mapping of fields; got {shown(options)}")
    return {**(options or {}), **fields}


def is_whole(given: object) -> bool:
    """Whether this is a whole number of 1 or more."""
    return type(given) is int and given >= 1


def is_number(given: object) -> TypeGuard[int | float]:
    """Whether this is a number; true and false are none."""
    return isinstance(given, (int, float)) and not isinstance(given, bool)


def is_seconds(given: object) -> bool:
    """Whether this is a time above 0."""
    return is_number(given) and given > 0


def is_listing(given: object) -> TypeGuard[Iterable[object]]:
    """Whether this lists something; the characters of a text do not count."""
    return isinstance(given, Iterable) and not isinstance(given, (str, bytes))


def read_folder(name: str, given: object) -> str:
    """The folder that a path names.

    Raises:
        CallerError: it is no path.
    """
    expect(name, given, lambda one: isinstance(one, (str, os.PathLike)), "a path")
    return str(given)


def read_folders(name: str, given: object) -> tuple[str, ...]:
    """The folders that a list of paths names.

    Raises:
        CallerError: it is no list of paths.
    """
    if not is_listing(given):
        raise CallerError(f"`{name}` must be a list of paths; got {shown(given)}")
    return tuple(read_folder(f"{name}[{at}]", one) for at, one in enumerate(given))
