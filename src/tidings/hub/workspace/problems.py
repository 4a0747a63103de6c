"""What is wrong with a `tidings.toml`: each problem with its field, its line, its value and the fix. Pure.

`Places` finds the line of a key by reading the file's text; tomllib keeps no lines. Where a key is written
in an unusual way, the line of the table around it is given.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TypeAlias

import msgspec

from tidings.errors import CallerError

Path: TypeAlias = tuple[str, ...]

_KEY = r"(?:[A-Za-z0-9_-]+|\"(?:[^\"\\\n]|\\.)*\"|'[^'\n]*')"
_DOTTED = rf"{_KEY}(?:[ \t]*\.[ \t]*{_KEY})*"
_HEADER = re.compile(rf"^[ \t]*\[(?P<list>\[)?[ \t]*(?P<path>{_DOTTED})[ \t]*\]")
_ASSIGNED = re.compile(rf"^[ \t]*(?P<path>{_DOTTED})[ \t]*=[ \t]*(?P<value>.*)$")
_PART = re.compile(_KEY)
_LONG_QUOTES = ('"""', "'''")


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that is wrong; `value` is empty where it might be a secret."""

    field: str
    line: int | None
    value: str
    fix: str

    def __str__(self) -> str:
        where = f"line {self.line}: " if self.line is not None else ""
        what = f"`{self.field}`" if self.field else "the file"
        said = f"{what} is {self.value}; {self.fix}" if self.value else f"{what}: {self.fix}"
        return f"{where}{said}"


class WorkspaceConfigError(CallerError):
    """A `tidings.toml` that cannot be used: `problems` has all of them."""

    def __init__(self, file: str, problems: Sequence[Problem]) -> None:
        self.file = file
        self.problems = tuple(problems)
        super().__init__(f"{file}: " + "; ".join(map(str, problems)))


class Places:
    """The lines of a file's keys."""

    def __init__(self, text: str) -> None:
        self._lines: dict[Path, int] = {}
        for path, line in _places(text):
            self._lines.setdefault(path, line)

    def line(self, path: Path) -> int | None:
        """The line of a key, else of what is around it."""
        while path:
            if path in self._lines:
                return self._lines[path]
            path = path[:-1]
        return None


def _places(text: str) -> Iterator[tuple[Path, int]]:
    above: Path = ()
    counts: dict[Path, int] = {}
    closing: str | None = None
    for number, line in enumerate(text.splitlines(), 1):
        if closing is not None:
            closing = None if closing in line else closing
        elif (header := _HEADER.match(line)) is not None:
            above = _parts(header["path"])
            if header["list"]:
                counts[above] = counts.get(above, -1) + 1
                yield above, number
                above = (*above, str(counts[above]))
            yield above, number
        elif (assigned := _ASSIGNED.match(line)) is not None:
            yield from _nested((*above, *_parts(assigned["path"])), len(above), number)
            closing = _left_open(assigned["value"])


def _nested(path: Path, depth: int, line: int) -> Iterator[tuple[Path, int]]:
    """A dotted key, and the tables that it makes on its way."""
    return ((path[:end], line) for end in range(depth + 1, len(path) + 1))


def _parts(dotted: str) -> Path:
    return tuple(part.strip("\"'") for part in _PART.findall(dotted))


def _left_open(value: str) -> str | None:
    """The quotes of a text over several lines that begins here."""
    return next((q for q in _LONG_QUOTES if value.startswith(q) and value.count(q) == 1), None)
