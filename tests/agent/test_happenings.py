"""Hooks and providers in a running loop: their reminders go in, their failures become records."""

from __future__ import annotations

import asyncio
import json

import msgspec
import pytest

import tidings as td
from tests.agent.recorder import bounded
from tests.agent.test_loop import play, requests_with
from tidings.agent.audit import audit_log
from tidings.agent.models.scripted import ScriptedModel, call
from tidings.agent.port import Answer, Outcome, Usage
from tidings.agent.registry import Registry
from tidings.agent.session import Session
from tidings.agent.tools.function import tool
from tidings.agent.tools.tool import MAX_OUTPUT
from tidings.core.records import LIFECYCLE_TOPIC


@tool(read_only=True)
def read_file(path: str) -> Outcome:
    """Read a file."""
    return Outcome(text="half of it", truncated=True, original_size=90_000)


def payloads(log, kind: str) -> list[dict[str, object]]:
    return [r.payload for r in log.read(LIFECYCLE_TOPIC) if r.kind == f"transcript.reminder.{kind}"]


def test_a_hook_reminder_with_ttl_one_is_seen_by_exactly_one_request() -> None:
    registry = Registry()
    registry.register_tool_hook(
        pattern="read_file",
        post=lambda ctx: (
            {"reminder": {"body": "The file read was truncated.", "ttl_turns": 1}}
            if ctx.result.truncated
            else None
        ),
    )
    model = ScriptedModel([call("read_file", path="a"), call("read_file", path="b"), "done"])
    play(model=model, tools=[read_file], registry=registry)
    assert requests_with(model, "The file read was truncated.") == [2, 3]
    assert json.dumps(model.requests[2]).count("The file read was truncated.") == 1


def test_tool_receipts_report_hook_reminders_without_body_while_auditing() -> None:
    registry = Registry()
    spec = {"body": "b", "tags": ["t"], "dedupe_key": "k", "ttl_turns": 2, "role_hint": "developer"}
    registry.register_tool_hook(pattern="*", post=lambda ctx: spec)
    model = ScriptedModel([call("read_file", path="a"), "done"])
    with audit_log():
        result = play(model=model, tools=[read_file], registry=registry)
    (reported,) = result.receipts[0].audit.reminders
    reminder_id = reported.pop("reminder_id")
    assert isinstance(reminder_id, str)
    assert reported == {
        "hook_event": "post_tool_use",
        "tool_call_id": "call_1_1",
        "tags": ["t"],
        "dedupe_key": "k",
        "source": "hook",
        "role_hint": "developer",
        "ttl_turns": 2,
        "deduped_count": 0,
    }


def test_without_an_audit_log_receipts_report_nothing() -> None:
    registry = Registry()
    registry.register_tool_hook(pattern="*", post=lambda ctx: {"body": "b", "ttl_turns": 1})
    result = play(
        model=ScriptedModel([call("read_file", path="a"), "done"]), tools=[read_file], registry=registry
    )
    assert result.receipts[0].audit.reminders == ()


def test_a_pre_hook_may_change_arguments_or_refuse_the_call() -> None:
    registry = Registry()
    registry.register_tool_hook(
        pattern="read_file",
        pre=lambda ctx: (
            {"deny": "not that one"} if ctx.arguments.path == "secret" else {"args": {"path": "other"}}
        ),
    )
    calls = [call("read_file", path="secret"), call("read_file", path="a")]
    result = play(model=ScriptedModel([calls, "done"]), tools=[read_file], registry=registry)
    assert [(r.status, r.call.arguments) for r in result.receipts] == [
        ("denied", {"path": "secret"}),
        ("finished", {"path": "other"}),
    ]
    assert "not that one" in result.transcript.messages[2]["content"]


def test_a_refused_prompt_never_reaches_the_model() -> None:
    registry = Registry()
    registry.register_session_hook("user_prompt_submit", lambda ctx: {"block": True, "reason": "policy"})
    model = ScriptedModel(["never"])
    result = play("do evil", model=model, registry=registry)
    assert (result.status, result.text, model.requests) == ("blocked", "policy", [])


def test_a_failing_hook_becomes_a_record_and_the_others_still_run() -> None:
    registry, log = Registry(), td.open_log("memory:")

    def broken(ctx):
        raise RuntimeError("no luck")

    registry.register_session_hook("session_start", broken)
    registry.register_session_hook("session_start", lambda ctx: {"body": "second", "ttl_turns": 1})
    model = ScriptedModel(["done"])
    result = play(model=model, registry=registry, session=Session("s", log=log))
    assert result.status == "done"
    assert requests_with(model, "second") == [1]
    (warned,) = payloads(log, "warning")
    assert (warned["code"], warned["message"]) == ("error", "RuntimeError: no luck")


