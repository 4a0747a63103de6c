"""Ids and time, stamped once at the edge. Ids are UUIDv7 (decision 6): sortable by time of birth."""

from __future__ import annotations

import os
import time
from threading import Lock

_lock = Lock()
_last = (0, 0)


def now_ms() -> int:
    """Milliseconds since the epoch."""
    return time.time_ns() // 1_000_000


def new_id() -> str:
    """A UUIDv7; within one process each is greater than the one before."""
    global _last
    with _lock:
        stamp, count = now_ms(), _last[1]
        if stamp <= _last[0]:
            stamp, count = _last[0], count + 1
            if count > 0xFFF:
                stamp, count = stamp + 1, 0
        else:
            count = int.from_bytes(os.urandom(1), "big")
        _last = (stamp, count)
    tail = int.from_bytes(os.urandom(8), "big") & 0x3FFF_FFFF_FFFF_FFFF | 0x8000_0000_0000_0000
    digits = f"{stamp:012x}7{count:03x}{tail:016x}"
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"
