"""From text to the words that a memory is found by: stems, without the words that say nothing.

The stems are FTS5's own (porter), made in a database that lives in memory, so that Python and the index can
never disagree. Which words say nothing is data. `Stems` may be used from any thread.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable
from threading import Lock

from tidings.recall.tokens import tokens

MOST_KEPT = 50_000
"""How many stems are remembered; then all are forgotten and made anew as they come."""

_LONE_DIGIT = re.compile(r"(?<![^\W_])\d(?![^\W_])")

_STOP_WORDS = """
a about above after again against all also am an and any anybody anyone anything are aren as at be because
been before being below between both but by can cannot could couldn d did didn do does doesn doing don
down during each either else ever every everyone everything few for from further get gets getting give
given go goes going got had hadn has hasn have haven having he her here hers herself him himself his how
however i if in into is isn it its itself just kind know let like ll look lot m make makes many may maybe
me might mine more most much must my myself need needs neither no nor not nothing now of off often on once
one only onto or other others our ours ourselves out over own per perhaps quite rather re really s same
say see seem shall she should shouldn since so some somebody someone something sort still such sure t take
tell than that the their theirs them themselves then there these they thing things think this those though
through thus to too under until up upon us use used using ve very want wants was wasn way we well were
weren what whatever when where whether which while who whom whose why will with within without won would
wouldn yes yet you your yours yourself yourselves
"""
STOP_WORDS = frozenset(_STOP_WORDS.split())
"""Words of grammar."""

_CHATTER = """
afternoon again agree agreed alright amazing awesome bit bored bye cheers coffee continue cool correct
different enough excellent explain faster fewer fine funny glad good goodbye great ha haha happy hello
help hey hi hm hmm hope instead interesting joke lol longer looks lovely lunch morning nice night nope oh
ok okay perfect please proceed quick ready redo rephrase rewrite right shorter simpler slower slowly sorry
sounds stop summarise summarize sunny super thank thanks tired today tomorrow understood undo wait weekend
welcome wonderful wow yeah yep yesterday yup
"""
CHATTER = frozenset(_CHATTER.split())
"""Words that conversations are held together with, and that no memory is asked for by alone."""


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
    """The words of `text`, and its digits that stand alone: milestone 3 is not milestone 4."""
    return [*tokens(text), *_LONE_DIGIT.findall(text)]


def content(found: Iterable[str]) -> list[str]:
    """Those of the words that a memory could be found by, in order."""
    return [word for word in found if word not in STOP_WORDS and word not in CHATTER]
