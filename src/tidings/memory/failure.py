"""What can go wrong with a memory, and what to do about it.

MemoryInputError (CallerError)      what was given is wrong; `.problems` has a sentence for each
MemoryStoreError (OSError)          the file cannot keep its promise right now
├── MemoryUnavailableError          read-only, full, locked or closed: nothing was written
└── MemoryCorruptError              not a database, or a damaged one
"""

from __future__ import annotations

import sqlite3
from pathlib import Path

from tidings.errors import CallerError, TidingsError
from tidings.recall.failure import FactsCorruptError, facts_error


class MemoryInputError(CallerError):
    """Options that make no memory, no question or no selection; nothing was done."""

    def __init__(self, context: str, problems: tuple[str, ...]) -> None:
        self.context = context
        self.problems = problems
        super().__init__(f"{context}: " + "; ".join(problems))


class MemoryStoreError(TidingsError, OSError):
    """The memory cannot keep its promise right now."""


class MemoryUnavailableError(MemoryStoreError):
    """The file is read-only, full, locked or closed. Nothing of the refused call was written."""


class MemoryCorruptError(MemoryStoreError):
    """The file is not a database, or a damaged one."""


def memory_error(error: sqlite3.Error, path: Path) -> MemoryStoreError:
    """Translate what SQLite raised while working on `path`; its codes are read as for facts."""
    told = facts_error(error, path)
    if isinstance(told, FactsCorruptError) or "Could not decode to UTF-8" in str(error):
        return corrupt(path, str(error))
    return MemoryUnavailableError(str(told).replace("fact store", "memory", 1))


def corrupt(path: Path, found: str) -> MemoryCorruptError:
    """Say that the file is damaged, and the way out."""
    fix = f"tidings memory check --repair --file {path} saves what is readable"
    return MemoryCorruptError(f"memory {path} is damaged ({found}); {fix}, --from takes an export")
