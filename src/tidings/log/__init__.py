"""The event log: an append-only, per-topic, hash-chained record of what happened.

`open_log` gives an `EventLog`: append to write, `read` to replay, `subscribe` to follow, `purge` to
forget. Importing this package loads neither SQLite nor asyncio: `open_log` fetches the implementation it
needs; `tidings.log.memory` and `tidings.log.sqlite` can be imported for their own options.
"""

from tidings.log.open import open_log
from tidings.log.port import EventLog
from tidings.log.record import Checkpoint, LogRecord, Verified

__all__ = ["Checkpoint", "EventLog", "LogRecord", "Verified", "open_log"]
