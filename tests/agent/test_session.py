"""A session's doors: reminders, user messages, revoking, clearing, and opening it again."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

import tidings as td
from tests.agent.test_loop import play, requests_with
from tidings.agent import store
from tidings.agent.loop import agent_loop
from tidings.agent.models.scripted import ScriptedModel, call
from tidings.agent.registry import Registry
from tidings.agent.session import Reminded, Session
from tidings.agent.store import Suspension
from tidings.agent.tools.function import tool
from tidings.agent.tools.tool import ToolContext
from tidings.core import mailbox
from tidings.core.mailbox import RevokeError
from tidings.core.producers import build
from tidings.core.records import LIFECYCLE_TOPIC
from tidings.errors import DuplicateReminderError
from tidings.log.memory import MemoryLog
from tidings.shell.transforms import inject_prepared


def restricted(log) -> list:
    return [r for r in log.read(LIFECYCLE_TOPIC) if r.kind == "transcript.reminder.restricted"]


def kinds(log) -> list[str]:
    return [r.kind.removeprefix("transcript.reminder.") for r in log.read(LIFECYCLE_TOPIC)]


def test_a_reminder_waits_until_a_seam_and_is_recorded_as_queued() -> None:
    log = td.open_log("memory:")
    session = Session("s", log=log)
    told = session.remind(body="b", ttl_turns=1, mode="interrupt_immediate", origin="editor")
    assert session.transcript.pending == []
    assert session.pending_injections()["pendingCount"] == 1
    (record,) = log.read(LIFECYCLE_TOPIC)
    assert record.payload == {
        "reminder_id": told.reminder_id,
        "mode": "interrupt_immediate",
        "source": "bridge",
        "dedupe_key": None,
        "tags": [],
        "origin": "editor",
        "session_id": "s",
        "task_id": None,
        "agent_id": None,
    }


def test_deduped_count_counts_queued_and_pending_ones_that_will_be_replaced() -> None:
    session = Session("s")
    with session.step():
        session.keep(td.inject_reminder(session.transcript, body="b", dedupe_key="k").transcript)
    counts = [session.remind(body="b", dedupe_key="k").deduped_count for _ in range(3)]
    assert counts == [1, 2, 3]


def test_a_queued_reminder_can_be_revoked_once_and_a_delivered_one_not() -> None:
    log = td.open_log("memory:")
    session = Session("s", log=log)
    first = session.remind(body="a").reminder_id
    second = session.remind(body="b").reminder_id
    assert session.revoke_reminder(first) == {"status": "revoked", "reminderId": first}
    assert session.revoke_reminder(first)["status"] == "already_revoked"
    with session.step():
        session.drain("iteration_start")
    with pytest.raises(RevokeError) as caught:
        session.revoke_reminder(second)
    assert caught.value.reason == "already_delivered"
    with pytest.raises(RevokeError, match="unknown_reminder_id"):
        session.revoke_reminder("nobody")
    assert kinds(log) == ["queued", "queued", "revoked"]


def test_the_same_client_id_is_accepted_once_and_refused_with_other_content() -> None:
    session = Session("s")
    for _ in range(2):
        assert session.remind(body="a", id="mine").reminder_id == "mine"
    assert session.pending_injections()["pendingCount"] == 1
    with pytest.raises(td.DuplicateReminderError):
        session.remind(body="other", id="mine")


def test_the_same_id_of_two_origins_is_two_reminders_also_after_a_restart() -> None:
    log = td.open_log("memory:")
    session = Session("s", log=log)
    for origin, mode in (("ci", "finish_step"), ("tests", "audit_only"), ("ci", "finish_step")):
        session.remind(body="news", id="n1", producer="mcp", origin=origin, mode=mode)
    rows = session.pending_injections()["injections"]
    assert [(row["id"], row["mode"]) for row in rows] == [("n1", "finish_step"), ("n1", "audit_only")]
    with session.step():
        session.drain("iteration_start")
    opened = Session("s", log=log)
    assert opened.stored == session.stored
    assert [item.slot for item in opened.stored.mailbox.items] == [("tests", "n1")]
    opened.remind(body="news", id="n1", producer="mcp", origin="ci")
    assert opened.pending_injections()["pendingCount"] == 1
    assert opened.revoke_reminder("n1")["status"] == "revoked"
    assert Session("s", log=log).stored.mailbox == opened.stored.mailbox


def test_clearing_takes_the_reminder_that_matches_and_not_its_namesake() -> None:
    session = Session("s")
    for origin in ("ci", "tests"):
        session.remind(body="news", id="n1", tags=[origin], producer="mcp", origin=origin)
    session.remind(body="news", id="n1", tags=["mine"])
    assert session.clear(tag="tests") == 1
    assert [item.slot for item in session.stored.mailbox.items] == [("ci", "n1"), "n1"]
    assert session.revoke_reminder("n1")["status"] == "revoked"
    assert [item.slot for item in session.stored.mailbox.items] == [("ci", "n1")]


def test_an_external_interrupt_is_lowered_unless_granted() -> None:
    log = td.open_log("memory:")
    session = Session("s", log=log)
    session.remind(body="a", mode="interrupt_immediate", producer="mcp", origin="o")
    grants = frozenset({"interrupt_immediate"})
    session.remind(body="b", mode="interrupt_immediate", producer="mcp", origin="o", grants=grants)
    assert [row["mode"] for row in session.pending_injections()["injections"]] == [
        "finish_step",
        "interrupt_immediate",
    ]
    assert kinds(log) == ["restricted", "queued", "restricted", "queued"]
    assert [(r.payload["field"], r.payload["asked"], r.payload["given"]) for r in restricted(log)] == [
        ("mode", "interrupt_immediate", "finish_step"),
        ("wake_idle", True, False),
    ]


def test_clearing_reaches_pending_and_queued_reminders() -> None:
    session = Session("s")
    with session.step():
        session.keep(td.inject_reminder(session.transcript, body="a", tags=["t"]).transcript)
    session.remind(body="b", tags=["t"])
    session.remind(body="c", tags=["other"])
    assert session.clear(tag="t") == 2
    assert [row["body"] for row in session.pending_injections()["injections"]] == ["c"]


def test_a_session_is_opened_again_where_it_was(tmp_path) -> None:
    address = f"sqlite:///{tmp_path}/s.db"
    with td.open_log(address) as log:
        session = Session("s", agent_id="a", log=log)
        with session.step():
            session.keep(td.inject_reminder(session.transcript, body="a", ttl_turns=2).transcript)
        kept = session.remind(body="b", mode="audit_only").reminder_id
        gone = session.remind(body="c").reminder_id
        session.revoke_reminder(gone)
        session.inject("hello")
        session.suspend("lunch")
        before = session.stored
    with td.open_log(address) as log:
        again = Session("s", log=log)
        assert again.stored == before
        assert again.agent_id == "a"
        assert again.revoke_reminder(gone)["status"] == "already_revoked"
        assert again.revoke_reminder(kept)["status"] == "revoked"


def test_revoke_and_drain_have_exactly_one_winner() -> None:
    for _ in range(200):
        session = Session("s")
        reminder_id = session.remind(body="a").reminder_id
        outcome: list[str] = []
        start = threading.Barrier(2)

        def revoke(session=session, reminder_id=reminder_id, outcome=outcome, start=start) -> None:
            start.wait(timeout=10)
            try:
                outcome.append(str(session.revoke_reminder(reminder_id)["status"]))
            except RevokeError as error:
                outcome.append(error.reason)

        thread = threading.Thread(target=revoke)
        thread.start()
        start.wait(timeout=10)
        with session.step():
            drained = session.drain("iteration_start")
        thread.join(timeout=10)
        assert (len(drained), outcome) in [(1, ["already_delivered"]), (0, ["revoked"])]


def test_reminders_from_many_threads_all_arrive_once() -> None:
    log = td.open_log("memory:")
    session = Session("s", log=log)
    threads = [
        threading.Thread(target=lambda: [session.remind(body="b") for _ in range(50)]) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=30)
    assert session.pending_injections()["pendingCount"] == 400
    assert len(Session("s", log=log).stored.mailbox.items) == 400


def test_resuming_without_the_transcript_starts_a_fresh_one_and_tells_the_loop_why() -> None:
    session = Session("s")
    with session.step():
        session.keep(td.append_message(session.transcript, {"role": "user", "content": "old"}))
    session.suspend("waiting for review", digest="was renaming parse()")
    session.resume(cause="review came in", input="approved", continue_transcript=False)
    assert session.transcript.messages == []
    assert session.stored.resumption == {
        "reason": "waiting for review",
        "suspended_at_turn": 0,
        "cause": "review came in",
        "input": "approved",
        "continue_transcript": False,
        "digest": "was renaming parse()",
    }


def test_resuming_without_the_transcript_tells_what_became_of_its_reminders() -> None:
    log = td.open_log("memory:")
    session = Session("s", log=log)
    with session.step():
        for name in ("a", "b"):
            reminder = build("bridge", {"body": name, "id": name, "ttl_turns": 3}, id="unused")
            session.keep(inject_prepared(session.transcript, reminder).transcript)
    session.suspend()
    session.resume(continue_transcript=False)
    told = [r.payload for r in log.read(LIFECYCLE_TOPIC, kind_prefix="transcript.reminder.expired")]
    assert [(each["reminder_id"], each["reason"]) for each in told] == [("a", "cleared"), ("b", "cleared")]
    assert (session.transcript.pending, store.load(log, "s")) == ([], session.stored)


def test_a_step_inside_a_step_is_a_part_of_its_commit() -> None:
    commits: list[list[str]] = []

    class CountingLog(MemoryLog):
        def append_batch(self, drafts):
            given = list(drafts)
            commits.append([kind for _, kind, _ in given])
            return super().append_batch(given)

    session = Session("s", log=CountingLog())
    with session.step():
        session.remind(body="a", ttl_turns=1, id="a")
        with session.step():
            session.remind(body="b", ttl_turns=1, id="b")
    session.clear(id="a")
    queued = ["transcript.reminder.queued", "mailbox.queued"]
    assert commits == [[*queued, *queued], ["transcript.reminder.revoked", "mailbox.revoked"]]


@pytest.mark.parametrize("content", ["", "  ", [], 5, None, object(), ["words"], "half \ud800"])
def test_words_that_no_model_could_be_shown_are_refused_at_the_door(content: Any) -> None:
    log = td.open_log("memory:")
    session = Session("s", log=log)
    with pytest.raises(td.CallerError):
        session.inject(content)
    assert (session.pending_injections()["pendingCount"], store.load(log, "s").mailbox.items) == (0, ())


def test_a_suspension_or_resumption_that_no_log_can_hold_changes_nothing() -> None:
    log = td.open_log("memory:")
    session = Session("s", log=log)
    with pytest.raises(td.CallerError, match=r"the suspension cannot be kept: payload\.reason"):
        session.suspend("\ud800")
    session.suspend("lunch")
    with pytest.raises(td.CallerError, match=r"the resumption cannot be kept: payload\.input"):
        session.resume(input=object())
    assert (session.stored.suspension, session.stored.resumption) == (Suspension("lunch", 0), None)
    session.resume(input={"n": (1, 2)})
    assert session.stored == store.load(log, "s")


def test_an_id_that_is_pending_already_is_known_at_the_door() -> None:
    session = Session("s")
    with session.step():
        told = build("bridge", {"body": "one", "id": "r", "ttl_turns": 2}, id="unused")
        session.keep(inject_prepared(session.transcript, told).transcript)
    assert session.remind(body="one", id="r", ttl_turns=2) == Reminded("r", 0)
    with pytest.raises(DuplicateReminderError):
        session.remind(body="other", id="r", ttl_turns=2)
    assert session.pending_injections()["pendingCount"] == 0


def test_a_queued_reminder_whose_id_became_anothers_is_dropped_with_a_record() -> None:
    log = td.open_log("memory:")
    session = Session("s", log=log)
    session.remind(body="queued first", id="r")
    session.remind(body="the next in line", ttl_turns=1)
    with session.step():
        told = build("bridge", {"body": "pending first", "id": "r"}, id="unused")
        session.keep(inject_prepared(session.transcript, told).transcript)
    model = ScriptedModel(["done"])
    result = play(model=model, session=session)
    assert (result.status, requests_with(model, "the next in line"), result.undelivered) == (
        "done",
        [1],
        (),
    )
    (dropped,) = log.read(LIFECYCLE_TOPIC, kind_prefix="transcript.reminder.dropped")
    assert (dropped.payload["reminder_id"], dropped.payload["reason"]) == ("r", "invalid")
    assert "is pending with a different body" in str(dropped.payload["detail"])


def test_a_second_loop_or_call_in_a_session_is_refused_and_the_first_goes_on() -> None:
    session, refused = Session("s"), []

    @tool(read_only=True)
    async def meanwhile() -> str:
        """Try to work in the same session."""
        for work in (agent_loop, td.llm_call):
            try:
                await work("me too", model=ScriptedModel(["no"]), session=session)
            except td.CallerError as error:
                refused.append(str(error))
        return "tried"

    result = play(model=ScriptedModel([call("meanwhile"), "done"]), tools=[meanwhile], session=session)
    assert refused == ["a loop works in session 's' already; wait for its end"] * 2
    assert [m["role"] for m in result.transcript.messages] == ["user", "assistant", "tool", "assistant"]
    assert play("again", model=ScriptedModel(["done"]), session=session).status == "done"


def test_what_a_cancelled_loop_still_had_to_write_is_written() -> None:
    log = td.open_log("memory:")
    session = Session("s", log=log)

    @tool(read_only=True)
    async def edit(context: ToolContext) -> None:
        """Edit and hang."""
        context.emit("file_edited", {"path": "a"})
        begun.set()
        await asyncio.sleep(3600)

    async def main() -> None:
        loop = asyncio.ensure_future(
            agent_loop("work", model=ScriptedModel([call("edit")]), tools=[edit], session=session)
        )
        async with asyncio.timeout(30):
            await begun.wait()
            loop.cancel()
            await asyncio.wait({loop})

    begun = asyncio.Event()
    asyncio.run(main())
    assert [one.payload for one in store.load(log, "s").events] == [{"path": "a"}]


def test_what_a_tool_raises_after_the_loop_has_ended_is_written_at_once() -> None:
    log = td.open_log("memory:")
    session = Session("s", log=log)
    session.emit_later("file_edited", {"path": "late"})
    assert [one.payload for one in store.load(log, "s").events] == [{"path": "late"}]


@pytest.mark.parametrize("arguments", [{"max_iterations": "5"}, {"max_iterations": True}, {"task": " "}])
def test_arguments_that_cannot_be_used_are_refused_before_anything_happens(arguments: Any) -> None:
    session, registry = Session("s"), Registry()
    registry.register_session_hook("session_start", lambda ctx: {"body": "it began"})
    task = arguments.pop("task", "work")
    with pytest.raises(td.CallerError):
        play(task, model=ScriptedModel(["x"]), session=session, registry=registry, **arguments)
    assert session.transcript == Session("s").transcript


@pytest.mark.parametrize("revoking", [True, False])
def test_a_session_that_is_opened_again_remembers_as_many_ids_as_one_that_never_closed(
    revoking: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mailbox, "REMEMBERED", 2)
    log = td.open_log("memory:")
    session = Session("s", log=log)
    for name in ("a", "b", "c"):
        session.remind(body=name, id=name, ttl_turns=1)
        if revoking:
            session.revoke_reminder(name)
        else:
            with session.step():
                session.drain("iteration_start")
    gone = session.stored.mailbox.revoked if revoking else session.stored.mailbox.delivered
    assert gone == ("b", "c")
    assert store.load(log, "s").mailbox == session.stored.mailbox


def test_what_comes_while_the_tools_of_a_cancelled_loop_end_stays_queued() -> None:
    session = Session("s")

    @tool(read_only=True)
    def stop() -> str:
        """Stop everything."""
        session.remind(body="too late", ttl_turns=1)
        session.cancel()
        return "stopped"

    result = play(model=ScriptedModel([call("stop"), "never"]), tools=[stop], session=session)
    assert (result.status, [row["body"] for row in result.undelivered]) == ("cancelled", ["too late"])
