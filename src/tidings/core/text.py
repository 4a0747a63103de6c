"""Text that reaches a model: escaping, framing tags, truncation, quoting. Pure functions on str.

`neutralise` finds tags that imitate our own framing, however they are written (case, attributes,
invisible or look-alike characters, entities, white space), and turns their bracket into `[`. It
never removes text, so a tag that is split around another cannot be put together by it.
`scrub` offers the same for tool results and file reads.
"""

from __future__ import annotations

import re
import unicodedata

FRAMING_TAGS = (
    "system-reminder",
    "system-reminders",
    "system-notification",
    "system-message",
    "system-prompt",
    "system",
    "developer",
    "context-directives",
    "context-directive",
    "directive",
    "task-notification",
    "hook-prompt",
    "tidings",
)
"""Tag names that claim operator authority; `-`, `_`, a space or nothing may join their words."""

_BRACKETS = "<＜﹤‹〈⟨˂ᐸ❮❬⧼≺〈"
_ENTITIES = r"&(?:amp;)*(?:lt|LT|#0*60|#[xX]0*3[cC]);?"
_BLANKS = frozenset("\u2800\u3164\u115f\u1160\uffa0\u034f\u17b4\u17b5")
_LOOKALIKES = {
    "a": "аɑα", "c": "сϲ", "d": "ԁɗ", "e": "еєɛ℮", "g": "ɡ", "h": "һհн", "i": "іıɩιɪ", "k": "кκ",
    "l": "ӏǀ", "m": "мｍ", "n": "пոη", "o": "оοσօ", "p": "рρ", "r": "гʀɾ", "s": "ѕꜱ", "t": "тτ",
    "u": "υս", "v": "ѵν", "x": "хχ", "y": "уүʏγ", "-": "‐‑‒–—―−﹣－·_",
}  # fmt: skip
_CONFUSABLE = str.maketrans({odd: plain for plain, odds in _LOOKALIKES.items() for odd in odds})
_BRACKET = rf"[{re.escape(_BRACKETS)}]|{_ENTITIES}"
_SPECIAL = re.compile(rf"(?P<seam><!\[CDATA\[|\]\]>)|{_BRACKET}")


def _loosely(name: str) -> str:
    """A pattern for a tag name whose letters may be spaced out and whose words may be joined."""
    words = (" *".join(word) for word in name.split("-"))
    return "[ -]*".join(words) + ("(?![a-z0-9])" if "-" in name else "(?![a-z0-9-])")


_FRAMING = re.compile(
    r"<[/!?\\ ]*(?:"
    + "|".join(_loosely(name) for name in sorted(FRAMING_TAGS, key=len, reverse=True))
    + r"|\|[a-z0-9-]{1,40}\|>)"
)


def escape(text: str) -> str:
    """`text` as XML character data: `&`, `<` and `>` become entities."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def is_plain(text: str) -> bool:
    """Whether `text` needs neither escaping nor neutralising: true of nearly every reminder."""
    return "<" not in text and "&" not in text and ">" not in text and _SPECIAL.search(text) is None


def neutralise(text: str) -> str:
    """`text` with every imitation of a framing tag made harmless: its bracket becomes `[`."""
    if _SPECIAL.search(text) is None:
        return text
    shadow, origin = _shadow(text)
    hits = [origin[match.start()] for match in _FRAMING.finditer(shadow)]
    return _replace(text, hits) if hits else text


scrub = neutralise
"""For tool results and file contents: the same neutralising, under the name users look for."""


def _shadow(text: str) -> tuple[str, list[tuple[int, int]]]:
    """What a reader would take `text` for, and where each of its characters came from."""
    shadow: list[str] = []
    origin: list[tuple[int, int]] = []
    position = 0
    while position < len(text):
        special = _SPECIAL.match(text, position)
        end = special.end() if special else position + 1
        folded = _fold(text[position]) if special is None else "" if special["seam"] else "<"
        shadow.append(folded)
        origin.extend([(position, end)] * len(folded))
        position = end
    return "".join(shadow), origin


def _fold(character: str) -> str:
    """The plain lower-case letters a character looks like; nothing for an invisible one."""
    if character.isspace():
        return " "
    if character in _BLANKS:
        return ""
    plain = unicodedata.normalize("NFKD", character).casefold().translate(_CONFUSABLE)
    return "".join(c for c in plain if unicodedata.category(c)[0] not in "MCZ")


def _replace(text: str, hits: list[tuple[int, int]]) -> str:
    parts: list[str] = []
    last = 0
    for start, end in hits:
        parts += (text[last:start], "[")
        last = end
    return "".join((*parts, text[last:]))


def truncate(text: str, limit: int) -> str:
    """At most `limit` bytes of `text` in UTF-8, closed by a mark that says what was cut."""
    data = text.encode()
    if len(data) <= limit:
        return text
    mark = f"\n[truncated by tidings: {len(data)} bytes, limit {limit}]"
    kept = data[: max(0, limit - len(mark))].decode(errors="ignore")
    return kept + mark


def quote(text: str) -> str:
    """`text` as quoted data: every line behind `> `, so that no line can pose as ours."""
    return "\n".join(f"> {line}" for line in text.splitlines())
