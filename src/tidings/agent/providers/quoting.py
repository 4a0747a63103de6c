"""Foreign text on its way into a reminder body: one bounded line, without colours or framing tags.

What tools, files, facts and summaries say is quoted data (decision 21): it may not start a line of
its own, imitate our framing or run on. Pure functions on str.
"""

from __future__ import annotations

import re

from tidings.core.text import scrub

_ESCAPES = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b[@-Z\\-_]")
_RAW = 20
"""How many times the limit is looked at: colours and blanks go, so more is read than kept."""
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


def without_colours(text: str) -> str:
    """`text` without terminal escape sequences; a carriage return ends a line."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return _ESCAPES.sub("", text) if "\x1b" in text else text


def one_line(text: object, limit: int) -> str:
    """`text` as one harmless line of at most `limit` characters."""
    raw = str(text)[: _RAW * limit]
    line = scrub(" ".join(_CONTROLS.sub(" ", without_colours(raw)).split()))
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"


def in_ticks(text: object, limit: int) -> str:
    """`text` as inline code, which it cannot end."""
    return f"`{one_line(text, limit).replace('`', chr(39))}`"