def test_a_reminder_from_a_worker_hook_is_refused_with_its_code() -> None:
    registry, log = Registry(), td.open_log("memory:")
    registry.register_worker_hook("worker_completed", lambda ctx: {"body": "b"})
    session = Session("s", log=log)
    session.emit("worker_completed", {})
    play(model=ScriptedModel(["done"]), registry=registry, session=session)
    assert [w["code"] for w in payloads(log, "warning")] == ["HARN-RMD-008"]


def test_an_emitted_file_change_reaches_the_next_request() -> None:
    registry, session = Registry(), Session("s")
    registry.register_session_hook(
        "file_edited",
        lambda ctx: {
            "reminder": {
                "body": f"File changed externally: {ctx.path}.",
                "dedupe_key": f"file_changed:{ctx.path}",
                "ttl_turns": 2,
            }
        },
    )
    model = ScriptedModel(
        [
            lambda body: [session.emit("file_edited", {"path": "src/lib.rs"}), call("read_file", path="a")][
                1
            ],
            "done",
        ]
    )
    play(model=model, tools=[read_file], registry=registry, session=session)
    assert requests_with(model, "File changed externally: src/lib.rs.") == [2]


def test_canonical_providers_are_asked_by_default_and_recorded() -> None:
    log = td.open_log("memory:")
    model = ScriptedModel([call("read_file", path="a"), "done"])
    play(model=model, tools=[read_file], session=Session("s", log=log), reminders=None)
    assert requests_with(model, "was truncated before you saw it") == [2]
    evaluated = {(p["provider_id"], p["event"], p["fired"]) for p in payloads(log, "provider_evaluated")}
    assert ("tool_output_truncated", "post_tool_use", True) in evaluated
    assert ("workspace_anchor", "session_start", False) in evaluated


@pytest.mark.parametrize(
    "reminders", [False, {"enabled": False}, {"providers": ["-tool_output_truncated"]}]
)
def test_providers_can_be_switched_off(reminders: object) -> None:
    model = ScriptedModel([call("read_file", path="a"), "done"])
    play(model=model, tools=[read_file], reminders=reminders)
    assert requests_with(model, "was truncated before you saw it") == []


def test_token_pressure_tells_once_per_threshold() -> None:
    used = [50_000, 72_000, 74_000, 88_000, 96_000]
    steps = [
        Answer(tool_calls=(call("read_file", path="a"),), usage=Usage(input_tokens=n), stop="tools")
        for n in used
    ]
    route = td.Route(name="x", wire="openai_chat", context_window=100_000, prefers_role_developer=True)
    log = td.open_log("memory:")
    model = ScriptedModel([*steps, "done"], route=route)
    play(
        model=model,
        tools=[read_file],
        session=Session("s", log=log),
        reminders={"providers": ["-tool_output_truncated"]},
    )
    fired = [
        p
        for p in payloads(log, "provider_evaluated")
        if p["provider_id"] == "token_pressure" and p["fired"]
    ]
    assert len(fired) == 3
    assert requests_with(model, "[70%]") == [3, 4]


def test_a_custom_provider_gets_its_context_and_config() -> None:
    registry, seen = Registry(), []

    def evaluate(ctx):
        seen.append((ctx.event, ctx.session_id, ctx.config.get("enabled")))
        return {"reminder": {"body": "custom", "ttl_turns": 1}}

    registry.register_reminder_provider(id="guard", subscribes_to=["session_start"], evaluate=evaluate)
    model = ScriptedModel(["done"])
    options = {"config": {"guard": {"enabled": True}}}
    play(model=model, registry=registry, reminders=options, session=Session("s"))
    assert seen == [("session_start", "s", True)]
    assert requests_with(model, "custom") == [1]


def test_more_than_eight_custom_providers_stop_the_loop_before_it_starts() -> None:
    registry = Registry()
    for number in range(9):
        registry.register_reminder_provider(
            id=f"p{number}", subscribes_to=["session_start"], evaluate=lambda ctx: None
        )
    with pytest.raises(td.DiagnosticError) as caught:
        play(model=ScriptedModel(["x"]), registry=registry, reminders=None)
    assert caught.value.code == "HARN-RMD-007"
    assert (
        play(model=ScriptedModel(["x"]), registry=registry, reminders={"providers": ["-p0"]}).status
        == "done"
    )


