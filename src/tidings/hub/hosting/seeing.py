"""Whether a host's own file of a session holds what was offered: the one proof of it. Pure."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from tidings.hosts.voice import Note, section
from tidings.hub.hosting.hosted import Standing

NEEDLE = 160
"""How many characters of a reminder's words are looked for."""


def found(unsure: Iterable[Standing], text: bytes) -> list[str]:
    """The ids of those whose words stand in `text`."""
    return [one.reminder.id for one in unsure if needle(one) in text]


def needle(one: Standing) -> bytes:
    """A reminder's first words, as a line of JSON has them."""
    words = section(Note(reminder=one.reminder, step=one.first)).strip()[:NEEDLE]
    return msgspec.json.encode(words)[1:-1]
