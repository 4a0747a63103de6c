"""Arguments that cannot be used: refused by name before anything has happened."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

import tidings as td
from tests.agent.test_loop import play
from tidings.agent import store
from tidings.agent.models.scripted import ScriptedModel
from tidings.agent.session import Session
from tidings.shell.journal import active_log


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("model", None, "`model` must be a name or a model; got None"),
        ("model", 5, "`model` must be a name or a model; got 5"),
        ("tools", None, "`tools` must be a list of tools and functions; got None"),
        ("tools", "look", "`tools` must be a list of tools and functions; got 'look'"),
        ("tools", [5], "a tool must be a function, or what td.tool gives; got 5"),
        ("session", "s", "`session` must be a td.Session; an id goes into `session_id`; got 's'"),
        ("registry", {}, "`registry` must be a td.Registry; got {}"),
        ("max_iterations", 0, "`max_iterations` must be a whole number of 1 or more; got 0"),
        ("max_iterations", True, "`max_iterations` must be a whole number of 1 or more; got True"),
        ("daemon", True, "`daemon` must be a td.Daemon; got True"),
        ("approval", "allow", "`approval` must be a td.Gate; got 'allow'"),
        ("compaction", {"at": 0.5}, "`compaction` must be a td.Compaction; got {'at': 0.5}"),
        ("context_window", "100", "`context_window` must be a whole number of tokens; got '100'"),
        ("workspace", 5, "`workspace` must be a path; got 5"),
        ("tool_deadline", None, "`tool_deadline` must be seconds above 0; got None"),
        ("tool_deadline", 0, "`tool_deadline` must be seconds above 0; got 0"),
        ("recall", "facts", "`recall` must be a function; got 'facts'"),
        ("on_text", 5, "`on_text` must be a function; got 5"),
    ],
)
def test_an_argument_of_the_wrong_kind_is_refused_before_anything_happens(
    name: str, value: Any, message: str
) -> None:
    session = Session("s")
    options: dict[str, Any] = {"model": ScriptedModel(["done"]), "session": session, name: value}
    with pytest.raises(td.CallerError) as caught:
        play(**options)
    assert (str(caught.value), session.transcript.messages) == (message, [])


@pytest.mark.parametrize("work", [td.agent_loop, td.llm_call])
def test_a_system_text_that_is_none_is_refused_before_anything_happens(work: Any) -> None:
    session = Session("s")
    with pytest.raises(td.CallerError, match="`system` must be a string or a list; got 5"):
        asyncio.run(work("hi", model=ScriptedModel(["done"]), system=5, session=session))
    assert session.transcript.messages == []


def test_a_path_in_the_place_of_a_log_is_refused_with_the_way_to_open_one() -> None:
    error = r"`log` must be an event log, such as td\.open_log\('sqlite:///agent\.db'\) gives; got 'a\.db'"
    with pytest.raises(td.CallerError, match=error):
        Session("s", log="a.db")  # type: ignore[arg-type]
    with pytest.raises(td.CallerError, match=error), active_log("a.db"):  # type: ignore[arg-type]
        pass


def test_folders_of_a_session_are_paths_and_the_model_is_told_them() -> None:
    session = Session("s", anchor=Path("/srv/app"), roots=[Path("/srv/lib"), "/srv/docs"])
    assert (session.anchor, session.roots) == ("/srv/app", ("/srv/lib", "/srv/docs"))
    model = ScriptedModel(["done"])
    play(model=model, session=session, reminders=None)
    assert "`/srv/app`" in str(model.requests[0])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"anchor": 5}, "`anchor` must be a path; got 5"),
        ({"roots": "/work"}, "`roots` must be a list of paths; got '/work'"),
        ({"roots": ["/work", 5]}, r"`roots\[1\]` must be a path; got 5"),
    ],
)
def test_folders_that_are_no_paths_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(td.CallerError, match=message):
        Session("s", **options)


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"strategy": "sumary"}, "strategy"),
        ({"at": "0.9"}, "at"),
        ({"at": 1.5}, "at"),
        ({"keep": -1}, "keep"),
        ({"keep": "12"}, "keep"),
    ],
)
def test_a_compaction_that_cannot_be_done_is_refused_by_its_field(
    options: dict[str, Any], field: str
) -> None:
    with pytest.raises(td.CallerError, match=f"compaction `{field}` is "):
        td.Compaction(**options)


def test_a_bare_text_is_told_how_reminders_are_given() -> None:
    session: Any = Session("s")
    with pytest.raises(td.CallerError, match=r"write remind\(body=…\), or give one mapping .*; got 'red'"):
        session.remind("red")
    with pytest.raises(td.CallerError, match=r"write clear\(id=…\), or give one mapping .*; got 'red'"):
        session.clear("red")


@pytest.mark.parametrize("field", ["reason", "digest"])
def test_a_suspension_that_could_not_be_read_again_is_refused(field: str) -> None:
    log = td.open_log("memory:")
    session: Any = Session("s", log=log)
    with pytest.raises(td.CallerError, match=f"`{field}` must be a string; got 5"):
        session.suspend(**{field: 5})
    assert store.load(log, "s") == session.stored


def test_an_agent_that_could_not_be_read_again_is_refused() -> None:
    with pytest.raises(td.CallerError, match="`agent_id` must be a string; got 5"):
        Session("s", agent_id=5)  # type: ignore[arg-type]


@pytest.mark.parametrize("producer", ["zzz", 5, None, []])
def test_a_producer_that_nobody_is_is_refused(producer: Any) -> None:
    session = Session("s")
    with pytest.raises(td.CallerError, match="`producer` must be one of pipeline, hook, provider"):
        session.remind(body="b", producer=producer)
    assert session.pending_injections()["pendingCount"] == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rules": "allow"}, "approval `rules` must be a list of td.Rule; got 'allow'"),
        ({"rules": [5]}, r"approval `rules` must be a list of td.Rule; got \[5\]"),
        ({"rules": [td.Rule("allow", tool=5)]}, "a pattern of the rule 'allow 5' must be a string; got 5"),  # type: ignore[arg-type]
        ({"ask": 5}, "`ask` must be an async function; got 5"),
        ({"deadline": "1"}, "approval deadline is '1'; give seconds above 0"),
    ],
)
def test_a_gate_that_could_not_decide_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(td.CallerError, match=message):
        td.Gate(**options)


def test_a_step_needs_a_name_and_a_tool_a_deadline_that_can_be_waited_for() -> None:
    with pytest.raises(td.CallerError, match="`name` must be a string; got 5"):
        asyncio.run(td.run_step(5, print, session=Session("s")))  # type: ignore[call-overload]
    with pytest.raises(td.CallerError, match="tool 'look': deadline is '1'; give seconds above 0"):
        td.tool(lambda: "seen", name="look", deadline="1")  # type: ignore[call-overload]
