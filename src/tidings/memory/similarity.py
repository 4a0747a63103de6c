"""The embedder, off the path of the answer: loaded in the background, asked with a deadline.

One thread does the work. A question that finds it busy or slow is answered by words alone, so an embedder
that hangs costs a deadline once and nothing after. Vectors of recent texts are kept. Called by the store.
"""

from __future__ import annotations

import warnings
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Lock
from typing import Any

from tidings.memory.embedding import Embedder
from tidings.memory.failure import MemoryUnavailableError

MOST_KEPT = 512
LOADING_SECONDS = 60.0
"""How long remembering waits for an embedder that is still being loaded."""


class Similarity:
    """An embedder behind one thread; `load` is called there, at once."""

    def __init__(self, load: Callable[[], Embedder]) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="tidings-memory-embedder")
        self._lock = Lock()
        self._kept: OrderedDict[str, Any] = OrderedDict()
        self._running: Future[Any] | None = None
        self._failed = False
        self._loading = self._thread.submit(load)

    def embedder(self) -> Embedder | None:
        """The embedder, once it is loaded; None when it cannot be, which is said once.

        Raises:
            MemoryUnavailableError: it is still not loaded after a minute.
        """
        try:
            return self._loading.result(LOADING_SECONDS)
        except TimeoutError as error:
            raise MemoryUnavailableError("the embedder is not loaded after a minute; try again") from error
        except (ImportError, OSError, ValueError, KeyError) as error:
            self._tell(error)
            return None

    def begin(self, text: str) -> Future[Any] | None:
        """Start embedding a question; None when the thread is busy, loading or failed."""
        with self._lock:
            if text in self._kept:
                self._kept.move_to_end(text)
                ready: Future[Any] = Future()
                ready.set_result(self._kept[text])
                return ready
            if not self._loading.done() or (self._running is not None and not self._running.done()):
                return None
            if self._loading.exception() is not None:
                return None
            self._running = self._thread.submit(self._embed, text)
            return self._running

    def finish(self, started: Future[Any] | None, seconds: float) -> Any | None:
        """The vector, if it is there within `seconds`; a failing embedder counts as none, and is told."""
        if started is None:
            return None
        try:
            return started.result(seconds)
        except TimeoutError:
            return None
        except Exception as error:  # noqa: BLE001 whatever an embedder raises, words still answer
            self._tell(error)
            return None

    def close(self) -> None:
        """Take no more texts; a text that is being embedded is not waited for."""
        self._thread.shutdown(wait=False, cancel_futures=True)

    def _embed(self, text: str) -> Any:
        vector = self._loading.result().embed([text])[0]
        with self._lock:
            self._kept[text] = vector
            while len(self._kept) > MOST_KEPT:
                self._kept.popitem(last=False)
        return vector

    def _tell(self, error: Exception) -> None:
        if not self._failed:
            self._failed = True
            told = f"{type(error).__name__}: {error}"
            warnings.warn(f"memories are found by words alone: {told}", RuntimeWarning, stacklevel=4)
