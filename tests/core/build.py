"""Short ways to make core values in tests."""

from __future__ import annotations

from tidings.core.lifecycle import inject
from tidings.core.reminder import Meta, Provenance, Reminder
from tidings.core.transcript import Transcript


def reminder(id: str = "r1", **fields: object) -> Reminder:
    trust = fields.pop("trust", None)
    origin = fields.pop("origin", None)
    meta = None if trust is None else Meta(tidings=Provenance(trust=trust, origin=origin))
    values: dict[str, object] = {
        "tags": (),
        "preserve_on_compact": False,
        "propagate": "session",
        "role_hint": "system",
        "source": "in_pipeline",
        "body": f"body of {id}",
        "fired_at_turn": 0,
        "meta": meta,
        **fields,
    }
    return Reminder(id=id, **values)


def transcript(*reminders: Reminder, **parts: object) -> Transcript:
    made = Transcript(**parts)
    for number, item in enumerate(reminders):
        made = inject(made, item, f"event-{number}").transcript
    return made


def ids(transcript: Transcript) -> list[str]:
    return [item.id for item in transcript.pending]
