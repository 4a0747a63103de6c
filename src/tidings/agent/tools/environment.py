"""The environment of commands: what looks like a secret is left out.

A command's output goes to a model, and from there to a vendor and into logs. Variables are left out by
the words in their name, and by values that carry a password or a private key. Pure; called by
`command.py`.
"""

from __future__ import annotations

from collections.abc import Mapping

from tidings.core.redaction import looks_secret

QUIET = {"TERM": "dumb", "PAGER": "cat", "GIT_PAGER": "cat", "GIT_TERMINAL_PROMPT": "0"}
"""No pager and no prompt waits for a person who is not there."""


def command_environment(given: Mapping[str, str]) -> tuple[dict[str, str], tuple[str, ...]]:
    """The environment for a command, and the names that were left out."""
    withheld = tuple(sorted(name for name, value in given.items() if looks_secret(name, value)))
    kept = {name: value for name, value in given.items() if name not in withheld}
    return kept | QUIET, withheld
