"""Stores for the tests: one clock, both variants, and a redactor that knows one secret."""

from __future__ import annotations

from pathlib import Path

import pytest

from tidings.memory.embedding import available
from tidings.memory.store import EmbedderChoice, MemoryStore
from tidings.recall.checks import moment

NOW = moment("2026-05-01T12:00:00Z")
DEADLINE = 60.0

VARIANTS: dict[str, EmbedderChoice] = {"words": None, "similarity": "auto"}


def open_store(path: Path, variant: str = "words", now: int = NOW) -> MemoryStore:
    """A store whose clock stands still; skips the test when the extra is missing."""
    if variant == "similarity" and not available():
        pytest.skip("the memory extra is not installed: pip install 'tidings[memory]'")
    return MemoryStore(path, embedder=VARIANTS[variant], clock=lambda: now)


def texts(store: MemoryStore, message: str, **more: object) -> list[str]:
    return [item.content for item in store.answer(message, **more).items]  # type: ignore[arg-type]


def redact(text: str) -> str:
    return text.replace("hunter2", "[redacted]")
