"""The environment of commands: what looks like a secret is left out.

A command's output goes to a model, and from there to a vendor and into logs. Variables are left out by
the words in their name, and by values that carry a password or a private key. Pure; called by
`command.py`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

_SECRET_WORDS = frozenset({
    "AUTH", "APIKEY", "BEARER", "COOKIE", "CREDENTIAL", "CREDENTIALS", "CREDS", "DSN", "JWT", "KEY", "KEYS",
    "PASS", "PASSPHRASE", "PASSWD", "PASSWORD", "PAT", "PRIVATE", "PW", "SECRET", "SECRETS", "TOKEN",
    "TOKENS",
})  # fmt: skip
_SECRET_PARTS = re.compile(r"(?i)api_?key|access_?key|token|secret|passw|credential")
_SECRET_VALUE = re.compile(r"\w+://[^/\s:@]*:[^/\s@]+@|-----BEGIN [A-Z ]*PRIVATE KEY")

QUIET = {"TERM": "dumb", "PAGER": "cat", "GIT_PAGER": "cat", "GIT_TERMINAL_PROMPT": "0"}
"""No pager and no prompt waits for a person who is not there."""


def looks_secret(name: str, value: str) -> bool:
    """Whether a variable seems to hold something that must not be shown."""
    words = set(re.split(r"[^A-Z0-9]+", name.upper()))
    return bool(words & _SECRET_WORDS or _SECRET_PARTS.search(name) or _SECRET_VALUE.search(value))


def command_environment(given: Mapping[str, str]) -> tuple[dict[str, str], tuple[str, ...]]:
    """The environment for a command, and the names that were left out."""
    withheld = tuple(sorted(name for name, value in given.items() if looks_secret(name, value)))
    kept = {name: value for name, value in given.items() if name not in withheld}
    return kept | QUIET, withheld
