"""Emitted events: checked, bounded, in the log until the hooks have heard them."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

import tidings as td
from tests.agent.recorder import Recorder
from tests.agent.test_happenings import payloads
from tests.agent.test_loop import play
from tests.agent.test_results import Commits
from tidings.agent.emitted import CAPACITY, MAX_BYTES, EventsFullError
from tidings.agent.models.scripted import ScriptedModel, call
from tidings.agent.registry import Registry
from tidings.agent.tools.tool import ToolContext
from tidings.core.records import transcript_topic
from tidings.log.port import EventLog


def kinds(log: EventLog) -> list[str]:
    written = [r.kind for r in log.read(transcript_topic("s"))]
    return [kind for kind in written if kind in ("session.emitted", "session.heard")]


def waiting(session: td.Session) -> list[tuple[str, object]]:
    return [(one.event, one.payload) for one in session.stored.events]


def test_an_accepted_event_is_there_when_the_session_is_opened_again() -> None:
    log = td.open_log("memory:")
    session = td.Session("s", agent_id="lead", log=log)
    session.emit("file_edited", {"path": "a", "lines": (1, 2)})
    session.emit("session_idle")
    again = td.Session("s", log=log)
    assert waiting(again) == [("file_edited", {"path": "a", "lines": [1, 2]}), ("session_idle", {})]
    assert again.stored.events == session.stored.events


def test_an_event_is_heard_once_and_its_reminder_is_in_the_commit_that_removes_it() -> None:
    log, recorder = td.open_log("memory:"), Recorder({"file_edited": {"body": "b", "ttl_turns": 9}})
    td.Session("s", log=log).emit("file_edited", {"path": "a"})
    for _ in range(2):
        play(model=ScriptedModel(["done"]), session=td.Session("s", log=log), registry=recorder.registry)
    assert recorder.payloads("file_edited") == [{"path": "a"}]
    written = list(log.read(transcript_topic("s")))
    (removed,) = [at for at, r in enumerate(written) if r.kind == "session.heard"]
    assert written[removed - 1].kind == "transcript.injected"


def test_no_kill_can_come_between_what_a_hook_added_and_the_end_of_its_event() -> None:
    log, registry = Commits(), Registry()
    registry.register_session_hook("file_edited", lambda ctx: {"body": "changed", "ttl_turns": 1})
    session = td.Session("s", log=log)
    session.emit("file_edited", {"path": "a"})
    play(model=ScriptedModel(["done"]), session=session, registry=registry)
    (commit,) = [made for made in log.made if "session.heard" in made]
    assert "transcript.injected" in commit


def test_what_nobody_hears_is_forgotten_with_the_next_step_and_costs_no_commit() -> None:
    commits: list[list[str]] = []
    log = td.open_log("memory:")
    append = log.append_batch
    log.append_batch = lambda drafts: commits.append([d[1] for d in drafts]) or append(drafts)  # type: ignore
    session = td.Session("s", log=log)
    session.emit("file_edited", {"path": "a"})
    play(model=ScriptedModel(["done"]), session=session)
    assert (commits[0], waiting(td.Session("s", log=log))) == (["session.emitted"], [])
    assert [batch for batch in commits if batch[0] == "session.heard" and len(batch) == 1] == []


def test_what_a_tool_raises_is_logged_with_its_result() -> None:
    commits: list[list[str]] = []
    log = td.open_log("memory:")
    append = log.append_batch
    log.append_batch = lambda drafts: commits.append([d[1] for d in drafts]) or append(drafts)  # type: ignore

    @td.tool(read_only=True)
    def touch(ctx: ToolContext) -> str:
        """Touch two files."""
        ctx.emit("file_edited", {"path": "a"})
        ctx.emit("file_edited", {"path": "b"})
        return "ok"

    recorder = Recorder()
    model = ScriptedModel([call("touch"), "done"])
    play(model=model, tools=[touch], session=td.Session("s", log=log), registry=recorder.registry)
    assert [p["path"] for p in recorder.payloads("file_edited")] == ["a", "b"]
    assert [batch for batch in commits if "session.emitted" in batch] == [
        ["transcript.message", "session.emitted", "session.emitted"]
    ]


class Odd:
    pass


@pytest.mark.parametrize(
    ("event", "payload", "message"),
    [
        (
            "file_edited",
            {"path": {"to": Odd()}},
            r"'file_edited' cannot be kept: payload\.path\.to cannot",
        ),
        ("file_edited", ["a"], "'file_edited' cannot be kept: payload is list; give a dict"),
        ("file_edited", {"text": "x" * MAX_BYTES}, f"at most {MAX_BYTES} bytes are kept"),
        ("", {}, "`event` must be a name such as 'file_edited'; got ''"),
        (None, {}, "`event` must be a name"),
        ("\ud800", {}, "`event` must be a name"),
    ],
)
def test_what_cannot_be_kept_is_refused_by_its_field(event: Any, payload: Any, message: str) -> None:
    session = td.Session("s")
    with pytest.raises(td.CallerError, match=message):
        session.emit(event, payload)
    assert session.stored.events == ()


def test_the_sender_of_one_event_too_many_is_told_and_a_tool_leaves_a_record() -> None:
    log = td.open_log("memory:")
    session = td.Session("s", log=log)
    for number in range(CAPACITY):
        session.emit("file_edited", {"path": str(number)})
    with pytest.raises(EventsFullError, match="1000 events wait for this session already; run its loop"):
        session.emit("file_edited", {"path": "more"})
    session.emit_later("file_edited", {"path": "more"})
    (dropped,) = payloads(log, "warning")
    assert (dropped["code"], dropped["event"]) == ("event_dropped", "file_edited")
    assert len(td.Session("s", log=log).stored.events) == CAPACITY


def test_an_unknown_event_is_recorded_and_forgotten() -> None:
    log = td.open_log("memory:")
    session = td.Session("s", log=log)
    session.emit("file_edit", {})
    play(model=ScriptedModel(["done"]), session=session)
    (warned,) = payloads(log, "warning")
    assert (warned["code"], warned["producer"]) == ("unknown_event", "file_edit")
    assert td.Session("s", log=log).stored.events == ()


def test_an_event_that_is_not_kept_is_heard_and_never_written() -> None:
    log, recorder = td.open_log("memory:"), Recorder()
    session = td.Session("s", log=log)
    session.emit_later("worker_progressed", {"agent_id": "child"}, kept=False)
    play(model=ScriptedModel(["done"]), session=session, registry=recorder.registry)
    assert recorder.payloads("worker_progressed") == [{"session_id": "s", "agent_id": "child"}]
    assert kinds(log) == []


def test_events_can_be_named_in_either_spelling() -> None:
    registry, heard = Registry(), []
    registry.register_session_hook("error", lambda ctx: heard.append(ctx.event))
    session = td.Session()
    for name in ("error", "Error", "session_error", "SessionError"):
        session.emit(name)
    play(model=ScriptedModel(["done"]), session=session, registry=registry)
    assert heard == ["session_error"] * 4


def test_a_payload_is_cut_off_from_the_callers_own() -> None:
    session, payload = td.Session(), {"paths": ["a"]}
    session.emit("file_edited", payload)
    payload["paths"].append("b")
    assert msgspec.to_builtins(session.stored.events[0].payload) == {"paths": ["a"]}
