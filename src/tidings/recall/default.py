"""`store_fact`, `recall_facts`, `invalidate_facts` without a store in hand.

They act on the store chosen by `facts_store`, else on the file that TIDINGS_FACTS names, else on
`.tidings/facts.db` under `root` or the current directory. Files are opened at first use and kept
open, one store per file; recalling from a file that does not exist creates none.
"""

from __future__ import annotations

import atexit
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from threading import Lock
from typing import TypeAlias

from tidings.errors import CallerError
from tidings.recall import store as stores
from tidings.recall.fact import DEFAULT_NAMESPACE, Fact
from tidings.recall.search import Recalled
from tidings.recall.store import FactStore

VARIABLE = "TIDINGS_FACTS"
PLACE = Path(".tidings") / "facts.db"
MOST_OPEN = 64

_Key: TypeAlias = tuple[int, str]
_chosen: ContextVar[FactStore | None] = ContextVar("tidings_facts", default=None)
_open: dict[_Key, tuple[FactStore, tuple[int, int]]] = {}
_lock = Lock()


def store_fact(
    options: Mapping[str, object] | None = None, /, *, root: str | Path | None = None, **fields: object
) -> Fact:
    """Store one fact, given as a mapping, as keywords, or as both; it is durable on return.

    Raises:
        DiagnosticError: HARN-FACT-001 to 007 and 009, every problem at once.
        FactsError: the file cannot be written; nothing was stored.
    """
    return _chosen_or(root).store_fact(options, **fields)


def recall_facts(
    query: str,
    *,
    namespace: str = DEFAULT_NAMESPACE,
    max_facts: int = 5,
    min_confidence: float = 0.5,
    kind_filter: Iterable[str] = (),
    now: int | None = None,
    root: str | Path | None = None,
) -> tuple[Recalled, ...]:
    """The facts that answer `query`, best first; then, up to `max_facts` (at most 25), the newest.

    Raises:
        DiagnosticError: HARN-FACT-008, every problem at once.
        FactsError: the file cannot be read.
    """
    asked = stores.question(query, namespace, max_facts, min_confidence, kind_filter, now)
    return _chosen_or(root).answer(asked) if _exists(root) else ()


def invalidate_facts(
    *,
    id: str | None = None,
    namespace: str | None = None,
    claim: str | None = None,
    kind: str | None = None,
    tag: str | None = None,
    asserted_before: int | str | None = None,
    root: str | Path | None = None,
) -> int:
    """Take back every live fact that matches all that is given; says how many.

    Raises:
        DiagnosticError: HARN-FACT-008, also when nothing at all is given.
        FactsError: the file cannot be written; nothing was invalidated.
    """
    chosen = stores.selection(id, namespace, claim, kind, tag, asserted_before)
    return _chosen_or(root).invalidate(chosen) if _exists(root) else 0


@contextmanager
def facts_store(path: str | Path) -> Iterator[FactStore]:
    """Within the block the facts of this task or thread are those in the file `path`."""
    _make_home(Path(path))
    with FactStore(path) as store:
        token = _chosen.set(store)
        try:
            yield store
        finally:
            _chosen.reset(token)


def default_path(root: str | Path | None = None) -> Path:
    """Where the facts are when `facts_store` chose nothing."""
    named = os.environ.get(VARIABLE, "").strip()
    return Path(named) if named else Path(root or Path.cwd()) / PLACE


def _exists(root: str | Path | None) -> bool:
    return _chosen.get() is not None or default_path(root).exists()


def _chosen_or(root: str | Path | None) -> FactStore:
    chosen = _chosen.get()
    if chosen is not None:
        return chosen
    path = Path(os.path.abspath(default_path(root)))
    key = (os.getpid(), str(path))
    with _lock:
        found = _open.get(key)
        if found is not None and found[1] == _identity(path):
            return found[0]
        return _reopen(key, path)


def _reopen(key: _Key, path: Path) -> FactStore:
    """Open a file that is new to us, or that someone put in the place of the one we had open."""
    before = _open.pop(key, None)
    if before is not None:
        before[0].close()
    if len(_open) >= MOST_OPEN:
        raise CallerError(f"{MOST_OPEN} fact stores are open; use FactStore and close each after use")
    _make_home(path)
    store = FactStore(path)
    _open[key] = (store, _identity(path))
    return store


def _make_home(path: Path) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError) as error:
        raise CallerError(f"{path.parent} is no directory; give the facts another path") from error


def _identity(path: Path) -> tuple[int, int]:
    """Which file stands at `path`: a file that was removed leaves its store writing into nowhere."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return (0, 0)
    return (found.st_dev, found.st_ino)


@atexit.register
def _close_all() -> None:
    with _lock:
        for (process, _), (store, _) in _open.items():
            if process == os.getpid():
                store.close()
        _open.clear()
