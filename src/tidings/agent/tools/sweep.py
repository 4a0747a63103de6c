"""The search process: walks a folder, prints the files or the lines that match.

A regular expression can take for ever and holds the interpreter while it does, so it runs in a process
of its own, which can be killed. Started by `searching.py` with one JSON argument; prints text lines,
then one line of summary. Ends with 0, with 3 when there was more than asked for, with 2 when it could
not begin. Standard library only.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator
from typing import NamedTuple

from tidings.agent.tools.glob import IgnoreRule, alternatives, compile_glob, is_ignored, read_rules

MAX_SEARCHED = 5_000_000
SHOWN = 300
DONE, CANNOT_BEGIN, MORE = 0, 2, 3

_NEVER = frozenset({".git", ".hg", ".svn", ".jj", ".bzr"})
_SNIFFED = 8192


class Order(NamedTuple):
    """What to look for: lines that match `pattern`, or files when it is None."""

    root: str
    start: str
    pattern: str | None
    glob: str | None
    max: int


def walk(root: str, start: str, skipped: list[str]) -> Iterator[str]:
    """Files below `start`, both relative to `root`, in order, without what is ignored.

    Folders that cannot be read go to `skipped`.
    """
    top = os.path.join(root, start)
    if os.path.isfile(top):
        yield start
        return
    rules = {start: _rules_above(root, start)}
    for folder, folders, files in os.walk(top, onerror=lambda error: skipped.append(str(error.filename))):
        here = _relative(root, folder)
        known = (*rules.pop(here), *_rules_in(root, here))
        folders[:] = sorted(name for name in folders if _enters(known, _join(here, name), name))
        rules.update((_join(here, name), known) for name in folders)
        yield from (
            _join(here, name) for name in sorted(files) if not is_ignored(known, _join(here, name), False)
        )


def matching_files(order: Order, skipped: list[str]) -> Iterator[str]:
    """The files below the start whose path fits the glob."""
    patterns = [compile_glob(each) for each in alternatives(order.glob)] if order.glob else []
    inside = f"{order.start}/" if order.start else ""
    for path in walk(order.root, order.start, skipped):
        names = (path, path.removeprefix(inside))
        if not patterns or any(pattern.fullmatch(name) for pattern in patterns for name in names):
            yield path


def matching_lines(order: Order, pattern: re.Pattern[str], skipped: list[str]) -> Iterator[str]:
    """`path:number: line` for each line that matches; files that cannot be searched go to `skipped`."""
    for path in matching_files(order, skipped):
        content = _content(order.root, path)
        if content is None:
            skipped.append(path)
            continue
        for number, line in enumerate(content.split("\n"), 1):
            match = pattern.search(line)
            if match:
                yield f"{_printable(path)}:{number}: {_around(line, match.start())}"


def run(order: Order) -> int:
    """Print what is found; the exit status."""
    skipped: list[str] = []
    try:
        found = _found(order, skipped)
    except (re.error, OverflowError, RecursionError) as error:
        _print(f"pattern {order.pattern!r} is not a regular expression: {error}")
        return CANNOT_BEGIN
    count = 0
    for line in found:
        if count == order.max:
            _print(f"[stopped at {count}; there is more: narrow the search, or raise max]")
            return MORE
        _print(line)
        count += 1
    what = "files" if order.pattern is None else "matching lines"
    more = f"; {len(skipped)} too large or unreadable" if skipped else ""
    _print(f"[{count} {what}{more}]")
    return DONE


def _found(order: Order, skipped: list[str]) -> Iterator[str]:
    if order.pattern is None:
        return map(_printable, matching_files(order, skipped))
    return matching_lines(order, re.compile(order.pattern), skipped)


def _content(root: str, path: str) -> str | None:
    """The text of a regular file inside the root; "" for a binary one, None when it cannot be read."""
    full = os.path.join(root, path)
    try:
        inside = os.path.realpath(full).startswith(os.path.join(root, ""))
        if not inside or not os.path.isfile(full):
            return ""
        if os.path.getsize(full) > MAX_SEARCHED:
            return None
        with open(full, "rb") as file:
            content = file.read()
    except OSError:
        return None
    return "" if b"\0" in content[:_SNIFFED] else content.decode("utf-8", "replace")


def _rules_above(root: str, start: str) -> tuple[IgnoreRule, ...]:
    """The rules of the folders from the root down to `start`, without its own."""
    parts = start.split("/") if start else []
    folders = ["/".join(parts[:depth]) for depth in range(len(parts))]
    return tuple(rule for folder in folders for rule in _rules_in(root, folder))


def _rules_in(root: str, folder: str) -> tuple[IgnoreRule, ...]:
    path = os.path.join(root, folder, ".gitignore")
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return tuple(read_rules(file.read(), folder))
    except OSError:
        return ()


def _enters(rules: tuple[IgnoreRule, ...], path: str, name: str) -> bool:
    return name not in _NEVER and not is_ignored(rules, path, True)


def _relative(root: str, folder: str) -> str:
    found = os.path.relpath(folder, root)
    return "" if found == "." else found


def _join(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name


def _around(line: str, place: int) -> str:
    begin = max(0, place - SHOWN // 3)
    shown = line[begin : begin + SHOWN].strip()
    return f"{'… ' if begin else ''}{shown}{' …' if len(line) > begin + SHOWN else ''}"


def _printable(path: str) -> str:
    return path if path.isprintable() else repr(path)


def _print(line: str) -> None:
    sys.stdout.buffer.write(line.encode("utf-8", "replace") + b"\n")


if __name__ == "__main__":
    sys.exit(run(Order(**json.loads(sys.argv[1]))))
