"""One file, many spellings: relative or absolute, with `.`, `..`, `//`, `~` and links.

Turns the text of an argument into the paths that it may mean, and a glob pattern into the patterns for
the same files, so that rules can compare like with like. It reads links, and decides nothing: `rules.py`
asks it. Letter case is taken as it is, also where the file system would not.
"""

from __future__ import annotations

import os
import posixpath
import re
from glob import escape

LONGEST = 4096
"""Characters of the longest text that is read as a path; systems take no longer ones."""

_GLOB = re.compile(r"[*?\[]")


def tidy(text: str) -> str:
    """`text` without `.`, `..` and doubled slashes, by its letters alone."""
    tidied = posixpath.normpath(text)
    return tidied[1:] if tidied.startswith("//") else tidied


def is_absolute(text: str) -> bool:
    """Whether it says by itself where it begins: at the root, or in somebody's home."""
    return posixpath.isabs(os.path.expanduser(text))


def of_value(text: str, base: str) -> tuple[str, ...]:
    """Every spelling of what an argument says: as sent, tidied, absolute, and where links lead."""
    tidied = [tidy(reading) for reading in _readings(text, base)]
    return (text, tidy(text), *tidied, *files(text, base))


def files(text: str, base: str | None) -> tuple[str, ...]:
    """The files that `text` may mean, links followed; none when it is relative and nobody knows to what."""
    readings = _readings(text, base)
    return tuple(dict.fromkeys(_real(each) for one in readings for each in (one, tidy(one))))


def of_pattern(pattern: str, base: str | None) -> tuple[str, ...]:
    """Patterns for the same files: as written, tidied, absolute, and with links followed up to the first
    wildcard."""
    wild = _GLOB.search(pattern)
    end = len(pattern) if wild is None else pattern.rfind("/", 0, wild.start()) + 1
    readings = _readings(os.path.expanduser(pattern[:end]), base)
    heads = dict.fromkeys(each for one in readings for each in (tidy(one), _real(one)))
    return (pattern, tidy(pattern), *(_joined(escape(head), pattern[end:]) for head in heads))


def _joined(head: str, tail: str) -> str:
    return f"{head.rstrip('/')}/{tail}" if tail else head


def _readings(text: str, base: str | None) -> list[str]:
    """What `text` may mean, absolute: `~` is a home, or a name where one like it exists."""
    if len(text) > LONGEST or "\0" in text:
        return []
    home = os.path.expanduser(text)
    found = [home] if home != text else []
    if base is not None and (not found or os.path.lexists(posixpath.join(base, text.partition("/")[0]))):
        found.append(posixpath.join(os.path.abspath(base), text))
    elif base is None and posixpath.isabs(text):
        found.append(text)
    return found


def _real(path: str) -> str:
    try:
        return tidy(os.path.realpath(path))
    except (OSError, ValueError):  # a name that this system cannot write: it leads nowhere
        return tidy(path)
