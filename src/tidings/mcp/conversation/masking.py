"""Secrets in a user's words become marks before any server sees them. Pure functions on str.

Keys and tokens of well-known shapes, passwords in urls, and values that are given to a telling name. A net
with holes, not a wall: who pastes a secret of no known shape into a conversation shares it with whoever may
see the message. `Asker` takes any other function in its place.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

MARK = "[secret withheld]"
SHORTEST_KNOWN = 8

_KEY = re.compile(
    r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----.{0,20000}?(?:-----END [A-Z ]{0,40}PRIVATE KEY-----|\Z)",
    re.DOTALL,
)
_TOKEN = re.compile(
    r"(?<![\w-])(?:"
    r"gh[a-z]_\w{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}"  # forges
    r"|sk-[\w-]{16,}|[rs]k_(?:live|test)_\w{10,}|hf_\w{20,}|AIza[\w-]{30,}|ya29\.[\w-]{20,}"  # services
    r"|xox[a-z]-[\w-]{10,}|npm_\w{30,}|pypi-[\w-]{30,}|(?:AKIA|ASIA)[A-Z0-9]{16}"
    r"|eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]{4,}"  # JSON web tokens
    r")",
    re.ASCII,
)
_BEARER = re.compile(r"(?i)\b(bearer\s+|authorization:\s*(?:basic|bearer|token)?\s*)[\w.~+/=-]{12,}")
_URL = re.compile(r"(\b[a-z][a-z0-9+.-]{1,20}://[^\s/:@]{0,100}:)[^\s/@]{1,200}(?=@)", re.IGNORECASE)
_NAMED = re.compile(
    r"(?i)(\b[\w-]{0,40}(?:password|passwd|passphrase|secret|token|api[_-]?key|access[_-]?key|private[_-]?key)"
    r"[\w-]{0,20}[\"']?\s{0,3}(?:=|:|\bis\b)\s{0,3}[\"'`]?)(?=[^\s\"'`]*[\d!@#$%^&*])[^\s\"'`,;]{6,}"
)


def mask(text: str, known: Iterable[str] = ()) -> str:
    """`text` without what looks like a secret, and without the values that are `known` to be one."""
    for value in sorted({one for one in known if len(one) >= SHORTEST_KNOWN}, key=len, reverse=True):
        text = text.replace(value, MARK)
    text = _KEY.sub(MARK, text)
    text = _TOKEN.sub(MARK, text)
    for pattern in (_BEARER, _URL, _NAMED):
        text = pattern.sub(lambda found: found[1] + MARK, text)
    return text
