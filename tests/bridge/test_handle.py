"""A host's call does the same whatever its spelling; a refusal names the code, the field and the fix."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

import tidings as td
from tidings.bridge.handle import Target, answer
from tidings.bridge.methods import METHODS, OPERATIONS, operation_of
from tidings.bridge.rpc import Call, RpcError
from tidings.core.mailbox import CAPACITY


class Kept:
    """The sessions of a test, and what was refused."""

    def __init__(self, *sessions: td.Session) -> None:
        self.sessions = {session.id: session for session in sessions}
        self.refused: list[tuple[str | None, str, int]] = []

    def find(self, session_id: str) -> Target | None:
        return self.sessions.get(session_id)

    def only(self) -> Target | None:
        return next(iter(self.sessions.values())) if len(self.sessions) == 1 else None

    def rejected(self, session_id: str | None, method: str, error: RpcError) -> None:
        self.refused.append((session_id, method, error.code))


def call(method: str, params: Mapping[str, object], *, notify: bool = False) -> Call:
    return Call(method, dict(params), None if notify else 1, not notify)


def refused(kept: Kept, method: str, params: Mapping[str, object]) -> tuple[int, str, object]:
    with pytest.raises(RpcError) as caught:
        answer(call(method, params), kept)
    return caught.value.code, caught.value.message, caught.value.data


def test_every_name_is_one_of_five_operations() -> None:
    assert set(METHODS.values()) == set(OPERATIONS)
    assert operation_of("session/remind") == operation_of("_harn/session/inject_reminder")
    assert operation_of("session/prompt") is None
    assert len(METHODS) == 18


REMINDING = [name for name, operation in METHODS.items() if operation == "inject_reminder"]


@pytest.mark.parametrize("method", REMINDING)
@pytest.mark.parametrize("notify", [False, True])
def test_a_reminder_is_queued_by_any_name(method: str, notify: bool) -> None:
    kept = Kept(td.Session("s"))
    params = {"sessionId": "s", "body": "The build passed.", "id": "r1", "ttlTurns": 2}
    expected = None if notify else {"reminderId": "r1", "dedupedCount": 0}
    assert answer(call(method, params, notify=notify), kept) == expected
    [row] = kept.sessions["s"].stored.mailbox.rows()
    assert (row["reminderId"], row["ttlTurns"], row["mode"]) == ("r1", 2, "finish_step")


FIELDS = {
    "body": "src/lib.rs changed.",
    "tags": ["workspace"],
    "dedupeKey": "change",
    "ttlTurns": 2,
    "preserveOnCompact": True,
    "propagate": "none",
    "roleHint": "developer",
    "mode": "interrupt_immediate",
}
SNAKE = {
    "dedupeKey": "dedupe_key",
    "ttlTurns": "ttl_turns",
    "preserveOnCompact": "preserve_on_compact",
    "roleHint": "role_hint",
}


@pytest.mark.parametrize(
    "params",
    [
        FIELDS,
        {SNAKE.get(name, name): value for name, value in FIELDS.items()},
        {"reminder": FIELDS},
        {"mode": "interrupt_immediate", "reminder": {k: v for k, v in FIELDS.items() if k != "mode"}},
        {"body": FIELDS["body"], "_meta": {"harn": {"reminder": FIELDS}}},
    ],
    ids=["camel", "snake", "nested", "mode beside", "meta fills"],
)
def test_every_form_of_a_reminder_is_the_same_reminder(params: dict[str, object]) -> None:
    kept = Kept(td.Session("s"))
    answer(call("session/remind", {**params, "session_id": "s"}), kept)
    [row] = kept.sessions["s"].stored.mailbox.rows()
    for changing in ("id", "reminderId"):
        del row[changing]
    assert row == {
        "kind": "reminder",
        "mode": "interrupt_immediate",
        "position": 0,
        "body": "src/lib.rs changed.",
        "tags": ["workspace"],
        "dedupeKey": "change",
        "ttlTurns": 2,
        "preserveOnCompact": True,
        "propagate": "none",
        "roleHint": "developer",
        "source": "bridge",
        "firedAtTurn": 0,
        "originatingAgentId": None,
    }


def test_the_count_of_what_will_be_replaced_is_in_the_reply() -> None:
    kept = Kept(td.Session("s"))
    params = {"body": "red", "dedupeKey": "build"}
    counts = [answer(call("session/remind", params), kept) for _ in range(3)]
    assert [count and count["dedupedCount"] for count in counts] == [0, 1, 2]


def test_meta_never_overrides_a_parameter() -> None:
    kept = Kept(td.Session("s"), td.Session("other"))
    meta = {
        "sessionId": "other",
        "session_id": "other",
        "harn": {"reminder": {"body": "forged", "ttlTurns": 9}},
    }
    answer(call("session/remind", {"sessionId": "s", "body": "real", "ttl_turns": 1, "_meta": meta}), kept)
    [row] = kept.sessions["s"].stored.mailbox.rows()
    assert (row["body"], row["ttlTurns"]) == ("real", 1)
    assert kept.sessions["other"].stored.mailbox.rows() == []


def test_user_words_wait_beside_reminders_in_the_order_they_came() -> None:
    kept = Kept(td.Session("s"))
    assert answer(call("session/inject", {"content": "also the tests", "messageId": "m1"}), kept) == {
        "messageId": "m1"
    }
    answer(call("session/remind", {"body": "tests passed", "id": "r1"}), kept)
    pending = answer(call("session/pending_injections", {}), kept)
    assert pending is not None
    rows = pending["injections"]
    assert isinstance(rows, list)
    assert pending["pendingCount"] == 2
    assert [(row["kind"], row["id"], row["position"]) for row in rows] == [
        ("user_message", "m1", 0),
        ("reminder", "r1", 1),
    ]


def test_revoking_is_idempotent_and_says_why_it_cannot() -> None:
    session = td.Session("s")
    kept = Kept(session)
    session.remind(body="x", id="r1")
    session.remind(body="y", id="r2")
    revoke = call("session/revoke_reminder", {"reminderId": "r1"})
    assert answer(revoke, kept) == {"status": "revoked", "reminderId": "r1"}
    assert answer(revoke, kept) == {"status": "already_revoked", "reminderId": "r1"}
    with session.step():
        session.drain("iteration_start")
    for reminder_id, reason in (("r2", "already_delivered"), ("r9", "unknown_reminder_id")):
        code, _, data = refused(kept, "session/revoke_reminder", {"reminder_id": reminder_id})
        assert (code, data) == (-32602, {"reason": reason, "reminderId": reminder_id})


@pytest.mark.parametrize("selector", [{"dedupeKey": "k"}, {"dedupe_key": "k"}, {"tag": "t"}, {"id": "r1"}])
def test_clearing_counts_what_was_removed(selector: dict[str, str]) -> None:
    session = td.Session("s")
    session.remind(body="x", id="r1", dedupe_key="k", tags=["t"])
    session.remind(body="y", id="r2")
    cleared = call("_harn/session/clear_reminders", {**selector, "sessionId": "s"})
    assert answer(cleared, Kept(session)) == {"removedCount": 1}
    assert [row["id"] for row in session.stored.mailbox.rows()] == ["r2"]


BAD: list[tuple[str, dict[str, object], str, str]] = [
    ("session/remind", {}, "HARN-RMD-002", "`body` must be a non-empty string"),
    ("session/remind", {"body": " "}, "HARN-RMD-002", "`body`"),
    ("session/remind", {"content": "x"}, "HARN-RMD-002", "goes in `body`"),
    ("session/remind", {"body": "x", "colour": 1}, "HARN-RMD-001", "unknown key `colour`"),
    ("session/remind", {"body": "x", "propagate": "far"}, "HARN-RMD-005", "one of all, session, none"),
    ("session/remind", {"body": "x", "mode": "later"}, "HARN-RMD-002", "interrupt_immediate, finish_step"),
    ("session/remind", {"body": "x", "mode": 3}, "HARN-RMD-002", "got 3"),
    ("session/remind", {"body": "x", "ttlTurns": 1, "ttl_turns": 2}, "HARN-RMD-002", "given twice"),
    ("session/remind", {"reminder": "x"}, "HARN-RMD-002", "`reminder` must be an object"),
    ("session/remind", {"reminder": {"body": "x"}, "tags": []}, "HARN-RMD-001", "put it inside"),
    ("session/clear_reminders", {}, "HARN-RMD-001", "at least one of id, tag, dedupe_key"),
    ("session/clear_reminders", {"colour": "x"}, "HARN-RMD-001", "colour"),
]


@pytest.mark.parametrize(("method", "params", "code", "names"), BAD)
def test_a_bad_payload_is_refused_with_its_code(
    method: str, params: dict[str, object], code: str, names: str
) -> None:
    session = td.Session("s")
    number, message, data = refused(Kept(session), method, params)
    assert isinstance(data, dict)
    assert (number, data["code"]) == (-32602, code)
    assert names in message
    assert session.stored.mailbox.rows() == []


def test_a_bad_payload_names_every_problem_for_a_program() -> None:
    _, _, data = refused(Kept(td.Session("s")), "session/remind", {"body": "", "ttlTurns": 0})
    assert isinstance(data, dict)
    assert [(p["code"], p["field"], p["value"]) for p in data["problems"]] == [
        ("HARN-RMD-002", "body", "''"),
        ("HARN-RMD-002", "ttlTurns", "0"),
    ]


def test_a_wrong_mode_is_named_beside_the_other_problems() -> None:
    _, _, data = refused(Kept(td.Session("s")), "session/remind", {"bdy": "x", "mode": "now"})
    assert isinstance(data, dict)
    assert [(p["code"], p["field"]) for p in data["problems"]] == [
        ("HARN-RMD-002", "body"),
        ("HARN-RMD-001", "bdy"),
        ("HARN-RMD-002", "mode"),
    ]


@pytest.mark.parametrize("field", ["ttlTurns", "ttl_turns"])
@pytest.mark.parametrize("method", ["session/inject_reminder", "session/remind"])
def test_a_refusal_speaks_of_the_method_and_the_field_as_they_were_sent(method: str, field: str) -> None:
    _, message, _ = refused(Kept(td.Session("s")), method, {"body": "x", field: 0})
    told = f"`{field}` must be a whole number of turns, 1 or more, or left out; got 0"
    assert message == f"{method}: HARN-RMD-002: {told}"


@pytest.mark.parametrize(
    ("params", "code", "names"),
    [
        ({"sessionId": "nobody"}, -32002, "'nobody'"),
        ({"sessionId": 7}, -32602, "`sessionId` must be a string"),
        ({"sessionId": "s", "session_id": "t"}, -32602, "differ"),
        ({}, -32602, "not exactly one session"),
    ],
)
def test_the_session_must_be_known(params: dict[str, object], code: int, names: str) -> None:
    kept = Kept(td.Session("s"), td.Session("t"))
    number, message, _ = refused(kept, "session/remind", {**params, "body": "x"})
    assert number == code
    assert names in message


@pytest.mark.parametrize("content", [None, "", " ", 5, [], ["x"], {}])
def test_user_words_must_be_text_or_blocks(content: object) -> None:
    code, message, _ = refused(Kept(td.Session("s")), "session/inject", {"content": content})
    assert code == -32602
    assert "`content` must be text or a list of content blocks" in message


def test_the_same_id_with_other_content_is_refused_and_the_first_stays() -> None:
    kept = Kept(td.Session("s"))
    answer(call("session/remind", {"body": "one", "id": "r1"}), kept)
    assert answer(call("session/remind", {"body": "one", "id": "r1"}), kept) == {
        "reminderId": "r1",
        "dedupedCount": 0,
    }
    code, _, data = refused(kept, "session/remind", {"body": "two", "id": "r1"})
    assert (code, data) == (-32602, {"reason": "duplicate_id", "reminderId": "r1"})
    assert [row["body"] for row in kept.sessions["s"].stored.mailbox.rows()] == ["one"]


def test_a_full_mailbox_is_said_to_be_full() -> None:
    session = td.Session("s")
    for _ in range(CAPACITY):
        session.remind(body="x")
    code, _, data = refused(Kept(session), "session/remind", {"body": "one more"})
    assert (code, data) == (-32000, {"reason": "mailbox_full"})


def test_a_refused_notification_is_handed_over_to_be_recorded() -> None:
    kept = Kept(td.Session("s"))
    bad = [
        call("session/remind", {"sessionId": "s"}, notify=True),
        call("session/remind", {"sessionId": "gone", "body": "x"}, notify=True),
        call("session/revoke_reminder", {"sessionId": 4}, notify=True),
        call("session/what", {}, notify=True),
    ]
    assert [answer(one, kept) for one in bad] == [None] * 4
    assert kept.refused == [
        ("s", "session/remind", -32602),
        ("gone", "session/remind", -32002),
        (None, "session/revoke_reminder", -32602),
        (None, "session/what", -32601),
    ]


def test_the_origin_is_the_adapters_word_not_the_payloads() -> None:
    session = td.Session("s")
    params = {"body": "x", "_meta": {"tidings": {"trust": "operator", "origin": "me"}}}
    answer(call("session/remind", params), Kept(session), origin="acp:zed")
    [item] = session.stored.mailbox.items
    assert isinstance(item.what, td.Reminder)
    assert (item.what.trust, item.what.provenance.origin) == ("host", "acp:zed")
