"""Replay: folding the changes of a session's transcript topic gives its transcript back.

The live transforms and this fold share the same core, so that resume, the panel and the tests
see one truth. Unknown kinds are left alone: a newer version may write more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from msgspec.structs import replace

from tidings.core.archive import keep_event
from tidings.core.fire import refire
from tidings.core.lifecycle import inject, post_turn, remove
from tidings.core.records import Change
from tidings.core.reminder import Payload, read_payload
from tidings.core.transcript import Transcript
from tidings.errors import TranscriptError


def fold(transcript: Transcript, changes: Iterable[Change]) -> Transcript:
    """`transcript` after `changes`.

    Raises:
        TranscriptError: a change that cannot have been written by this version.
    """
    for change in changes:
        step = _STEPS.get(change.kind)
        if step is not None:
            transcript = step(_of_agent(transcript, change.payload), change.payload)
    return transcript


def _of_agent(transcript: Transcript, payload: Payload) -> Transcript:
    agent = payload.get("agent_id")
    if transcript.agent_id is not None or not isinstance(agent, str):
        return transcript
    return Transcript.of(replace(transcript.state, agent_id=agent))


def _snapshot(_: Transcript, payload: Payload) -> Transcript:
    return Transcript.from_dict(_object(payload, "transcript"))


def _message(transcript: Transcript, payload: Payload) -> Transcript:
    return transcript.append(_object(payload, "message"))


def _injected(transcript: Transcript, payload: Payload) -> Transcript:
    event = _object(payload, "event")
    reminder = read_payload(event.get("reminder"))
    if reminder is None:
        raise TranscriptError(f"`event` holds no valid reminder: {event!r:.80}")
    return inject(transcript, reminder, str(event.get("id"))).transcript


def _audited(transcript: Transcript, payload: Payload) -> Transcript:
    return keep_event(transcript, _object(payload, "event"))


def _cleared(transcript: Transcript, payload: Payload) -> Transcript:
    ids = payload.get("event_ids")
    wanted = set(ids) if isinstance(ids, list) else set()
    entries = [e for e in transcript.state.shelf.entries() if e.event_id in wanted]
    return remove(transcript, entries, "cleared").transcript


def _passed(transcript: Transcript, payload: Payload) -> Transcript:
    turn = payload.get("turn")
    if not isinstance(turn, int):
        raise TranscriptError(f"`turn` must be a whole number; got {turn!r:.80}")
    return post_turn(transcript, turn).transcript


def _object(payload: Payload, name: str) -> Payload:
    value = payload.get(name)
    if not isinstance(value, Mapping):
        raise TranscriptError(f"`{name}` must be an object; got {value!r:.80}")
    return dict(value)


_STEPS: dict[str, Callable[[Transcript, Payload], Transcript]] = {
    "transcript.snapshot": _snapshot,
    "transcript.message": _message,
    "transcript.injected": _injected,
    "transcript.audited": _audited,
    "transcript.cleared": _cleared,
    "transcript.passed": _passed,
    "transcript.fired": refire,
}
"""The kinds of the transcript topic."""
