"""What our own code writes: each object is taken by its artefact, and is exactly its type."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any, get_args

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tidings as td
from spec.parts.gate import OneSession
from tests.spec.schemas import accepts, problems
from tidings.acp.capabilities import FULL, Capabilities, advertised, client_advertised
from tidings.bridge import shapes, updates
from tidings.bridge.handle import answer, refusal
from tidings.bridge.rpc import Call, RpcError
from tidings.core.archive import archive
from tidings.core.mailbox import CAPACITY, MailboxFullError, RevokeError, RevokeStatus
from tidings.core.reminder import PROPAGATE, ROLE_HINTS, SOURCES, Reminder, meta_for, read_payload
from tidings.core.seams import MODES
from tidings.core.transcript import Transcript, event_of
from tidings.errors import CallerError, DiagnosticError, DuplicateReminderError, Problem, TidingsError
from tidings.testing import strategies

REQUEST = st.fixed_dictionaries(
    {"body": strategies.bodies()},
    optional={
        "tags": st.lists(strategies.texts(10), max_size=3),
        "dedupeKey": strategies.texts(10),
        "ttlTurns": st.integers(1, 5),
        "preserveOnCompact": st.booleans(),
        "propagate": st.sampled_from(PROPAGATE),
        "roleHint": st.sampled_from(ROLE_HINTS),
        "mode": st.sampled_from(MODES),
        "id": st.uuids().map(str),
    },
)
WORDS = st.one_of(st.just("Now the docs."), st.just([{"type": "text", "text": "Now the docs."}]))


class Served(OneSession):
    """A real session."""

    def __init__(self) -> None:
        self.session = td.Session("s1")

    def rejected(self, session_id: str | None, method: str, error: RpcError, /) -> None:
        raise error


def call(sessions: Served, method: str, **params: object) -> dict[str, Any]:
    found = answer(Call(f"session/{method}", params), sessions)
    assert found is not None
    return found


def refused(sessions: Served, method: str, **params: object) -> RpcError:
    with pytest.raises(RpcError) as caught:
        call(sessions, method, **params)
    return caught.value


def same(value: object, kind: type) -> None:
    """`value` is a `kind`: no member more, none less."""
    travelled = json.loads(json.dumps(value))
    assert msgspec.to_builtins(msgspec.convert(travelled, kind)) == travelled


@given(st.lists(REQUEST, max_size=4), st.lists(WORDS, max_size=2))
def test_what_a_session_answers_is_its_response(
    requests: list[dict[str, Any]], words: list[object]
) -> None:
    sessions = Served()
    for request in requests:
        told = call(sessions, "inject_reminder", **request)
        assert problems("SessionInjectReminderResponse", told) == []
        same(told, shapes.SessionInjectReminderResponse)
    for content in words:
        told = call(sessions, "inject", content=content)
        assert problems("SessionInjectResponse", told) == []
        same(told, shapes.SessionInjectResponse)
    waiting = call(sessions, "pending_injections")
    assert problems("SessionPendingInjectionsResponse", waiting) == []
    same(waiting, shapes.SessionPendingInjectionsResponse)
    for row in waiting["injections"]:
        assert problems("PendingInjection", row) == []


@given(REQUEST)
def test_our_own_row_leaves_nothing_out(request: dict[str, Any]) -> None:
    sessions = Served()
    call(sessions, "inject_reminder", **request)
    call(sessions, "inject", content="Now the docs.")
    reminder, message = call(sessions, "pending_injections")["injections"]
    names = [field.encode_name for field in msgspec.structs.fields(shapes.PendingReminder)]
    assert set(reminder) == {"kind", *names}
    names = [field.encode_name for field in msgspec.structs.fields(shapes.PendingUserMessage)]
    assert set(message) == {"kind", *names}


def test_revoking_and_clearing_answer_in_their_types() -> None:
    sessions = Served()
    call(sessions, "inject_reminder", body="The build is red.", id="b", tags=["build"])
    told = [call(sessions, "revoke_reminder", reminderId="b") for _ in range(2)]
    assert [one["status"] for one in told] == list(get_args(shapes.RevokeAnswer))
    for one in told:
        assert problems("SessionRevokeReminderResponse", one) == []
        same(one, shapes.SessionRevokeReminderResponse)
    cleared = call(sessions, "clear_reminders", tag="build")
    assert problems("SessionClearRemindersResponse", cleared) == []
    same(cleared, shapes.SessionClearRemindersResponse)


def test_the_answers_and_reasons_of_revoking_are_those_of_the_mailbox() -> None:
    both = (*get_args(shapes.RevokeAnswer), *get_args(shapes.RevokeReason))
    assert sorted(both) == sorted(get_args(RevokeStatus))


def delivered() -> Served:
    sessions = Served()
    call(sessions, "inject_reminder", body="The build is red.", id="b")
    with sessions.session.step():
        sessions.session.drain("iteration_start")
    return sessions


def full() -> Served:
    sessions = Served()
    for _ in range(CAPACITY):
        sessions.session.inject("more")
    return sessions


REFUSED: list[tuple[str, Callable[[], RpcError], type]] = [
    ("wrong", lambda: refused(Served(), "inject_reminder", body=" ", ttl=2), shapes.DiagnosticData),
    ("mode", lambda: refused(Served(), "inject", content="x", mode=5), shapes.DiagnosticData),
    ("late", lambda: refused(delivered(), "revoke_reminder", reminderId="b"), shapes.RevokeData),
    ("unknown", lambda: refused(Served(), "revoke_reminder", reminderId="b"), shapes.RevokeData),
    ("full", lambda: refused(full(), "inject_reminder", body="x"), shapes.MailboxFullData),
    ("typed", lambda: refused(Served(), "inject_reminder", sessionId=5, body="x"), shapes.ParameterData),
    ("empty", lambda: refused(Served(), "inject", content=""), shapes.ParameterData),
    ("nothing", lambda: refused(Served(), "clear_reminders"), shapes.DiagnosticData),
    ("twice", lambda: twice(), shapes.DuplicateData),
    ("nobody", lambda: nobody(), shapes.UnknownSessionData),
]


def twice() -> RpcError:
    sessions = Served()
    call(sessions, "inject_reminder", body="The build is red.", id="b")
    return refused(sessions, "inject_reminder", body="The build is green.", id="b")


def nobody() -> RpcError:
    sessions = Served()
    sessions.find = lambda _id: None  # type: ignore[method-assign, assignment]
    return refused(sessions, "inject_reminder", sessionId="s2", body="x")


@pytest.mark.parametrize(("name", "refuse", "kind"), REFUSED, ids=[row[0] for row in REFUSED])
def test_a_refusal_is_told_in_its_type(name: str, refuse: Callable[[], RpcError], kind: type) -> None:
    error = refuse().to_dict()
    assert problems("Refusal", error) == []
    assert problems("RefusalData", error["data"]) == []
    same(error["data"], kind)


def test_every_form_of_data_that_the_code_writes_was_seen_here() -> None:
    assert {kind for _, _, kind in REFUSED} == set(shapes.REFUSAL_DATA)


ERRORS: list[TidingsError] = [
    DiagnosticError("session/remind", (Problem("HARN-RMD-002", "body", "", "missing"),)),
    RevokeError("r-1", "already_delivered"),
    DuplicateReminderError("r-1", ("body",)),
    MailboxFullError("full"),
]


def test_the_table_says_which_error_is_told_in_which_form() -> None:
    assert [type(error) for error in ERRORS] == list(shapes.REFUSALS)
    for error in ERRORS:
        same(refusal(error).data, shapes.REFUSALS[type(error)])
    assert refusal(CallerError("no")).data is None


def test_an_answer_that_is_no_answer_is_refused() -> None:
    for name in ("SessionInjectReminderResponse", "SessionRevokeReminderResponse", "PendingInjection"):
        assert not accepts(name, None)
        assert not accepts(name, {})


@given(
    strategies.reminders(),
    st.sampled_from(("", "system", "developer", "user")),
    st.none() | strategies.texts(10),
)
def test_an_emitted_update_is_its_type(reminder: Reminder, role: str, provider: str | None) -> None:
    known = msgspec.structs.replace(reminder.provenance, provider_id=provider)
    told = msgspec.structs.replace(reminder, meta=meta_for(known))
    update = updates.emitted(told, role)
    named = provider is not None and reminder.source in ("stdlib_provider", "hook")
    assert update.get("providerId") == (provider if named else None)
    assert problems("SessionUpdate_ReminderEmitted", update) == []
    assert problems("SessionUpdate_Reminder", update) == []
    assert problems("ReportMeta", update["_meta"]) == []
    same(update, shapes.EmittedUpdate)


@given(strategies.texts(), strategies.texts(), st.lists(strategies.texts(), max_size=3))
def test_a_deduped_update_is_its_type(reminder_id: str, key: str, dropped: list[str]) -> None:
    update = updates.deduped(reminder_id, key, dropped)
    assert problems("SessionUpdate_ReminderDeduped", update) == []
    assert problems("ReportMeta", update["_meta"]) == []
    same(update, shapes.DedupedUpdate)


@given(strategies.texts(), st.sampled_from(tuple(updates.PHASES)), st.none() | st.integers(0, 9))
def test_an_expired_update_is_its_type(reminder_id: str, reason: str, turn: int | None) -> None:
    update = updates.expired(reminder_id, reason, turn)
    assert problems("SessionUpdate_ReminderExpired", update) == []
    assert problems("ReportMeta", update["_meta"]) == []
    same(update, shapes.ExpiredUpdate)


def test_the_updates_of_a_whole_run_validate() -> None:
    log = td.open_log("memory:")
    session = td.Session("s1", log=log)
    session.remind(body="The build is red.", dedupe_key="build", ttl_turns=1, id="first")
    session.remind(body="The build is green.", dedupe_key="build", ttl_turns=1, id="second")
    known = {r.id: r for item in session.stored.mailbox.items if isinstance(r := item.what, Reminder)}
    asyncio.run(td.agent_loop("Work.", model="scripted:done", session=session))
    records = log.read("transcript.reminder.lifecycle")
    told = [updates.update_of(record.kind, record.payload, known.get) for record in records]
    seen = [update for update in told if update is not None]
    kinds = [update["sessionUpdate"] for update in seen]
    assert kinds == ["reminder_deduped", "reminder_emitted", "reminder_expired"]
    assert [problems("SessionUpdate_Reminder", update) for update in seen] == [[], [], []]


@given(strategies.reminders())
def test_a_transcript_event_is_its_type(reminder: Reminder) -> None:
    event = event_of(reminder, "event-1")
    assert problems("ReminderEvent", event) == []
    travelled = json.loads(json.dumps(event))
    again = msgspec.convert(travelled, shapes.ReminderEvent)
    assert set(travelled) == set(shapes.ReminderEvent.__struct_fields__)
    assert again.reminder == again.metadata == reminder
    assert msgspec.to_builtins(again.blocks) == travelled["blocks"]


@given(strategies.reminders())
def test_an_audit_event_is_one_too(reminder: Reminder) -> None:
    (event,) = archive(Transcript(), reminder, "event-1").transcript.events
    assert problems("ReminderEvent", event) == []


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.sampled_from(("", " ", "x", "all", "system", "hook")),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("ab"), inner, max_size=1),
    max_leaves=4,
)
PAYLOAD = tuple(field.encode_name for field in msgspec.structs.fields(Reminder))


@given(strategies.reminders(), st.dictionaries(st.sampled_from(PAYLOAD), JSON, max_size=2), st.sets(
    st.sampled_from(PAYLOAD), max_size=1))  # fmt: skip
def test_a_stored_payload_is_taken_exactly_when_it_can_be_read(
    reminder: Reminder, changed: dict[str, object], without: set[str]
) -> None:
    payload = {
        name: value for name, value in {**reminder.to_dict(), **changed}.items() if name not in without
    }
    event = {**event_of(reminder, "event-1"), "reminder": payload, "metadata": payload}
    assert accepts("ReminderEvent", event) == (read_payload(payload) is not None)


@given(st.dictionaries(st.sampled_from(PAYLOAD), JSON, max_size=4), strategies.bodies())
def test_what_the_lenient_builder_makes_is_an_event(options: dict[str, object], body: str) -> None:
    event = td.reminder_event({**options, "body": body})
    assert problems("ReminderEvent", event) == []


def test_a_blank_reminder_of_the_lenient_builder_is_none() -> None:
    assert not accepts("ReminderEvent", td.reminder_event({"body": " "}))


@given(st.builds(
    Capabilities,
    inject=st.booleans(),
    emit=st.booleans(),
    propagate=st.sampled_from((PROPAGATE, ("session",), ())),
    role_hints=st.sampled_from((ROLE_HINTS, ("system",))),
    modes=st.sampled_from((MODES, ("finish_step",))),
    methods=st.sampled_from((FULL.methods, ())),
), st.booleans())  # fmt: skip
def test_what_an_agent_advertises_is_its_type(ours: Capabilities, rfc: bool) -> None:
    known = {"loadSession": True, "_meta": {"harn": {"x": 1}, "y": 2}}
    assert problems("AgentCapabilities", advertised(known, ours, rfc=rfc)) == []


def test_what_a_client_advertises_is_its_type() -> None:
    assert problems("ClientCapabilities", client_advertised({"fs": {"readTextFile": True}})) == []
    assert not accepts("ClientCapabilities", {"_meta": {"harn": {"reminders": {"emit": "yes"}}}})


def test_the_sources_of_a_reminder_are_all_told() -> None:
    assert set(updates.SOURCES) == set(SOURCES)
