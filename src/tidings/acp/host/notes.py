"""What a host noticed and no caller was told: lines it could not read, late answers, what it dropped.

Bounded: the newest stay, the number of forgotten ones is kept. A `listener` hears each as it is written.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import msgspec

KEPT = 200


class Note(msgspec.Struct, frozen=True):
    """One thing noticed: `kind` for a program, `text` for a person."""

    kind: str
    text: str


class Notes:
    """The last notes, oldest first."""

    def __init__(self, listener: Callable[[Note], None] | None = None) -> None:
        self._kept: deque[Note] = deque(maxlen=KEPT)
        self._listener = listener
        self.forgotten = 0

    def add(self, kind: str, text: str) -> None:
        """Write one down; a listener that fails is itself noted."""
        note = Note(kind, text)
        self._keep(note)
        if self._listener is None:
            return
        try:
            self._listener(note)
        except Exception as error:  # noqa: BLE001 a listener must not end the connection
            self._keep(Note("listener_failed", f"the listener for notes failed: {type(error).__name__}"))

    def _keep(self, note: Note) -> None:
        self.forgotten += len(self._kept) == KEPT
        self._kept.append(note)

    def all(self) -> tuple[Note, ...]:
        """Those that are kept."""
        return tuple(self._kept)
