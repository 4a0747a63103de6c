"""The updates of seed 004 come from the log's records, with every field."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

import tidings as td
from tests.core.build import reminder as some
from tidings.bridge import updates
from tidings.core.reminder import Provenance, meta_for


def harn(update: dict[str, object]) -> object:
    meta = update["_meta"]
    assert isinstance(meta, dict)
    return meta["harn"]["reminder"]


def test_a_fired_reminder_is_told_with_its_body_and_a_copy_for_older_readers() -> None:
    known = some(id="r1", body="red", tags=("build",), dedupe_key="b", ttl_turns=2, source="bridge")
    payload = {"reminder_id": "r1", "turn_number": 3, "rendered_role": "system"}
    told = updates.update_of("transcript.reminder.fired", payload, {"r1": known}.get)
    assert told is not None
    root = {
        "sessionUpdate": "reminder_emitted",
        "reminderId": "r1",
        "body": "red",
        "tags": ["build"],
        "source": "bridge",
        "firedAtTurn": known.fired_at_turn,
        "dedupeKey": "b",
    }
    more = {"roleHint": "system", "ttlTurns": 2, "renderedRole": "system"}
    assert told == {**root, "_meta": {"harn": {"reminder": {**root, **more}}}}


@pytest.mark.parametrize(
    ("source", "word"),
    [
        ("bridge", "bridge"),
        ("stdlib_provider", "provider"),
        ("hook", "hook"),
        ("in_pipeline", "host"),
        ("inherited", "inherited"),
    ],
)
def test_sources_go_by_the_words_of_the_seed(source: str, word: str) -> None:
    assert updates.emitted(some(source=source))["source"] == word


def test_a_provider_is_named() -> None:
    meta = meta_for(Provenance(provider_id="token_pressure"))
    told = updates.emitted(replace(some(source="stdlib_provider"), meta=meta))
    assert told["providerId"] == "token_pressure"
    assert "providerId" not in updates.emitted(some(source="bridge"))


def test_a_replaced_reminder_is_told_by_its_successor() -> None:
    payload = {"reminder_id": "new", "replaced_ids": ["a", "b"], "dedupe_key": "k"}
    told = updates.update_of("transcript.reminder.deduped", payload, {}.get)
    assert told is not None
    root = {
        "sessionUpdate": "reminder_deduped",
        "reminderId": "new",
        "dedupeKey": "k",
        "droppedReminderIds": ["a", "b"],
    }
    assert {**told, "_meta": None} == {**root, "_meta": None}
    assert harn(told) == root


@pytest.mark.parametrize(
    ("reason", "phase"), [("ttl", "ttl_expired"), ("cleared", "cleared"), ("compaction", "compacted_out")]
)
def test_an_expired_reminder_is_told_with_its_phase(reason: str, phase: str) -> None:
    payload = {"reminder_id": "r", "reason": reason, "expired_at_turn": 4}
    told = updates.update_of("transcript.reminder.expired", payload, {}.get)
    root = {"sessionUpdate": "reminder_expired", "reminderId": "r", "phase": phase, "expiredAtTurn": 4}
    assert told == {**root, "_meta": {"harn": {"reminder": root}}}


def test_what_a_real_life_writes_is_told_in_order() -> None:
    with td.open_log("memory:") as log, td.active_log(log):
        transcript = td.Transcript(session_id="s")
        for body in ("red", "green"):
            done = td.inject_reminder(transcript, body=body, dedupe_key="build", ttl_turns=1)
            transcript = done.transcript
        known = {one.id: one for one in transcript.pending}
        request = td.render(
            "openai/gpt-5", messages=[{"role": "user", "content": "hi"}], reminders=transcript.pending
        )
        transcript = td.mark_fired(transcript, request, turn=1).transcript
        td.post_turn(transcript, turn=1)
        records = list(log.read("transcript.reminder.lifecycle"))
    told = [updates.update_of(record.kind, record.payload, known.get) for record in records]
    kinds = [update["sessionUpdate"] for update in told if update is not None]
    assert kinds == ["reminder_deduped", "reminder_emitted", "reminder_expired"]


def test_other_records_are_for_the_log_alone() -> None:
    assert updates.update_of("transcript.reminder.queued", {"reminder_id": "r"}, {}.get) is None
    assert updates.update_of("loop.checkpoint", {}, {}.get) is None
    assert updates.update_of("transcript.reminder.fired", {"reminder_id": "gone"}, {}.get) is None
