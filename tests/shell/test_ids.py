"""Ids are UUIDv7 and grow (decision 6)."""

from __future__ import annotations

import uuid

import tidings as td
from tidings.shell.ids import new_id, now_ms


def test_ids_are_version_seven_and_grow_within_a_process() -> None:
    made = [new_id() for _ in range(10_000)]
    assert made == sorted(set(made))
    parsed = [uuid.UUID(one) for one in made[:50]]
    assert {(one.version, one.variant) for one in parsed} == {(7, uuid.RFC_4122)}


def test_an_id_tells_the_time_it_was_made() -> None:
    assert abs((uuid.UUID(new_id()).int >> 80) - now_ms()) < 60_000


def test_event_and_reminder_get_different_ids() -> None:
    result = td.inject_reminder(td.Transcript(), body="b")
    (event,) = result.transcript.events
    assert event["reminder"]["id"] == result.reminder_id
    assert event["id"] != result.reminder_id
