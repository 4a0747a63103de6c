"""The names by which a model calls the tools of servers: `server__tool`, safe on every wire. Pure."""

from __future__ import annotations

import re
from hashlib import sha256

LONGEST = 64
"""Characters of a tool's name that every vendor takes."""

_ODD = re.compile(r"[^a-zA-Z0-9_-]")
_MARK = 7


def tool_name(server: str, tool: str, taken: frozenset[str] | set[str] = frozenset()) -> str:
    """The model's name for a server's tool; one that is too long, or `taken`, ends in a hash."""
    plain = f"{_ODD.sub('_', server)}__{_ODD.sub('_', tool)}"
    if not (plain[0].isalpha() or plain[0] == "_"):
        plain = f"_{plain}"
    if len(plain) <= LONGEST and plain not in taken:
        return plain
    mark = sha256(f"{server}\0{tool}".encode()).hexdigest()[: _MARK - 1]
    return f"{plain[: LONGEST - _MARK]}-{mark}"
