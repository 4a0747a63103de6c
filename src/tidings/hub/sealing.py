"""A request to remind becomes an envelope: read through the gate, held to what its sender may do, sealed.

Whoever comes with the owner's token has the trust of a host. What the hub's own watchers, webhooks and
conversation servers send names its origin and is external (decision 21); an origin is never read from a
request. The session that gets it applies the same rules again. `service.py` calls this.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256

import msgspec

from tidings.bridge import params as read
from tidings.core.producers import build
from tidings.core.records import Record
from tidings.core.seams import with_mode
from tidings.core.trust import admit, admit_mode
from tidings.hub import rows, shapes
from tidings.hub.address import checked
from tidings.hub.envelope import Envelope
from tidings.shell.ids import new_id

_CONTEXT = "hub/remind"


def sealed(
    params: Mapping[str, object], now_ms: int, origin: str | None, grants: frozenset[str]
) -> tuple[Envelope, tuple[Record, ...]]:
    """The envelope of a request, and the records of what its sender may not have.

    Raises:
        DiagnosticError: HARN-RMD-001, 002 or 005, with every problem.
        CallerError: an address or a time that cannot be used.
    """
    beside = {name: value for name, value in params.items() if name in ("to", "deliverWithin")}
    part = rows.read_as(shapes.EnvelopePart, beside)
    given = {name: value for name, value in params.items() if name not in beside}
    options, asked = read.reminder_of(given, _CONTEXT)
    producer = rows.producer_for(origin)
    reminder, mode, _ = with_mode(
        asked, _CONTEXT, lambda: build(producer, options, id=new_id(), origin=origin)
    )
    admitted, way = admit(reminder, grants), admit_mode(reminder, mode, grants)
    to, kept = checked(rows.resolved_address(part.to)), rows.options_of(admitted.reminder)
    letter = Envelope(
        reminder_id=reminder.id,
        reminder=kept,
        mode=way.mode,
        to=to,
        digest=_digest(kept, way.mode, to, *(() if origin is None else (origin,))),
        deliver_until_ms=now_ms + int(part.deliver_within * 1000),
        accepted_at_ms=now_ms,
        origin=origin,
        grants=tuple(sorted(grants)),
    )
    rows.reminder_of(letter)  # builds it now: later a host waits for the answer
    return letter, (*admitted.records, *way.records)


def _digest(*content: object) -> str:
    """What tells two reminders with one id apart."""
    return sha256(msgspec.json.encode(content, order="deterministic")).hexdigest()
