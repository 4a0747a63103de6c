"""Text that reaches a model: escaping, framing tags, truncation, quoting. Pure functions on str.

`neutralise` finds tags that imitate our own framing, however they are written (case, attributes,
invisible or look-alike characters, entities, white space), and turns their bracket into `[`. It
never removes text, so a tag that is split around another cannot be put together by it. What cannot
be told from a tag is taken for one: `List<System>` becomes `List[System>`, while `<system_error>`,
`<System.String>`, `a < b` and HTML stay. `scrub` offers the same for tool results and file reads.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator
from functools import lru_cache

import msgspec

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
    "start-of-turn",
    "end-of-turn",
)
"""Tag names that claim operator authority; `-`, `_`, a space or nothing may join their words."""

_LOOKALIKES = {
    "<": "‹〈⟨˂ᐸ❮❬⧼≺〈≮", "/": "⁄∕⧸╱", "|": "∣│❘", "-": "‐‑‒–—―−⁃˗·_▁",
    "a": "аɑαᴀ", "c": "сϲᴄ", "d": "ԁɗᴅ", "e": "еєɛ℮ҽᴇ", "f": "ꜰ", "g": "ɡɢ", "h": "һհнʜ",
    "i": "іıɩιɪꙇ", "k": "кκᴋ", "l": "ӏǀʟ", "m": "мᴍ", "n": "пոηɴ", "o": "оοσօᴏ", "p": "рρᴘ",
    "r": "гʀɾᴦ", "s": "ѕꜱƽ", "t": "тτᴛ", "u": "υսᴜ", "v": "ѵνᴠ", "x": "хχ", "y": "уүʏγყ",
}  # fmt: skip
_CONFUSABLE = str.maketrans({odd: plain for plain, odds in _LOOKALIKES.items() for odd in odds})
_BLANKS = frozenset("\u2800\u3164\u115f\u1160\uffa0\u034f\u17b4\u17b5")
_TAG_CHARACTERS = {0xE0000 + code: code for code in range(0x20, 0x7F)}
"""Unicode's invisible copy of ASCII: noise to one model, letters to another."""

_SUSPECT = re.compile(f"[<＜﹤{_LOOKALIKES['<']}&＆﹠\U000e003c\U000e0026]")
"""Without one of these there is no tag."""

_NAMED = {
    "lt": "<", "gt": ">", "amp": "&", "nbsp": " ", "shy": "", "nvlt": "<", "lang": "<", "langle": "<",
    "lsaquo": "<", "sol": "/", "bsol": "\\", "excl": "!", "quest": "?", "vert": "|", "verbar": "|",
    "hyphen": "-", "dash": "-", "ndash": "-", "mdash": "-", "minus": "-", "lowbar": "-", "num": "#",
    "semi": ";", "tab": " ", "newline": " ", "ensp": " ", "emsp": " ", "thinsp": " ", "zwj": "",
    "zwnj": "", "zerowidthspace": "", "nobreak": "", "lrm": "", "rlm": "",
}  # fmt: skip
"""The named entities that can stand in a tag, as their folded meaning."""

_ENTITY = re.compile(
    r"&(?:(?:amp|#0*38|#x0*26);?)*"  # however often it was encoded
    r"(?:#0*(?P<decimal>\d{1,7})(?!\d)|#x0*(?P<hex>[\da-f]{1,6})(?![\da-f])"
    rf"|(?P<name>{'|'.join(sorted(_NAMED, key=len, reverse=True))})(?=;)|(?P<legacy>lt|gt|amp|nbsp|shy));?"
)
_DEPTH = 4
"""How often entities that are built from entities are resolved."""

_SEAM = re.compile(r"<!\[cdata\[|\]\]>")


def _loosely(name: str) -> str:
    """A pattern for a tag name whose letters may be spaced out and whose words may be joined."""
    words = (" *".join(word) for word in name.split("-"))
    return "[ -]*".join(words) + ("(?![a-z0-9])" if "-" in name else r"(?![a-z0-9-]|\.[a-z])")


_FRAMING = re.compile(
    r"<[/!?\\ ]*(?:"
    + "|".join(_loosely(name) for name in sorted(FRAMING_TAGS, key=len, reverse=True))
    + r"|\|[a-z0-9-]{1,40}\|)"
)


