"""Reminding an agent that takes reminders: what is sent, what comes back, what goes wrong."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from tests.acp.host.running import FULL_META, META, RFC, calls, kinds, play, sent, talk
from tidings.acp import (
    AgentAnswerError,
    AgentDeadlineError,
    AgentDiedError,
    AgentRefusedError,
    BeyondError,
    Client,
    Deduped,
    Emitted,
    Expired,
    Host,
    Lowered,
    NotAdvertisedError,
    Reminded,
    Session,
)
from tidings.core.mailbox import RevokeError
from tidings.errors import DiagnosticError

EVERYTHING = {
    "tags": ["workspace", "git"],
    "dedupe_key": "branch",
    "ttl_turns": 2,
    "preserve_on_compact": True,
    "propagate": "all",
    "role_hint": "developer",
    "mode": "interrupt_immediate",
}


def test_every_field_reaches_the_agent_in_the_spelling_of_the_wire(tmp_path: Path) -> None:
    async def scene(session: Session) -> Reminded:
        return await session.remind("The branch changed.", **EVERYTHING)  # type: ignore[arg-type]

    assert talk(tmp_path, scene) == Reminded(
        reminder_id="r1", delivery="agent", method="_session/inject_reminder"
    )
    assert [message for message in sent(tmp_path) if message["id"] == "tidings-1"] == [
        {
            "jsonrpc": "2.0",
            "id": "tidings-1",
            "method": "_session/inject_reminder",
            "params": {
                "sessionId": "s1",
                "body": "The branch changed.",
                "tags": ["workspace", "git"],
                "dedupeKey": "branch",
                "ttlTurns": 2,
                "preserveOnCompact": True,
                "propagate": "all",
                "roleHint": "developer",
                "mode": "interrupt_immediate",
            },
        }
    ]


def test_what_is_not_given_is_left_to_the_agent_and_what_is_given_is_tidied(tmp_path: Path) -> None:
    async def scene(session: Session) -> None:
        await session.remind("  The build is red.  ", tags=(" ci ", "ci"), mode="wait_for_completion")

    talk(tmp_path, scene)
    assert calls(tmp_path, "_session/inject_reminder") == [
        {"sessionId": "s1", "body": "The build is red.", "tags": ["ci"], "mode": "audit_only"}
    ]


@pytest.mark.parametrize(
    ("capabilities", "method"),
    [
        (RFC, "session/inject_reminder"),
        (META, "_session/inject_reminder"),
        ({"_meta": {"harn": {"reminders": {"inject": True}}}}, "_session/inject_reminder"),
        ({"reminders": {"inject": True, "methods": ["session/remind"]}}, "session/remind"),
        ({"reminders": {"inject": True, "methods": ["session/what"]}}, "session/inject_reminder"),
        ({"reminders": {"inject": True, "methods": ["_x/what"]}}, "_session/inject_reminder"),
    ],
)
def test_the_method_has_the_name_that_the_agent_advertises(
    tmp_path: Path, capabilities: object, method: str
) -> None:
    async def scene(session: Session) -> str | None:
        return (await session.remind("News.")).method

    assert talk(tmp_path, scene, capabilities) == method
    assert calls(tmp_path, method) == [{"sessionId": "s1", "body": "News."}]


def test_a_reminder_says_how_many_it_replaces(tmp_path: Path) -> None:
    async def scene(session: Session) -> list[tuple[str, int]]:
        sent = [await session.remind(f"Build {n}.", dedupe_key="build") for n in range(3)]
        return [(one.reminder_id, one.deduped_count) for one in sent]

    assert talk(tmp_path, scene) == [("r1", 0), ("r2", 1), ("r3", 2)]


@pytest.mark.parametrize(
    ("wrong", "code", "field"),
    [
        ({"body": " "}, "HARN-RMD-002", "body"),
        ({"body": 5}, "HARN-RMD-002", "body"),
        ({"body": "b", "ttl_turns": 0}, "HARN-RMD-002", "ttl_turns"),
        ({"body": "b", "propagate": "everywhere"}, "HARN-RMD-005", "propagate"),
        ({"body": "b", "mode": "now"}, "HARN-RMD-002", "mode"),
        ({"body": "b", "role_hint": "root"}, "HARN-RMD-002", "role_hint"),
    ],
)
def test_a_wrong_reminder_is_named_and_not_sent(
    tmp_path: Path, wrong: dict[str, object], code: str, field: str
) -> None:
    async def scene(session: Session) -> tuple[str, str]:
        with pytest.raises(DiagnosticError) as caught:
            await session.remind(**wrong)  # type: ignore[arg-type]
        return caught.value.code, caught.value.problems[0].field

    assert talk(tmp_path, scene) == (code, field)
    assert calls(tmp_path, "_session/inject_reminder") == []


def test_values_beyond_the_advertisement_are_lowered_and_told(tmp_path: Path) -> None:
    async def scene(host: Host) -> tuple[Reminded, list[str]]:
        session = await host.new_session(tmp_path)
        return await session.remind("b", propagate="all", role_hint="user_block"), kinds(host)

    reminded, noted = play(tmp_path, scene, RFC)
    assert reminded.lowered == (
        Lowered("propagate", "all", "session"),
        Lowered("role_hint", "user_block", None),
    )
    assert noted == ["lowered", "lowered"]
    assert calls(tmp_path, "session/inject_reminder") == [
        {"sessionId": "s1", "body": "b", "propagate": "session"}
    ]


def test_a_caller_who_wants_no_lowering_is_refused(tmp_path: Path) -> None:
    async def scene(session: Session) -> tuple[str, str, tuple[str, ...]]:
        with pytest.raises(BeyondError, match="`propagate` 'all' is beyond") as caught:
            await session.remind("b", propagate="all", beyond="refuse")
        with pytest.raises(BeyondError, match="`propagate` 'none' is beyond"):
            await session.remind("b", propagate="none", beyond="lower")
        return caught.value.field, caught.value.value, caught.value.allowed

    strict = Client(beyond="refuse")
    assert talk(tmp_path, scene, RFC, client=strict) == ("propagate", "all", ("session",))
    assert calls(tmp_path, "session/inject_reminder") == []


@pytest.mark.parametrize(
    ("body", "got"),
    [("answer null", None), ("answer number", {"reminderId": 7}), ("answer blank", {"reminderId": ""})],
)
def test_success_without_a_reminder_id_is_failure(tmp_path: Path, body: str, got: object) -> None:
    async def scene(session: Session) -> object:
        with pytest.raises(AgentAnswerError, match="expected a result with `reminderId`") as caught:
            await session.remind(body)
        return caught.value.got

    assert talk(tmp_path, scene) == got


def test_a_refusal_carries_the_code_of_the_diagnostic(tmp_path: Path) -> None:
    async def scene(session: Session) -> tuple[int, str, object]:
        with pytest.raises(AgentRefusedError) as caught:
            await session.remind("refuse")
        return caught.value.code, caught.value.message, caught.value.data

    assert talk(tmp_path, scene) == (-32602, "bad body", {"code": "HARN-RMD-002"})


def test_an_error_of_the_wrong_shape_is_still_a_refusal(tmp_path: Path) -> None:
    async def scene(session: Session) -> tuple[int, str]:
        with pytest.raises(AgentRefusedError) as caught:
            await session.remind("refuse oddly")
        return caught.value.code, caught.value.message

    assert talk(tmp_path, scene) == (-32603, "5")


@pytest.mark.parametrize("body", ["answer never", "answer nobody"])
def test_an_agent_that_does_not_answer_is_given_up(tmp_path: Path, body: str) -> None:
    async def scene(session: Session) -> str:
        with pytest.raises(AgentDeadlineError, match="_session/inject_reminder: no answer within"):
            await session.remind(body, deadline=0.2)
        return (await session.prompt("say still here")).text

    assert talk(tmp_path, scene) == "still here"


def test_an_answer_that_comes_too_late_or_twice_is_noted(tmp_path: Path) -> None:
    async def scene(host: Host) -> tuple[str, list[str]]:
        session = await host.new_session(tmp_path)
        with pytest.raises(AgentDeadlineError):
            await session.remind("answer late", deadline=0.2)
        await session.remind("answer twice")
        text = (await session.prompt("now\nsay done")).text
        return text, [note.text for note in host.notes]

    assert play(tmp_path, scene) == (
        "done",
        [
            "an answer to 'tidings-2', which waits for none: {'reminderId': 'r'}",
            "_session/inject_reminder was answered too late: {'reminderId': 'late'}",
        ],
    )


def test_an_agent_that_dies_at_a_reminder_says_how(tmp_path: Path) -> None:
    async def scene(session: Session) -> int | None:
        with pytest.raises(AgentDiedError, match="_session/inject_reminder: the agent exited") as caught:
            await session.remind("die")
        return caught.value.exit_code

    assert talk(tmp_path, scene) == 7


def test_reminders_are_sent_while_a_prompt_runs(tmp_path: Path) -> None:
    async def scene(session: Session) -> tuple[str, str]:
        working = asyncio.create_task(session.prompt("say started\nhang"))
        with session.updates() as updates:
            await anext(updates)
        reminded = await session.remind("News.")
        await session.cancel()
        return reminded.reminder_id, (await working).stop_reason

    assert talk(tmp_path, scene) == ("r1", "cancelled")


def test_what_waits_can_be_listed_revoked_and_cleared(tmp_path: Path) -> None:
    async def scene(session: Session) -> list[object]:
        for number in range(3):
            await session.remind(f"News {number}.", dedupe_key=f"k{number}")
        waiting = [row["reminderId"] for row in await session.pending()]
        answers = [
            await session.revoke("r2"),
            await session.revoke("r2"),
            await session.clear(dedupe_key="k0"),
        ]
        return [waiting, *answers, await session.pending()]

    left = ({"kind": "reminder", "reminderId": "r3", "dedupeKey": "k2"},)
    assert talk(tmp_path, scene) == [["r1", "r2", "r3"], "revoked", "already_revoked", 1, left]
    assert calls(tmp_path, "_session/clear_reminders") == [{"sessionId": "s1", "dedupeKey": "k0"}]


def test_a_row_that_is_none_is_noted(tmp_path: Path) -> None:
    async def scene(host: Host) -> tuple[tuple[object, ...], list[str]]:
        session = await host.new_session(tmp_path)
        with pytest.raises(AgentDeadlineError):
            await session.remind("answer late", deadline=0.1)
        return await session.pending(), kinds(host)

    assert play(tmp_path, scene) == ((), ["unreadable_reminder"])


def test_what_cannot_be_revoked_says_why(tmp_path: Path) -> None:
    async def scene(session: Session) -> list[str]:
        await session.remind("News.")
        await session.prompt("deliver")
        reasons = []
        for one in ("r1", "r9"):
            with pytest.raises(RevokeError) as caught:
                await session.revoke(one)
            reasons.append(caught.value.reason)
        return reasons

    assert talk(tmp_path, scene) == ["already_delivered", "unknown_reminder_id"]


def test_clearing_nothing_in_particular_is_refused(tmp_path: Path) -> None:
    async def scene(session: Session) -> None:
        with pytest.raises(DiagnosticError, match="give at least one of id, tag, dedupe_key"):
            await session.clear()

    talk(tmp_path, scene)


def test_a_users_words_go_into_the_running_turn(tmp_path: Path) -> None:
    async def scene(session: Session) -> str:
        return await session.inject("use tabs", mode="interrupt_immediate")

    assert talk(tmp_path, scene) == "m1"
    assert calls(tmp_path, "_session/inject") == [
        {"sessionId": "s1", "content": "use tabs", "mode": "interrupt_immediate"}
    ]


def test_what_is_not_advertised_is_not_tried(tmp_path: Path) -> None:
    async def scene(session: Session) -> None:
        for call in (session.pending(), session.revoke("r1"), session.clear(tag="x"), session.inject("hi")):
            with pytest.raises(NotAdvertisedError, match="does not advertise"):
                await call

    talk(tmp_path, scene, RFC)
    assert [message["method"] for message in sent(tmp_path)] == ["initialize", "session/new"]


def test_an_agent_that_lists_methods_but_injects_nothing_takes_none(tmp_path: Path) -> None:
    async def scene(session: Session) -> str:
        return (await session.remind("News.")).delivery

    told = {"_meta": {"harn": {"reminders": {**FULL_META, "inject": False}}}}
    assert talk(tmp_path, scene, told) == "suppressed"


def test_lifecycle_updates_come_typed_in_order_and_once_whatever_their_form(tmp_path: Path) -> None:
    rfc = {
        "sessionUpdate": "reminder_emitted",
        "reminderId": "r1",
        "body": "one",
        "source": "bridge",
        "_meta": {"harn": {"reminder": {"reminderId": "r1", "body": "one", "renderedRole": "system"}}},
    }
    prefixed = {
        "sessionUpdate": "_harn_reminder_deduped",
        "reminderId": "r2",
        "dedupeKey": "k",
        "droppedReminderIds": ["r1"],
    }
    expired = {"sessionUpdate": "reminder_expired", "reminderId": "r2", "phase": "ttl_expired"}
    carrier = {
        "sessionUpdate": "agent_message_chunk",
        "content": {"type": "text", "text": "hi"},
        "_meta": {"harn": {"reminders": [expired], "reminder": expired}},
    }
    last = {
        "harn": {"reminders": [{"sessionUpdate": "reminder_emitted", "reminderId": "r3", "body": "x"}, 5]}
    }
    script = "\n".join(
        [f"update {json.dumps(one)}" for one in (rfc, prefixed, carrier)] + [f"meta {json.dumps(last)}"]
    )

    async def scene(host: Host) -> tuple[list[object], list[str], str, list[str]]:
        session = await host.new_session(tmp_path)
        with session.reminders() as events:
            answer = await session.prompt(script)
        heard: list[object] = [event async for event in events]
        assert list(answer.reminders) == heard
        return heard, [update.kind for update in answer.updates], answer.text, kinds(host)

    assert play(tmp_path, scene) == (
        [
            Emitted(session_id="s1", reminder_id="r1", body="one", source="bridge", rendered_role="system"),
            Deduped(session_id="s1", reminder_id="r2", dedupe_key="k", dropped_ids=("r1",)),
            Expired(session_id="s1", reminder_id="r2", phase="ttl_expired"),
            Emitted(session_id="s1", reminder_id="r3", body="x"),
        ],
        ["agent_message_chunk"],
        "hi",
        ["unreadable_reminder"],
    )
