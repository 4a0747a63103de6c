"""A memory that surfaces by itself: what was told or seen, and what of it fits the message at hand.

`MemoryStore` keeps memories in one SQLite file and answers; `MemoryServer` answers conversation events and
offers remember, recall, forget and list as tools, without a transport. Importing this package loads none of
them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tidings.memory.answer import Answer as Answer
    from tidings.memory.answer import Budget as Budget
    from tidings.memory.answer import Item as Item
    from tidings.memory.embedding import Embedder as Embedder
    from tidings.memory.entry import Memory as Memory
    from tidings.memory.failure import MemoryCorruptError as MemoryCorruptError
    from tidings.memory.failure import MemoryInputError as MemoryInputError
    from tidings.memory.failure import MemoryStoreError as MemoryStoreError
    from tidings.memory.failure import MemoryUnavailableError as MemoryUnavailableError
    from tidings.memory.server import MemoryServer as MemoryServer
    from tidings.memory.store import MemoryStore as MemoryStore

_HOME = {
    "Answer": "answer",
    "Budget": "answer",
    "Embedder": "embedding",
    "Item": "answer",
    "Memory": "entry",
    "MemoryCorruptError": "failure",
    "MemoryInputError": "failure",
    "MemoryServer": "server",
    "MemoryStore": "store",
    "MemoryStoreError": "failure",
    "MemoryUnavailableError": "failure",
}

__all__ = [*_HOME]


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module 'tidings.memory' has no attribute {name!r}")
    return getattr(import_module(f"tidings.memory.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
