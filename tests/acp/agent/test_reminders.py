"""Reminders over ACP: every name, as request or notification, idle or running; and what a client hears."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

import tidings as td
from tests.acp.agent.wire import Editor, editor, play
from tests.bridge.served import HeldModel, Message, folder, records, settings
from tidings.acp.agent.outlet import AcpOutlet
from tidings.agent.models.scripted import call
from tidings.bridge.methods import METHODS, Operation
from tidings.bridge.served.peer import Peer

GIVEN: dict[Operation, dict[str, Any]] = {
    "inject": {"content": "more words"},
    "inject_reminder": {"body": "more news", "dedupeKey": "k", "ttlTurns": 1},
    "pending_injections": {},
    "revoke_reminder": {"reminderId": "first"},
    "clear_reminders": {"tag": "t"},
}
WAITING: dict[Operation, list[str]] = {
    "inject": ["first", "new"],
    "inject_reminder": ["first", "new"],
    "pending_injections": ["first"],
    "revoke_reminder": [],
    "clear_reminders": [],
}
"""What waits after each operation, when one reminder waited before."""


def answered(operation: Operation, answer: Any, rows: list[Message]) -> bool:
    """Whether the answer is what the operation promises."""
    match operation:
        case "inject":
            return bool(answer == {"messageId": rows[-1]["id"]})
        case "inject_reminder":
            return bool(answer == {"reminderId": rows[-1]["id"], "dedupedCount": 1})
        case "pending_injections":
            return bool(answer == {"pendingCount": 1, "injections": rows})
        case "revoke_reminder":
            return bool(answer == {"status": "revoked", "reminderId": "first"})
        case "clear_reminders":
            return bool(answer == {"removedCount": 1})


async def use(client: Editor, method: str, session_id: str, notify: bool) -> None:
    first = {"id": "first", "body": "news", "tags": ["t"], "dedupeKey": "k"}
    operation = METHODS[method]
    await client.ask("session/remind", sessionId=session_id, **first)
    params = {"sessionId": session_id, **GIVEN[operation]}
    answer = None
    if notify:
        client.tell(method, **params)
    else:
        answer = await client.ask(method, **params)
    rows = (await client.ask("session/pending_injections", sessionId=session_id))["injections"]
    named = [row["id"] if row["id"] == "first" else "new" for row in rows]
    assert named == WAITING[operation]
    assert notify or answered(operation, answer, rows)


@pytest.mark.parametrize("running", [False, True], ids=["idle", "running"])
@pytest.mark.parametrize("notify", [False, True], ids=["request", "notification"])
@pytest.mark.parametrize("method", METHODS)
def test_every_name_works_as_request_and_notification_idle_and_running(
    method: str, notify: bool, running: bool, tmp_path: Path
) -> None:
    async def scene() -> None:
        model = HeldModel(["Done."] * 3)
        async with Editor(settings(model)) as client:
            session_id = await client.start(tmp_path)
            if running:
                client.prompting("Work.")
                await model.reached()
            await use(client, method, session_id, notify)
            model.release()

    play(scene)


@pytest.mark.parametrize("spelling", [{"ttlTurns": 1}, {"ttl_turns": 1}], ids=["camel", "snake"])
@pytest.mark.parametrize("nested", [False, True], ids=["flat", "nested"])
def test_an_injected_reminder_reaches_the_next_request_of_a_running_prompt(
    spelling: dict[str, int], nested: bool, tmp_path: Path
) -> None:
    async def scene() -> None:
        model = HeldModel([call("list_files"), "Seen.", "Later."])
        async with Editor(settings(model)) as client:
            await client.start(tmp_path)
            prompt = client.prompting("Look.")
            await model.reached()
            fields = {"body": "tests fail on main", **spelling}
            await client.ask("session/inject_reminder", **({"reminder": fields} if nested else fields))
            model.release()
            await model.reached()
            model.release()
            await client.reply(prompt)
            again = client.prompting("More.")
            await model.reached()
            model.release()
            await client.reply(again)
            shown = ["tests fail on main" in json.dumps(body) for body in model.requests]
            assert shown == [False, True, False]

    play(scene)


def test_deduped_count_counts_what_waits_and_what_is_pending(tmp_path: Path) -> None:
    async def scene() -> None:
        async with editor("One.", "Two.") as client:
            await client.start(tmp_path)
            counts = []
            for number in range(3):
                told = await client.ask("session/remind", body=f"b{number}", dedupeKey="k")
                counts.append(told["dedupedCount"])
            await client.prompt("Go.")
            told = await client.ask("session/remind", body="b3", dedupeKey="k")
            assert [*counts, told["dedupedCount"]] == [0, 1, 2, 1]

    play(scene)


def test_a_revoke_before_the_seam_wins_and_after_it_is_told_why_not(tmp_path: Path) -> None:
    async def scene() -> None:
        model = HeldModel([call("list_files"), "Done."])
        async with Editor(settings(model)) as client:
            await client.start(tmp_path)
            await client.ask("session/remind", body="was there before", id="early")
            prompt = client.prompting("Go.")
            await model.reached()
            error = await client.refused("session/revoke_reminder", reminderId="early")
            assert (error["code"], error["data"]) == (
                -32602,
                {"reason": "already_delivered", "reminderId": "early"},
            )
            await client.ask("session/remind", body="taken back", id="late")
            for status in ("revoked", "already_revoked"):
                answer = await client.ask("session/revoke_reminder", reminderId="late")
                assert answer == {"status": status, "reminderId": "late"}
            error = await client.refused("session/revoke_reminder", reminderId="never")
            assert error["data"]["reason"] == "unknown_reminder_id"
            model.release()
            await model.reached()
            model.release()
            await client.reply(prompt)
            assert "taken back" not in json.dumps(model.requests)

    play(scene)


def test_the_same_id_again_is_acknowledged_and_with_other_content_refused(tmp_path: Path) -> None:
    async def scene() -> None:
        async with editor() as client:
            await client.start(tmp_path)
            first = await client.ask("session/remind", body="b", id="r1")
            assert await client.ask("session/remind", body="b", id="r1") == first
            error = await client.refused("session/remind", body="other", id="r1")
            assert error["data"] == {"reason": "duplicate_id", "reminderId": "r1"}
            assert (await client.ask("session/pending_injections"))["pendingCount"] == 1

    play(scene)


def test_an_audit_only_reminder_is_never_shown_to_the_model(tmp_path: Path) -> None:
    async def scene() -> None:
        model = td.ScriptedModel(["Done.", "Done."])
        async with Editor(settings(model), takes_updates=True) as client:
            await client.start(tmp_path)
            await client.ask("session/remind", body="for the record", mode="audit_only")
            await client.prompt("One.")
            await client.prompt("Two.")
            assert "for the record" not in json.dumps(model.requests)
            assert client.updates("reminder_emitted") == []
            assert (await client.ask("session/pending_injections"))["pendingCount"] == 0

    play(scene)


def test_a_client_that_advertised_gets_the_updates_of_the_rfc_in_their_place(tmp_path: Path) -> None:
    async def scene() -> None:
        model = HeldModel([call("list_files"), "Seen."])
        async with Editor(settings(model), takes_updates=True) as client:
            await client.start(tmp_path)
            older = await client.ask("session/remind", body="older", dedupeKey="k", id="older")
            newer = await client.ask(
                "session/remind", body="newer", dedupeKey="k", ttlTurns=1, tags=["x"], id="newer"
            )
            assert (older["dedupedCount"], newer["dedupedCount"]) == (0, 1)
            prompt = client.prompting("Look.")
            await model.reached()
            model.release()
            await model.reached()
            model.release()
            await client.reply(prompt)
            told = [update["sessionUpdate"] for update in client.updates()]
            assert told == [
                "reminder_deduped",
                "reminder_emitted",
                "tool_call",
                "reminder_expired",
                "tool_call_update",
                "tool_call_update",
                "agent_message_chunk",
            ]
            deduped, emitted, expired = client.updates(
                "reminder_deduped", "reminder_emitted", "reminder_expired"
            )
            for update in (deduped, emitted, expired):
                copy = update.pop("_meta")["harn"]["reminder"]
                assert update.items() <= copy.items()
            assert deduped == {
                "sessionUpdate": "reminder_deduped",
                "reminderId": "newer",
                "dedupeKey": "k",
                "droppedReminderIds": ["older"],
            }
            assert emitted == {
                "sessionUpdate": "reminder_emitted",
                "reminderId": "newer",
                "body": "newer",
                "tags": ["x"],
                "dedupeKey": "k",
                "source": "bridge",
                "firedAtTurn": 0,
            }
            assert (expired["reminderId"], expired["phase"]) == ("newer", "ttl_expired")

    play(scene)


def test_clearing_a_pending_reminder_while_idle_is_told_at_once(tmp_path: Path) -> None:
    async def scene() -> None:
        async with editor("Seen.", takes_updates=True) as client:
            await client.start(tmp_path)
            await client.ask("session/remind", body="b", id="r1")
            await client.prompt("Go.")
            assert await client.ask("session/clear_reminders", id="r1") == {"removedCount": 1}
            (expired,) = client.updates("reminder_expired")
            assert (expired["reminderId"], expired["phase"]) == ("r1", "cleared")

    play(scene)


def news(holder: Message) -> list[tuple[str, str]]:
    harn = (holder.get("_meta") or {}).get("harn", {})
    return [(one["sessionUpdate"], one["reminderId"]) for one in harn.get("reminders", [])]


def test_to_any_other_client_the_news_rides_on_ordinary_updates_and_the_rest_on_the_answer(
    tmp_path: Path,
) -> None:
    async def scene() -> None:
        async with editor(call("list_files"), "Seen.", "Again.") as client:
            await client.start(tmp_path)
            await client.ask("session/remind", body="short", ttlTurns=1, id="short")
            await client.ask("session/remind", body="long", ttlTurns=2, id="long")
            ended = await client.prompt("Look.")
            carried = [(u["sessionUpdate"], news(u)) for u in client.updates() if news(u)]
            assert carried == [
                ("tool_call", [("reminder_emitted", "short"), ("reminder_emitted", "long")]),
                ("tool_call_update", [("reminder_expired", "short")]),
            ]
            assert news(ended) == [("reminder_emitted", "long"), ("reminder_expired", "long")]
            single = client.updates("tool_call_update")[0]["_meta"]["harn"]
            assert single["reminder"] == single["reminders"][0]
            assert "reminder" not in client.updates("tool_call")[0]["_meta"]["harn"]
            first = client.updates("tool_call")[0]["_meta"]["harn"]["reminders"][0]
            assert (first["body"], first["source"], first["ttlTurns"]) == ("short", "bridge", 1)

    play(scene)


def test_news_that_is_left_when_a_session_is_closed_comes_with_the_answer(tmp_path: Path) -> None:
    async def scene() -> None:
        async with editor("Seen.") as client:
            session_id = await client.start(tmp_path)
            await client.ask("session/remind", body="b", id="r1")
            await client.prompt("Go.")
            await client.ask("session/clear_reminders", id="r1")
            closed = await client.ask("session/close", sessionId=session_id)
            assert news(closed) == [("reminder_expired", "r1")]

    play(scene)


def test_news_of_one_session_never_rides_on_another(tmp_path: Path) -> None:
    async def scene() -> None:
        async with editor("One.", "Two.") as client:
            first = await client.start(tmp_path)
            second = (await client.ask("session/new", cwd=folder(tmp_path), mcpServers=[]))["sessionId"]
            await client.ask("session/remind", sessionId=first, body="b", id="r1")
            await client.prompt("Go.")
            await client.ask("session/clear_reminders", sessionId=first, id="r1")
            client.session_id = second
            ended = await client.prompt("Go.")
            assert news(ended) == []
            others = [m["params"] for m in client.lines if m.get("method") == "session/update"]
            assert [p for p in others if p["sessionId"] == second and news(p["update"])] == []

    play(scene)


def test_news_that_nobody_carries_is_bounded_and_its_loss_is_noted() -> None:
    async def scene() -> None:
        heard: list[bytes] = []
        dropped: list[tuple[str, int]] = []

        async def write(data: bytes) -> None:
            heard.append(data)

        inbox: asyncio.Queue[bytes] = asyncio.Queue()
        async with Peer(inbox.get, write) as peer:
            outlet = AcpOutlet(peer, waiting=2)
            outlet.dropped = lambda session_id, count: dropped.append((session_id, count))
            for number in range(5):
                outlet.reminder("s", {"sessionUpdate": "reminder_expired", "reminderId": str(number)})
            outlet.update("s", {"sessionUpdate": "agent_message_chunk"})
            assert outlet.news("s") == {}
        (line,) = b"".join(heard).splitlines()
        harn = json.loads(line)["params"]["update"]["_meta"]["harn"]
        assert [one["reminderId"] for one in harn["reminders"]] == ["3", "4"]
        assert harn["remindersDropped"] == 3
        assert dropped == [("s", 3)]

    play(scene)


def test_a_dropped_update_is_a_record_of_its_session(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scene() -> None:
        log = td.open_log("memory:")
        async with editor("Seen.", log=log) as client:
            session_id = await client.start(tmp_path)
            for number in range(1_000):
                await client.ask("session/remind", body=f"b{number}", ttlTurns=1)
            await client.prompt("Go.")
        (noted,) = records(log, "warning")
        assert (noted["session_id"], noted["code"], noted["count"]) == (
            session_id,
            "updates_dropped",
            1_000,
        )

    play(scene)


def test_the_origin_is_the_editor_by_name(tmp_path: Path) -> None:
    async def scene() -> None:
        log = td.open_log("memory:")
        async with editor("Seen.", log=log) as client:
            await client.start(tmp_path)
            meta = {"tidings": {"trust": "operator", "origin": "me"}}
            await client.ask("session/remind", body="b", _meta=meta)
            await client.prompt("Go.")
        (injected,) = records(log, "injected")
        assert (injected["source"], injected["trust"], injected["origin"]) == (
            "bridge",
            "host",
            "acp:tester",
        )

    play(scene)


def test_a_full_mailbox_is_said_and_nothing_that_was_accepted_is_lost(tmp_path: Path) -> None:
    async def scene() -> None:
        async with editor() as client:
            await client.start(tmp_path)
            for number in range(1_000):
                client.tell("session/remind", body=f"b{number}")
            error = await client.refused("session/remind", body="one too many")
            assert (error["code"], error["data"]) == (-32000, {"reason": "mailbox_full"})
            assert (await client.ask("session/pending_injections"))["pendingCount"] == 1_000

    play(scene)
