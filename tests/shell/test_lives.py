"""Whole lives of transcripts, driven at random through the public functions, log attached.

replay equals live · injected = pending + replaced + expired + dropped · inputs never change ·
every record carries session, task and agent and no body.
"""

from __future__ import annotations

import json
from collections import Counter

import hypothesis.strategies as st
from hypothesis import given, settings

import tidings as td
from tidings.core.records import KINDS, LIFECYCLE_TOPIC
from tidings.shell.transforms import admit_reminder

BODY = "the body text nobody may log"

options = st.fixed_dictionaries(
    {"body": st.just(BODY)},
    optional={
        "dedupe_key": st.sampled_from(["k1", "k2"]),
        "ttl_turns": st.integers(1, 3),
        "preserve_on_compact": st.booleans(),
        "propagate": st.sampled_from(["all", "session", "none"]),
        "role_hint": st.sampled_from(["system", "developer", "user_block", "ephemeral_cache"]),
        "tags": st.sampled_from([["a"], ["a", "b"]]),
    },
)
actions = st.lists(
    st.one_of(
        st.tuples(st.just("inject"), options),
        st.tuples(st.just("external"), options),
        st.tuples(st.just("clear"), st.sampled_from([{"tag": "a"}, {"dedupe_key": "k1"}])),
        st.tuples(st.just("turn"), st.sampled_from(["anthropic/claude-sonnet-4-5", "openai/gpt-5"])),
        st.tuples(st.just("append_turn"), st.just("anthropic/claude-fable-5-2")),
        st.tuples(st.just("compact"), st.booleans()),
        st.tuples(st.just("inherit"), options),
        st.tuples(st.just("message"), st.just({"role": "user", "content": "hi"})),
    ),
    max_size=25,
)


class Life:
    """One session and the state its caller keeps beside the transcript."""

    def __init__(self) -> None:
        broken = {"kind": "system_reminder", "id": "e0", "reminder": {"id": "broken", "body": ""}}
        self.transcript = td.checkpoint(td.Transcript(events=[broken], session_id="s", agent_id="a"))
        self.turn, self.issued = 0, ()

    def inject(self, spec: dict[str, object]) -> None:
        self.transcript = td.inject_reminder(self.transcript, spec).transcript

    def external(self, spec: dict[str, object]) -> None:
        self.transcript = admit_reminder(
            self.transcript, {**spec, "odd": 1}, producer="mcp", origin="srv"
        ).transcript

    def clear(self, selector: dict[str, object]) -> None:
        self.transcript = td.clear_reminders(self.transcript, selector).transcript

    def turn_with(self, route: str, **more: object) -> None:
        self.turn += 1
        request = td.render(route, messages="hi", reminders=self.transcript.pending, **more)
        self.issued = request.issued
        self.transcript = td.mark_fired(self.transcript, request, turn=self.turn).transcript
        self.transcript = td.post_turn(self.transcript, turn=self.turn).transcript

    def append_turn(self, route: str) -> None:
        self.turn_with(route, issued=self.issued)

    def compact(self, with_turn: bool) -> None:
        self.issued = ()
        turn = self.turn if with_turn else None
        self.transcript = td.compact(self.transcript, keep=2, turn=turn).transcript

    def inherit(self, spec: dict[str, object]) -> None:
        parent = td.inject_reminder(td.Transcript(agent_id="p"), spec).transcript
        handed = json.loads(json.dumps(td.handoff(parent)))
        self.transcript = td.receive_handoff(self.transcript, handed).transcript

    def message(self, message: dict[str, object]) -> None:
        self.transcript = td.append_message(self.transcript, message)


def live(plan: list[tuple[str, object]]) -> tuple[Life, list[td.Transcript], object]:
    log = td.open_log("memory:")
    seen: list[tuple[td.Transcript, object]] = []
    with td.active_log(log), td.scope(task_id="t"):
        life = Life()
        for name, detail in plan:
            seen.append((life.transcript, json.dumps(life.transcript.to_dict())))
            if name == "turn":
                life.issued = ()
                life.turn_with(detail)
            else:
                getattr(life, name)(detail)
    return life, seen, log


def records_of_the_session(log) -> list[object]:
    """Without those of the parents that handed something down."""
    return [r for r in log.read(LIFECYCLE_TOPIC) if r.payload["session_id"] == "s"]


@settings(max_examples=120, deadline=None)
@given(actions)
def test_replaying_the_log_gives_the_live_transcript(plan: list[tuple[str, object]]) -> None:
    life, _, log = live(plan)
    replayed = td.replay(log, "s")
    assert replayed.to_dict() == life.transcript.to_dict()


@settings(max_examples=80, deadline=None)
@given(actions)
def test_no_transform_ever_changes_its_input(plan: list[tuple[str, object]]) -> None:
    _, seen, _ = live(plan)
    for transcript, before in seen:
        assert json.dumps(td.Transcript.of(transcript.state).to_dict()) == before


@settings(max_examples=120, deadline=None)
@given(actions)
def test_every_reminder_is_accounted_for(plan: list[tuple[str, object]]) -> None:
    life, _, log = live(plan)
    counted: Counter[str] = Counter()
    for record in records_of_the_session(log):
        name = record.kind.removeprefix("transcript.reminder.")
        if name == "deduped":
            counted["replaced"] += len(record.payload["replaced_ids"])
        elif name != "dropped":
            counted[name] += 1
        elif record.payload["reminder_id"] != "broken" and record.payload["reason"] == "invalid":
            counted["dropped"] += 1
    pending = len(life.transcript.pending)
    assert counted["injected"] == (pending + counted["replaced"] + counted["expired"] + counted["dropped"])


@settings(max_examples=60, deadline=None)
@given(actions)
def test_every_record_has_its_fields_and_context_and_no_body(plan: list[tuple[str, object]]) -> None:
    _, _, log = live(plan)
    for record in records_of_the_session(log):
        name = record.kind.removeprefix("transcript.reminder.")
        assert set(KINDS[name]) <= set(record.payload)
        context = {key: record.payload[key] for key in ("session_id", "task_id", "agent_id")}
        assert context == {"session_id": "s", "task_id": "t", "agent_id": "a"}
        assert BODY not in json.dumps(record.payload)
