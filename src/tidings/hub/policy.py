"""How much the hub keeps: `[retention]` of the `config.toml` in its home, or the defaults.

All problems of the table are told at once. Other tables of the file belong to others. `retention.py`
does what this says.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from tidings.core.producers import shown
from tidings.errors import CallerError
from tidings.hub.amounts import read_age, read_size
from tidings.hub.failure import HubError

FILE = "config.toml"
TABLE = "retention"
OFF = "off"
SMALLEST = 1 << 20
DAY_MS = 86_400_000


class Policy(msgspec.Struct, frozen=True, kw_only=True):
    """What is kept at most; None where there is no such bound."""

    max_age: int | None = 30 * DAY_MS
    max_size: int | None = 1 << 30
    max_session_records: int | None = 100_000


def _size(value: object, field: str) -> int:
    size = read_size(value, field)
    if size < SMALLEST:
        raise CallerError(f"{field} is {shown(value)}; give at least '1MiB'")
    return size


def _count(value: object, field: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise CallerError(f"{field} is {shown(value)}; give a whole number of at least 1")
    return value


_FIELDS: dict[str, Callable[[object, str], int]] = {
    "max_age": read_age,
    "max_size": _size,
    "max_session_records": _count,
}


def read_policy(home: Path) -> Policy:
    """The policy of a hub's home.

    Raises:
        HubError: the file or its table cannot be read; every problem is named.
    """
    path = home / FILE
    try:
        text = path.read_text(encoding="utf-8")
        table = tomllib.loads(text).get(TABLE, {})
    except FileNotFoundError:
        return Policy()
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise HubError(f"{str(path)!r} cannot be read: {error}; correct it or remove it") from error
    return _policy(table, path)


def _policy(table: object, path: Path) -> Policy:
    if not isinstance(table, Mapping):
        raise HubError(f"{str(path)!r}: `{TABLE}` is {shown(table)}; write a table: [{TABLE}]")
    given: dict[str, int | None] = {}
    problems = []
    for name, value in table.items():
        try:
            given[name] = _read(name, value)
        except CallerError as error:
            problems.append(str(error))
    if problems:
        raise HubError(f"{str(path)!r}: {'; '.join(problems)}")
    return Policy(**given)


def _read(name: str, value: object) -> int | None:
    if name not in _FIELDS:
        raise CallerError(f"`{TABLE}.{name}` is not known; known are {', '.join(_FIELDS)}")
    return None if value == OFF else _FIELDS[name](value, f"`{TABLE}.{name}`")
