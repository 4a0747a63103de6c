"""From text to the words that BM25 counts: lower-case alphanumeric runs longer than 1 character.

One function for facts and queries, so that both meet. Compatibility forms are folded first (full
width letters, a letter and its accent written apart). Scripts without spaces give long words.
"""

from __future__ import annotations

import re
import unicodedata

LONGEST = 64
"""Longer runs (hashes, encoded data) are cut: no one types them to the end."""

_RUN = re.compile(r"[^\W_]{2,}")


def tokens(text: str) -> list[str]:
    """The words of `text`, in order, repeated as often as they occur."""
    plain = text if text.isascii() else unicodedata.normalize("NFKC", text)
    return [word[:LONGEST] for word in _RUN.findall(plain.lower())]
