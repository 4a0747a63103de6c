"""What the process tests run in processes of their own: `python child.py <role> <path> …`."""

from __future__ import annotations

import sys
from itertools import count

from tidings.recall.store import FactStore


def store(path: str, name: str, number: str) -> None:
    """Store facts one at a time, announcing each that is acknowledged."""
    with FactStore(path) as facts:
        for at in range(int(number)) if int(number) else count():
            fact = facts.store_fact(kind="claim", claim=f"{name} stored number{at}", confidence=1)
            print(fact.id, flush=True)


if __name__ == "__main__":
    {"store": store}[sys.argv[1]](*sys.argv[2:])
