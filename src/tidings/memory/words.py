"""From text to the words that a memory is found by: stems, without the words that say nothing.

The stems are FTS5's own (porter), made in a database that lives in memory, so that Python and the index can
never disagree. Which words say nothing is data (`languages.py`). `Stems` may be used from any thread.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable
from threading import Lock

from tidings.memory.languages import CHATTER, GRAMMAR, language_of
from tidings.recall.tokens import tokens

MOST_KEPT = 50_000
"""How many stems are remembered; then all are forgotten and made anew as they come."""

_LONE_DIGIT = re.compile(r"(?<![^\W_])\d(?![^\W_])")

_UNSPACED = re.compile(
    "[\u2e80-\u2fdf\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
    "\u0e00-\u0eff\u1780-\u17ff\U00020000-\U0003ffff]+"
)
"""Scripts that write words without spaces, or with endings grown on: Chinese, Japanese, Thai, Korean."""


class Stems:
    """Words to stems, by the stemmer of SQLite's full-text search."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._known: dict[str, str] = {}
        self._database = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        self._database.execute(
            "CREATE VIRTUAL TABLE stems USING fts5(word, content='', tokenize='porter unicode61')"
        )
        self._database.execute("CREATE VIRTUAL TABLE seen USING fts5vocab('stems', 'instance')")

    def of(self, text: str) -> list[str]:
        """The stems of the words of content in `text`, in order, repeated as often as they occur."""
        return self.of_words(content(words(text)))

    def of_words(self, found: list[str]) -> list[str]:
        """The stem of each word."""
        with self._lock:
            if len(self._known) > MOST_KEPT:
                self._known.clear()
            new = {word for word in found if word not in self._known}
            if new:
                self._learn(sorted(new))
            return [self._known[word] for word in found]

    def close(self) -> None:
        """Let the database go; a second call does nothing."""
        with self._lock:
            self._database.close()

    def _learn(self, new: list[str]) -> None:
        run = self._database.execute
        self._database.executemany("INSERT INTO stems (rowid, word) VALUES (?, ?)", enumerate(new))
        stems: dict[int, str] = {}
        for number, stem in run("SELECT doc, term FROM seen ORDER BY doc, offset"):
            stems[number] = stems.get(number, "") + stem
        run("INSERT INTO stems (stems) VALUES ('delete-all')")
        self._known |= {word: stems.get(number) or word for number, word in enumerate(new)}


def words(text: str) -> list[str]:
    """The words of `text`, and its digits that stand alone: milestone 3 is not milestone 4.

    Where nobody writes spaces between words, every two characters that stand together are one.
    """
    found = tokens(text)
    if not text.isascii():
        found = [part for word in found for part in _parts(word)]
    return [*found, *_LONE_DIGIT.findall(text)]


def content(found: Iterable[str]) -> list[str]:
    """Those of the words that a memory could be found by, in order."""
    given = list(found)
    language = language_of(given)
    grammar, chatter = GRAMMAR[language], CHATTER[language]
    return [word for word in given if word not in grammar and word not in chatter]


def _parts(word: str) -> list[str]:
    """A word as it is, or the pairs of its characters where it is many words in one."""
    parts: list[str] = []
    at = 0
    for run in _UNSPACED.finditer(word):
        parts += [word[at : run.start()]] if run.start() - at > 1 else []
        said, at = run[0], run.end()
        parts += [said[place : place + 2] for place in range(max(len(said) - 1, 1))]
    return [*parts, word[at:]] if len(word) - at > 1 else parts
