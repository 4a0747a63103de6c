"""Ids and time, stamped once at the edge. Ids are UUIDv7 (decision 6): sortable by time of birth."""

from __future__ import annotations

import os
import time
from threading import Lock

_POOL = 4096

_lock = Lock()
_stamp, _count = 0, 0
_chance, _used = b"", 0


def now_ms() -> int:
    """Milliseconds since the epoch."""
    return time.time_ns() // 1_000_000


def new_id() -> str:
    """A UUIDv7; within one process each is greater than the one before."""
    global _stamp, _count, _chance, _used
    with _lock:
        now = time.time_ns() // 1_000_000
        if now > _stamp:
            _stamp, _count = now, 0
        elif _count < 0xFFF:
            _count += 1
        else:
            _stamp, _count = _stamp + 1, 0
        if _used + 8 > len(_chance):
            _chance, _used = os.urandom(_POOL), 0
        chance = int.from_bytes(_chance[_used : _used + 8], "big")
        _used += 8
        head = _stamp << 16 | 0x7000 | _count
    digits = f"{head:016x}{chance & 0x3FFF_FFFF_FFFF_FFFF | 0x8000_0000_0000_0000:016x}"
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


def _forget_chance() -> None:
    """A forked child must not give out its parent's ids."""
    global _chance
    _chance = b""


os.register_at_fork(after_in_child=_forget_chance)