def test_resuming_tells_the_model_why_it_slept_and_why_it_woke() -> None:
    session = Session("s")
    play(model=ScriptedModel(["first"]), session=session)
    session.suspend("waiting for review")
    assert play(None, model=ScriptedModel(["never"]), session=session).status == "suspended"
    session.resume(cause="the review came in", input="approved")
    model = ScriptedModel(["done"])
    play("go on", model=model, session=session, reminders=None)
    told = json.dumps(model.requests[0])
    assert all(word in told for word in ("waiting for review", "the review came in", "approved"))


def test_two_loops_with_registries_of_their_own_do_not_meet() -> None:
    async def both():
        async with asyncio.timeout(30):
            await asyncio.gather(*(one(name) for name in "ab"))

    models = {name: ScriptedModel(["done"]) for name in "ab"}

    async def one(name: str):
        registry = Registry()
        registry.register_session_hook(
            "session_start", lambda ctx: {"body": f"only for {name}", "ttl_turns": 1}
        )
        from tidings.agent.loop import agent_loop

        await agent_loop("work", model=models[name], registry=registry, session_id=name)

    asyncio.run(both())
    assert requests_with(models["a"], "only for a") == [1]
    assert requests_with(models["a"], "only for b") == []


def test_stored_facts_are_told_at_the_start_of_the_next_session(tmp_path) -> None:
    with td.facts_store(tmp_path / "facts.db"):
        td.store_fact(
            kind="Decision",
            claim="Build cancels in-flight tool calls on SIGINT before clearing state.",
            confidence=0.92,
            evidence=[{"kind": "FileRange", "ref": "src/cancel.rs:1"}],
        )
        model = ScriptedModel(["done"])
        play("how does the build cancel tool calls?", model=model, reminders=None)
    assert requests_with(model, "Build cancels in-flight tool calls on SIGINT") == [1]


def test_the_facts_of_another_folder_are_told_when_the_config_names_it(tmp_path, monkeypatch) -> None:
    monkeypatch.delenv("TIDINGS_FACTS", raising=False)
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    for folder, claim in (("here", "Tests run offline."), ("there", "Tests run twice.")):
        td.store_fact(kind="constraint", claim=claim, confidence=1, root=tmp_path / folder)
    told = {}
    for root in (None, str(tmp_path / "there"), "../there", str(tmp_path / "nowhere")):
        model = ScriptedModel(["done"])
        config = {} if root is None else {"project_facts": {"root": root}}
        play("how do tests run?", model=model, reminders={"config": config})
        told[root] = [claim for claim in ("offline", "twice") if requests_with(model, claim)]
    assert list(told.values()) == [["offline"], ["twice"], ["twice"], []]
    assert not (tmp_path / "nowhere").exists()


def test_a_recall_of_ones_own_hears_of_a_root_only_when_one_is_named() -> None:
    heard: list[dict[str, object]] = []

    def recall(query: str, **asked: object) -> list[object]:
        heard.append(asked)
        return []

    for config in ({}, {"project_facts": {"root": "service"}}):
        play(model=ScriptedModel(["done"]), reminders={"config": config}, recall=recall)
    asked = {"namespace": "project/facts", "max_facts": 5, "min_confidence": 0.5, "kind_filter": None}
    assert heard == [asked, {**asked, "root": "service"}]


def test_persona_hooks_are_chosen_by_the_agent_that_works() -> None:
    registry, heard = Registry(), []
    for pattern in ("lead*", "other"):
        registry.register_persona_hook(
            ["pre_agent_turn", "post_agent_turn"],
            lambda ctx, pattern=pattern: heard.append((pattern, ctx.event, ctx.persona)),
            pattern=pattern,
        )
    play(model=ScriptedModel(["done"]), registry=registry, session=Session("s", agent_id="lead-1"))
    assert heard == [("lead*", "pre_agent_turn", "lead-1"), ("lead*", "post_agent_turn", "lead-1")]


def test_every_refusal_of_a_hook_is_recorded() -> None:
    registry, log = Registry(), td.open_log("memory:")
    registry.register_session_hook("user_prompt_submit", lambda ctx: {"block": True, "reason": "policy"})
    play(model=ScriptedModel([]), registry=registry, session=Session("s", log=log))
    assert [(w["code"], w["event"], w["message"]) for w in payloads(log, "warning")] == [
        ("vetoed", "user_prompt_submit", "policy")
    ]


def test_providers_are_not_asked_about_what_a_hook_refused() -> None:
    registry, asked = Registry(), []
    registry.register_session_hook("user_prompt_submit", lambda ctx: False)
    registry.register_reminder_provider(
        id="late", subscribes_to=["user_prompt_submit"], evaluate=lambda ctx: asked.append(ctx.event)
    )
    play(model=ScriptedModel([]), registry=registry, reminders=None)
    assert asked == []