def is_unicode(text: str) -> bool:
    """Whether `text` can be written as UTF-8: a lone surrogate cannot."""
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def escape(text: str) -> str:
    """`text` as XML character data: `&`, `<` and `>` become entities."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def is_plain(text: str) -> bool:
    """Whether `text` surely needs neither escaping nor neutralising: true of most reminders."""
    return text.isascii() and "<" not in text and "&" not in text and ">" not in text


def neutralise(text: str) -> str:
    """`text` with every imitation of a framing tag made harmless: its bracket becomes `[`."""
    if _SUSPECT.search(text) is None:
        return text
    hits = _imitations(text)
    read = text.translate(_TAG_CHARACTERS)
    if read != text:
        hits = {**hits, **_imitations(read)}
    return _replace(text, hits) if hits else text


scrub = neutralise
"""For tool results and file contents: the same neutralising, under the name users look for."""


class _Shadow(msgspec.Struct, frozen=True):
    """What a reader would take a text for, and where each of its characters came from."""

    text: str
    origin: list[tuple[int, int]]


def _imitations(text: str) -> dict[tuple[int, int], str]:
    """Where a framing tag's bracket stands, and what to write there."""
    found: dict[tuple[int, int], str] = {}
    for shadow in _readings(text):
        for match in _FRAMING.finditer(shadow.text):
            at = match.start()
            # A `[` behind `<![CDATA` would make a seam of it, and close the gap around it.
            bracket = "(" if shadow.text.endswith("<![cdata", 0, at) else "["
            found.setdefault(shadow.origin[at], bracket)
    return found


def _readings(text: str) -> Iterator[_Shadow]:
    """`text` as it looks, with its entities resolved step by step, then without CDATA seams."""
    shadow = _folded(text)
    yield shadow
    for _ in range(_DEPTH):
        following = _reread(shadow, _ENTITY, _decoded) if "&" in shadow.text else shadow
        if following is shadow:
            break
        shadow = following
        yield shadow
    seamless = _reread(shadow, _SEAM, lambda _: "")
    if seamless is not shadow:
        yield seamless


def _folded(text: str) -> _Shadow:
    letters = [_fold(character) for character in text]
    origin = [(at, at + 1) for at, folded in enumerate(letters) for _ in folded]
    return _Shadow("".join(letters), origin)


@lru_cache(maxsize=4096)
def _fold(character: str) -> str:
    """The plain lower-case letters a character looks like; nothing for an invisible one."""
    if character.isspace():
        return " "
    if character in _BLANKS:
        return ""
    plain = unicodedata.normalize("NFKD", character.translate(_CONFUSABLE))
    plain = plain.casefold().translate(_CONFUSABLE)
    return "".join(c for c in plain if unicodedata.category(c)[0] not in "MCZ")


def _reread(shadow: _Shadow, pattern: re.Pattern[str], meaning: Callable[[re.Match[str]], str]) -> _Shadow:
    """`shadow` with each match read as its `meaning`; itself when there is none."""
    letters: list[str] = []
    origin: list[tuple[int, int]] = []
    last = 0
    for match in pattern.finditer(shadow.text):
        start, end = match.span()
        meant = meaning(match)
        letters += (shadow.text[last:start], meant)
        origin += shadow.origin[last:start]
        origin += [(shadow.origin[start][0], shadow.origin[end - 1][1])] * len(meant)
        last = end
    if not last:
        return shadow
    letters.append(shadow.text[last:])
    return _Shadow("".join(letters), origin + shadow.origin[last:])


def _decoded(entity: re.Match[str]) -> str:
    name = entity["name"] or entity["legacy"]
    if name is not None:
        return _NAMED[name]
    code = int(entity["decimal"]) if entity["decimal"] else int(entity["hex"], 16)
    return _fold(chr(code)) if code <= 0x10FFFF else ""


def _replace(text: str, hits: dict[tuple[int, int], str]) -> str:
    parts: list[str] = []
    last = 0
    for (start, end), bracket in sorted(hits.items()):
        parts += (text[last:start], bracket)
        last = end
    return "".join((*parts, text[last:]))


def truncate(text: str, limit: int) -> str:
    """At most `limit` bytes of `text` in UTF-8, closed by a mark that says what was cut.

    The mark is left out where not even the mark would fit.
    """
    data = text.encode()
    if len(data) <= limit:
        return text
    mark = f"\n[truncated by tidings: {len(data)} bytes, limit {limit}]"
    if len(mark) > limit:
        mark = ""
    return data[: limit - len(mark)].decode(errors="ignore") + mark


def quote(text: str) -> str:
    """`text` as quoted data: every line behind `> `, so that no line can pose as ours."""
    return "\n".join(f"> {line}" for line in text.splitlines())
