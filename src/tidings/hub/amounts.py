"""Amounts as people write them: `30d`, `12h`, `1GiB`. Text in, whole numbers out; nothing else. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping

from tidings.core.producers import shown
from tidings.errors import CallerError

_AMOUNT = re.compile(r"(?P<number>[0-9]{1,12})\s*(?P<unit>[A-Za-z]+)")
AGES = {"s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000}
SIZES = {
    "B": 1,
    "KB": 1_000,
    "MB": 1_000**2,
    "GB": 1_000**3,
    "TB": 1_000**4,
    "KiB": 1 << 10,
    "MiB": 1 << 20,
    "GiB": 1 << 30,
    "TiB": 1 << 40,
}


def read_age(value: object, field: str) -> int:
    """The milliseconds that `30d` and the like mean.

    Raises:
        CallerError: it is not such an age.
    """
    return _read(value, field, AGES, "30d")


def read_size(value: object, field: str) -> int:
    """The bytes that `1GiB` and the like mean.

    Raises:
        CallerError: it is not such a size.
    """
    return _read(value, field, SIZES, "1GiB")


def _read(value: object, field: str, units: Mapping[str, int], example: str) -> int:
    found = _AMOUNT.fullmatch(value.strip()) if isinstance(value, str) else None
    if found is None or found["unit"] not in units:
        named = ", ".join(units)
        raise CallerError(
            f"{field} is {shown(value)}; give a whole number and one of {named}, such as {example!r}"
        )
    return int(found["number"]) * units[found["unit"]]