def test_a_reason_that_no_log_can_hold_still_refuses() -> None:
    registry, log = Registry(), td.open_log("memory:")
    registry.register_session_hook("user_prompt_submit", lambda ctx: {"block": True, "reason": "no \ud800"})
    result = play(model=ScriptedModel([]), registry=registry, session=Session("s", log=log))
    assert (result.status, result.text, len(payloads(log, "warning"))) == ("blocked", "no ?", 1)


def test_a_pressure_mark_that_another_round_set_meanwhile_is_kept() -> None:
    registry, session = Registry(), Session("s")

    def evaluate(ctx):
        with session.step():
            session.stored = msgspec.structs.replace(session.stored, pressure="70")

    registry.register_reminder_provider(id="slow", subscribes_to=["post_step"], evaluate=evaluate)
    bounded(td.run_step("check", lambda: None, session=session, registry=registry))
    assert session.stored.pressure == "70"


@pytest.mark.parametrize(
    ("result", "shown", "failed"),
    [
        ("half \ud800", "half ?", []),
        ({"n": 1}, '{"n":1}', []),
        (object(), "as it was", ["malformed"]),
        ({"n": "\ud800"}, "as it was", ["malformed"]),
    ],
)
def test_a_result_that_a_hook_gives_can_be_written_or_is_refused(
    result: object, shown: str, failed: list[str]
) -> None:
    registry, log = Registry(), td.open_log("memory:")
    registry.register_tool_hook(post=lambda ctx: {"result": result})

    @tool(read_only=True)
    def look() -> str:
        """Look around."""
        return "as it was"

    model = ScriptedModel([call("look"), "done"])
    played = play(model=model, tools=[look], registry=registry, session=Session("s", log=log))
    assert (played.status, played.receipts[0].outcome.text) == ("done", shown)
    warnings = log.read(LIFECYCLE_TOPIC, kind_prefix="transcript.reminder.warning")
    assert [record.payload["code"] for record in warnings] == failed


def test_a_long_result_that_a_hook_gives_is_cut_like_a_tools_own() -> None:
    registry = Registry()
    registry.register_tool_hook(post=lambda ctx: {"result": "x" * 100_000})

    @tool(read_only=True)
    def look() -> str:
        """Look around."""
        return "short"

    (receipt,) = play(model=ScriptedModel([call("look"), "done"]), tools=[look], registry=registry).receipts
    assert len(receipt.outcome.text) <= MAX_OUTPUT
    assert (receipt.outcome.truncated, receipt.outcome.original_size) == (True, 100_000)


def test_a_provider_that_the_options_name_may_be_unregistered_while_the_loop_runs() -> None:
    registry = Registry()
    guard = registry.register_reminder_provider(
        id="guard", subscribes_to=["post_turn"], evaluate=lambda ctx: None
    )
    registry.register_session_hook("post_turn", lambda ctx: guard.unregister())
    model = ScriptedModel([call("read_file", path="a"), "done"])
    result = play(
        model=model, tools=[read_file], registry=registry, reminders={"providers": ["-guard", "guard"]}
    )
    assert (result.status, result.iterations) == ("done", 2)


def test_data_that_no_provider_can_look_at_is_a_record() -> None:
    class Broken(dict[str, object]):
        def __iter__(self):
            raise KeyError("broken")

    @tool(read_only=True)
    def look() -> Outcome:
        """Look around."""
        return Outcome(text="nothing new", data={"found": Broken(a=1)})

    log = td.open_log("memory:")
    model = ScriptedModel([call("look"), "done"])
    result = play(model=model, tools=[look], session=Session("s", log=log), reminders=None)
    assert (result.status, result.receipts[0].outcome.text) == ("done", "nothing new")
    asked = payloads(log, "provider_evaluated")
    told = [one["error"] for one in asked if one["provider_id"] == "grounded_review" and "error" in one]
    assert told == ["KeyError: 'broken'"]


def test_a_compaction_lets_token_pressure_tell_again_whoever_else_hears_of_it() -> None:
    steps = [
        Answer(tool_calls=(call("read_file", path="a"),), usage=Usage(input_tokens=n), stop="tools")
        for n in (75_000, 95_000, 75_000)
    ]
    route = td.Route(name="x", wire="openai_chat", context_window=100_000)
    log = td.open_log("memory:")
    play(
        model=ScriptedModel([*steps, "done"], route=route),
        tools=[read_file],
        session=Session("s", log=log),
        compaction=td.Compaction(strategy="truncate", keep=2),
        reminders={"providers": ["-tool_output_truncated", "-post_compact_recap"]},
    )
    asked = [one for one in payloads(log, "provider_evaluated") if one["provider_id"] == "token_pressure"]
    assert [one["fired"] for one in asked] == [True, True, True]
