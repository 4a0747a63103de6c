"""Text made safe to show: what could move a cursor, reorder or hide text is written as an escape.

Record payloads, file names and source literals are other people's text; a terminal would obey the
escape sequences in them. Used by the linter's messages and by every command that prints.
"""

from __future__ import annotations

import re
import unicodedata

_ODD = re.compile(r"[^\x20-\x7e]")
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})


def visible(text: str) -> str:
    """`text` on one line, with control, format and unpaired characters as backslash escapes."""
    return _ODD.sub(_shown, text)


def _shown(match: re.Match[str]) -> str:
    character = match[0]
    if unicodedata.category(character) not in _HIDDEN:
        return character
    return character.encode("unicode_escape").decode("ascii")
