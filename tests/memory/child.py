"""Remembers one thing after the other until it is killed, and prints each id that was acknowledged."""

from __future__ import annotations

import sys
from itertools import count

from tidings.memory.store import MemoryStore

if __name__ == "__main__":
    with MemoryStore(sys.argv[1], embedder=None) as store:
        for number in count():
            print(store.remember(text=f"The child remembers number{number}.").memory.id, flush=True)
