"""What a canonical provider looks at: one event with its payload, session, options and settings."""

from __future__ import annotations

import math
from collections.abc import Mapping

import msgspec

from tidings.core.reminder import Payload


class Situation(msgspec.Struct, frozen=True, kw_only=True):
    """One event, as a canonical provider sees it; `settings` are its config with defaults."""

    event: str
    payload: Mapping[str, object]
    session: Mapping[str, object] = {}
    options: Mapping[str, object] = {}
    settings: Payload = {}
    window: object = None


def mapping(value: object) -> Mapping[str, object]:
    """`value` if it is a mapping, else an empty one."""
    return value if isinstance(value, (dict, Mapping)) else {}


def first(*values: object) -> object:
    """The first value that is not None."""
    return next((value for value in values if value is not None), None)


def number(value: object) -> float | None:
    """`value` as a finite number, if it is one; truth values are not."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        read = float(value)
    except OverflowError:
        return None
    return read if math.isfinite(read) else None


def text(value: object) -> str:
    """`value` if it is a string with something in it, else the empty string."""
    return value if isinstance(value, str) and value.strip() else ""
