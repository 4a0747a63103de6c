"""When the derived index answers instead of FTS5, and how it is kept up to date.

The records that the index has not seen yet are held in memory (the delta), so that a fact is found
as soon as it is stored, by whichever process. A thread, at most one per store, moves the delta into
the index; until it is done, or when the delta is too large, or ties reach too deep, FTS5 answers.
"""

from __future__ import annotations

import sqlite3
import time
import warnings
from contextlib import closing
from pathlib import Path
from threading import Event, Thread

from tidings.recall import search
from tidings.recall.schema import connect
from tidings.recall.search import Prepared, Scored
from tidings.recall.tantivy_index import IndexBusyError, TantivyIndex, available

ABSORB = 500
"""A delta of this many records is moved into the index."""

MOST = 5_000
"""A delta of more records than this is not held: FTS5 answers until they are in the index."""

POOLS = (128, 1_024, 8_192)
"""How many candidates are asked for, at first and when those do not settle the order."""

MARGIN = 1.02
"""How far tantivy's score of a record may be from ours: it rounds lengths and counts dead records."""

RETRY_SECONDS = 1.0
CLOSE_SECONDS = 30.0


class _Shelf:
    """One namespace: its index, and the words of the records that are not in it yet."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.index = TantivyIndex(directory)
        self.delta: dict[int, frozenset[str]] = {}
        self.seen = self.index.watermark

    def pull(self, connection: sqlite3.Connection, namespace: int) -> bool:
        """Read what was stored since the last time; False when it is too much to hold."""
        rows = connection.execute(
            "SELECT seq, terms FROM live NOT INDEXED WHERE seq > ? AND namespace = ? ORDER BY seq LIMIT ?",
            (self.seen, namespace, MOST - len(self.delta) + 1),
        ).fetchall()
        self.delta |= {seq: frozenset(terms.split()) for seq, terms in rows}
        self.seen = max(self.delta, default=self.seen)
        return len(self.delta) <= MOST

    def refresh(self) -> None:
        """Look again at the index, and forget what it holds by now."""
        self.index.refresh()
        self.delta = {seq: words for seq, words in self.delta.items() if seq > self.index.watermark}
        self.seen = max(self.index.watermark, *self.delta, 0)


class Accelerator:
    """The derived indexes of the store at `path`, for namespaces of more than `above` facts."""

    def __init__(self, path: Path, above: int) -> None:
        self._path, self._above = path, above
        self._available = available()
        self._shelves: dict[int, _Shelf] = {}
        self._worker: Thread | None = None
        self._stop = Event()
        self._not_before = 0.0
        self._failure = ""
        self.answers = 0
        """How many questions were answered from the derived index."""

    def rank(self, connection: sqlite3.Connection, ready: Prepared) -> list[Scored] | None:
        """The best answers; None when FTS5 must be asked."""
        if not self._available or ready.documents <= self._above:
            return None
        try:
            scored = self._rank(connection, ready)
        except (ValueError, OSError) as error:
            self._failure = f"{type(error).__name__}: {error}"
            scored = None
        if self._failure:
            self._give_up()
        self.answers += scored is not None
        return scored

    def settle(self, seconds: float) -> bool:
        """Wait for the thread, at most `seconds`."""
        worker = self._worker
        if worker is not None:
            worker.join(seconds)
        return worker is None or not worker.is_alive()

    def close(self) -> None:
        """Stop the thread and wait for it."""
        self._stop.set()
        if not self.settle(CLOSE_SECONDS):
            warnings.warn(f"the index of {self._path} is still being written", RuntimeWarning, stacklevel=3)

    def _rank(self, connection: sqlite3.Connection, ready: Prepared) -> list[Scored] | None:
        shelf = self._shelf(connection, ready.namespace)
        if self._worker is not None and not self._worker.is_alive():
            self._worker = None
            for one in self._shelves.values():
                one.refresh()
        held = shelf.pull(connection, ready.namespace)
        anew = _is_worn(connection, shelf.index, ready.documents)
        if anew or len(shelf.delta) > ABSORB:
            self._absorb(shelf, ready.namespace, anew)
        return _best(connection, ready, shelf) if held and not anew else None

    def _shelf(self, connection: sqlite3.Connection, namespace: int) -> _Shelf:
        if namespace not in self._shelves:
            (store_id,) = connection.execute("SELECT id FROM store").fetchone()
            home = self._path.with_name(self._path.name + ".index")
            self._shelves[namespace] = _Shelf(home / f"{store_id}-{namespace}-v1")
        return self._shelves[namespace]

    def _absorb(self, shelf: _Shelf, namespace: int, anew: bool) -> None:
        """Start the thread unless it runs, or found another process at work only just now."""
        if self._worker is not None or time.monotonic() < self._not_before or self._stop.is_set():
            return
        task = (shelf.directory, namespace, anew)
        self._worker = Thread(target=self._work, args=task, name="tidings-recall-index", daemon=True)
        self._worker.start()

    def _work(self, directory: Path, namespace: int, anew: bool) -> None:
        try:
            index = TantivyIndex(directory)
            with closing(connect(self._path, RETRY_SECONDS)) as connection:
                rows = connection.execute(
                    "SELECT seq, terms FROM live NOT INDEXED WHERE seq > ? AND namespace = ? ORDER BY seq",
                    (0 if anew else index.watermark, namespace),
                )
                index.add(rows, anew=anew, stopped=self._stop.is_set)
        except IndexBusyError:
            self._not_before = time.monotonic() + RETRY_SECONDS  # its commit is as good as ours
        except (ValueError, OSError, sqlite3.Error) as error:
            self._failure = f"{type(error).__name__}: {error}"

    def _give_up(self) -> None:
        """Leave the answers to FTS5 from now on, and say so."""
        self._available = False
        message = f"the derived index of {self._path} failed, FTS5 answers instead: {self._failure}"
        self._failure = ""
        warnings.warn(message, RuntimeWarning, stacklevel=5)


def _is_worn(connection: sqlite3.Connection, index: TantivyIndex, live: int) -> bool:
    """Whether most of the index is dead, or is of another history than the file's."""
    last = connection.execute("SELECT max(seq) FROM records").fetchone()[0] or 0
    return index.documents > 2 * live or index.watermark > last


def _best(connection: sqlite3.Connection, ready: Prepared, shelf: _Shelf) -> list[Scored] | None:
    """Ask for more candidates until no other could change the answer."""
    wanted = frozenset(ready.words)
    fresh = [seq for seq, words in shelf.delta.items() if not wanted.isdisjoint(words)]
    for pool in POOLS:
        hits = shelf.index.search(ready.words, pool)
        candidates = search.read(connection, ready, {*fresh, *(seq for _, seq in hits)})
        scored = search.rank(ready, candidates)
        full = len(scored) == ready.question.max_facts
        if len(hits) < pool or (full and scored[-1][0] > MARGIN * hits[-1][0]):
            return scored
    return None
