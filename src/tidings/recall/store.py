"""A store of facts in one SQLite file: store, recall, invalidate, from any thread.

One connection behind one lock; every call is one transaction. Several processes may share the
file. In a namespace of more than 10,000 facts the derived index answers when the `tidings[recall]`
extra is installed; the file stays the only truth. `default.py` keeps one store per file.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import Literal, Self

from tidings.errors import CallerError
from tidings.recall import ledger, search
from tidings.recall.accelerator import Accelerator
from tidings.recall.fact import DEFAULT_NAMESPACE, Fact, build_fact
from tidings.recall.failure import FactsUnavailableError, facts_error
from tidings.recall.ledger import Entry
from tidings.recall.question import Question, Selection, build_question, build_selection
from tidings.recall.schema import prepare
from tidings.recall.search import Recalled
from tidings.shell.ids import now_ms

INDEX_ABOVE = 10_000
"""From how many facts on the derived index is worth its upkeep."""

Index = Literal["auto", "fts5"]


class FactStore:
    """Facts in the SQLite file `path`, created when it does not exist.

    `index` "fts5" never uses the derived index; "auto" does above `index_above` facts.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        index: Index = "auto",
        index_above: int = INDEX_ABOVE,
        busy_seconds: float = 5.0,
    ) -> None:
        if index not in ("auto", "fts5"):
            raise CallerError(f"index is {index!r}; give 'auto' or 'fts5'")
        self.path = Path(path)
        self._busy_seconds = busy_seconds
        self._connection: sqlite3.Connection | None = prepare(self.path, busy_seconds)
        self._lock = Lock()
        self._process = os.getpid()
        self._accelerator = Accelerator(self.path, index_above) if index == "auto" else None

    def store_fact(self, options: Mapping[str, object] | None = None, /, **fields: object) -> Fact:
        """Store one fact, given as a mapping, as keywords, or as both; it is durable on return.

        Raises:
            DiagnosticError: HARN-FACT-001 to 007 and 009, every problem at once.
            FactsError: the file cannot be written; nothing was stored.
        """
        return self.store_facts([_merged(options, fields)])[0]

    def store_facts(self, many: Iterable[Mapping[str, object]]) -> tuple[Fact, ...]:
        """Store several facts in one transaction: all of them, or none.

        Raises:
            DiagnosticError: one of them is wrong; nothing was stored.
            FactsError: the file cannot be written; nothing was stored.
        """
        facts = tuple(build_fact(options, now=now_ms()) for options in many)
        with self._transaction("BEGIN IMMEDIATE") as connection:
            for fact in facts:
                ledger.assert_fact(connection, fact)
        return facts

    def recall_facts(
        self,
        query: str,
        *,
        namespace: str = DEFAULT_NAMESPACE,
        max_facts: int = 5,
        min_confidence: float = 0.5,
        kind_filter: Iterable[str] = (),
        now: int | None = None,
    ) -> tuple[Recalled, ...]:
        """The facts that answer `query`, best first; then, up to `max_facts` (at most 25), the newest.

        Facts that `valid_until` says are over at `now` never surface.

        Raises:
            DiagnosticError: HARN-FACT-008, every problem at once.
            FactsError: the file cannot be read.
        """
        return self.answer(question(query, namespace, max_facts, min_confidence, kind_filter, now))

    def invalidate_facts(
        self,
        *,
        id: str | None = None,
        namespace: str | None = None,
        claim: str | None = None,
        kind: str | None = None,
        tag: str | None = None,
        asserted_before: int | str | None = None,
    ) -> int:
        """Take back every live fact that matches all that is given; says how many.

        History keeps them. Without `namespace` all namespaces are looked through.

        Raises:
            DiagnosticError: HARN-FACT-008, also when nothing at all is given.
            FactsError: the file cannot be written; nothing was invalidated.
        """
        return self.invalidate(selection(id, namespace, claim, kind, tag, asserted_before))

    def answer(self, asked: Question) -> tuple[Recalled, ...]:
        """Recall with arguments that are checked already."""
        with self._transaction("BEGIN") as connection:
            ready = search.make_ready(connection, asked)
            if ready is None or not asked.max_facts:
                return ()
            scored = None
            if self._accelerator is not None and ready.words:
                scored = self._accelerator.rank(connection, ready)
            if scored is None:
                scored = search.rank(ready, search.propose(connection, ready))
            return search.answer(connection, ready, scored)

    def invalidate(self, chosen: Selection) -> int:
        """Invalidate with arguments that are checked already."""
        with self._transaction("BEGIN IMMEDIATE") as connection:
            return ledger.invalidate(connection, chosen, now_ms())

    def history(self, id: str) -> tuple[Entry, ...]:
        """Every assertion and tombstone of a fact, oldest first."""
        with self._transaction("BEGIN") as connection:
            return ledger.history(connection, id)

    def count(self, namespace: str = DEFAULT_NAMESPACE) -> int:
        """How many live facts a namespace holds, those that are over included."""
        with self._transaction("BEGIN") as connection:
            return _count(connection, namespace)

    def settle(self, seconds: float = 60.0) -> bool:
        """Wait until the derived index has caught up, at most `seconds`; says whether it has."""
        return self._accelerator is None or self._accelerator.settle(seconds)

    def close(self) -> None:
        """Close the file; a second call does nothing."""
        with self._lock:
            connection, self._connection = self._connection, None
        if self._accelerator is not None:
            self._accelerator.close()
        if connection is not None and self._process == os.getpid():
            connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[sqlite3.Connection]:
        """The connection, in a transaction of its own that is undone when anything is raised."""
        if self._process != os.getpid():
            raise CallerError(f"fact store {self.path} was opened before a fork; open it in each process")
        if not self._lock.acquire(timeout=self._busy_seconds + 30):
            raise FactsUnavailableError(f"fact store {self.path} is busy in other threads; try again")
        try:
            if self._connection is None:
                raise FactsUnavailableError(f"fact store {self.path} is closed; open it again")
            self._connection.execute(begin)
            try:
                yield self._connection
                self._connection.execute("COMMIT")
            finally:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
        except sqlite3.Error as error:
            raise facts_error(error, self.path) from error
        finally:
            self._lock.release()


def question(
    query: str,
    namespace: str,
    max_facts: int,
    min_confidence: float,
    kind_filter: Iterable[str],
    now: int | None,
) -> Question:
    """The checked question; now is now unless given."""
    return build_question(
        {
            "query": query,
            "namespace": namespace,
            "max_facts": max_facts,
            "min_confidence": min_confidence,
            "kind_filter": kind_filter,
            "now": now_ms() if now is None else now,
        }
    )


def selection(
    id: str | None,
    namespace: str | None,
    claim: str | None,
    kind: str | None,
    tag: str | None,
    asserted_before: int | str | None,
) -> Selection:
    """The checked selection of facts to take back."""
    return build_selection(
        {
            "id": id,
            "namespace": namespace,
            "claim": claim,
            "kind": kind,
            "tag": tag,
            "asserted_before": asserted_before,
        }
    )


def _merged(options: Mapping[str, object] | None, fields: dict[str, object]) -> Mapping[str, object]:
    """Both as one; what is not a mapping is left for the gate to name."""
    if options is None:
        return fields
    return {**options, **fields} if fields and hasattr(options, "keys") else options


def _count(connection: sqlite3.Connection, namespace: str) -> int:
    found = connection.execute("SELECT documents FROM namespaces WHERE name = ?", (namespace,)).fetchone()
    return 0 if found is None else int(found[0])
