"""A source file: its text as a tree, places as lines and columns, and its `tidings: ignore` comments.

Parses with `ast` and never imports or runs anything. What cannot be parsed becomes the one
finding of its file.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
import warnings
from collections.abc import Iterator

import msgspec

from tidings.diagnostics.explain import full_code
from tidings.diagnostics.lint.finding import Finding
from tidings.diagnostics.visible import visible

_IGNORE = re.compile(r"#\s*tidings:\s*ignore(?![\w-])(?:\s*\[([^\]]*)\])?", re.IGNORECASE)
_UNPARSABLE = (SyntaxError, ValueError, RecursionError, MemoryError)


class Mark(msgspec.Struct, frozen=True):
    """What a rule found: a code and a message at `node`, up to the end of `until`, inside `site`."""

    code: str
    message: str
    node: ast.AST
    until: ast.AST
    site: ast.AST


class Source(msgspec.Struct, frozen=True):
    """A parsed file. `ignores` maps a line to the codes switched off there; None means all."""

    path: str
    lines: list[str]
    tree: ast.Module
    ignores: dict[int, frozenset[str] | None]

    def finding(self, mark: Mark) -> Finding:
        """The finding for a mark."""
        line, column = self._place(_line(mark.node), _offset(mark.node))
        end = self._place(_end_line(mark.until), _end_offset(mark.until))
        message = visible(mark.message)
        return Finding(self.path, line, column, mark.code, message, end[0], end[1])

    def ignored(self, mark: Mark) -> bool:
        """Whether a comment on a line of the mark, or on the first line of its site, says so."""
        lines = (_line(mark.node), _end_line(mark.until), _line(mark.site))
        return any(self._off(line, mark.code) for line in lines)

    def _off(self, line: int, code: str) -> bool:
        if line not in self.ignores:
            return False
        codes = self.ignores[line]
        return codes is None or code in codes

    def _place(self, line: int, offset: int) -> tuple[int, int]:
        text = self.lines[line - 1] if 0 < line <= len(self.lines) else ""
        return line, len(text.encode(errors="surrogatepass")[:offset].decode(errors="ignore")) + 1


def parse(text: str, path: str) -> Source | Finding:
    """The parsed file, or the finding that says why there is none."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
    except _UNPARSABLE as error:
        return unparsable(path, error)
    return Source(path, text.split("\n"), tree, dict(_ignores(text)))


def unparsable(path: str, error: BaseException) -> Finding:
    """The finding for a file that cannot be parsed, or is nested too deeply to be read."""
    line, column, what = 1, 1, "nested too deeply to be read"
    if isinstance(error, SyntaxError):
        line, column, what = error.lineno or 1, error.offset or 1, error.msg
    elif isinstance(error, ValueError):
        what = str(error)
    place = (max(line, 1), max(column, 1))
    return Finding(path, *place, "TDG-000", visible(f"cannot be parsed: {what}"), *place)


def _ignores(text: str) -> Iterator[tuple[int, frozenset[str] | None]]:
    if "tidings:" not in text.lower():
        return
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT and (match := _IGNORE.search(token.string)):
                yield token.start[0], _codes(match[1])
    except (tokenize.TokenError, SyntaxError):
        return


def _codes(listed: str | None) -> frozenset[str] | None:
    if listed is None:
        return None
    return frozenset(full_code(code) for code in listed.split(",") if code.strip())


def _line(node: ast.AST) -> int:
    return int(getattr(node, "lineno", 1))


def _offset(node: ast.AST) -> int:
    return int(getattr(node, "col_offset", 0))


def _end_line(node: ast.AST) -> int:
    return int(getattr(node, "end_lineno", None) or _line(node))


def _end_offset(node: ast.AST) -> int:
    return int(getattr(node, "end_col_offset", None) or _offset(node))
