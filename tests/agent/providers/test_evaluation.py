"""The pass over providers: who is asked, in which order, within which budget, and what fails."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidings.agent.events import UnknownEventError
from tidings.agent.providers import TABLE, Pass, ReminderOptionsError, Skipped, check_providers, evaluate
from tidings.agent.providers.evaluation import NOTHING, PLAIN, glances
from tidings.agent.providers.lineup import Lineup
from tidings.agent.providers.situation import Situation
from tidings.agent.registry import Registry
from tidings.core.records import Record
from tidings.errors import DiagnosticError


def ask(
    registry: Registry, event: str = "session_start", *, strict: bool = False, **options: object
) -> Pass:
    async def timed() -> Pass:
        async with asyncio.timeout(10):
            return await evaluate(
                event,
                session={"id": "s", "task": "t"},
                payload={"workspace_anchor": "/repo"},
                options=options,
                registry=registry,
                strict=strict,
            )

    return asyncio.run(timed())


def provider(registry: Registry, id: str, returned: object, *events: str, **more: object) -> None:
    def evaluate(ctx: object) -> object:
        if isinstance(returned, Exception):
            raise returned
        return returned(ctx) if callable(returned) else returned

    registry.register_reminder_provider(
        id=id, subscribes_to=list(events) or ["session_start"], evaluate=evaluate, **more
    )


def test_canonical_providers_come_first_then_custom_ones_by_registration() -> None:
    registry = Registry()
    for name in ("b", "a", "b"):
        provider(registry, name, {"body": name})
    done = ask(registry)
    assert [one.provider_id for one in done.evaluated] == ["project_facts", "workspace_anchor", "a", "b"]
    assert [one.fired for one in done.evaluated] == [False, True, True, True]


def test_a_custom_provider_gets_the_seeds_context() -> None:
    registry, seen = Registry(), []
    provider(registry, "guard", lambda ctx: seen.append(ctx))
    ask(registry, reminders={"config": {"guard": {"enabled": True}}}, model="m")
    (ctx,) = seen
    assert set(ctx) == {"event", "session", "session_id", "payload", "options", "config"}
    assert (ctx.event, ctx.session_id, ctx.session.task) == ("session_start", "s", "t")
    assert (ctx.payload.workspace_anchor, ctx.options.model, ctx.config.enabled) == ("/repo", "m", True)


@pytest.mark.parametrize(
    ("returned", "bodies"),
    [
        (None, []),
        ({"body": "a"}, ["a"]),
        ({"reminder": {"body": "a"}}, ["a"]),
        ([{"body": "a"}, {"reminder": {"body": "b"}}], ["a", "b"]),
    ],
)
def test_a_custom_provider_may_return_these(returned: object, bodies: list[str]) -> None:
    registry = Registry()
    provider(registry, "p", returned)
    made = ask(registry, reminders={"providers": ["-workspace_anchor"]}, strict=True).evaluated[-1]
    assert [spec["body"] for spec in made.reminders] == bodies


def test_a_failing_provider_is_reported_and_the_others_are_still_asked() -> None:
    registry = Registry()

    async def sleeps(ctx: object) -> None:
        await asyncio.sleep(60)

    provider(registry, "raises", ValueError("no"))
    provider(registry, "wrong", {"bodi": "x"})
    provider(registry, "key", {"body": "x", "ttl": 1})
    provider(registry, "reach", {"body": "x", "propagate": "far"})
    provider(registry, "late", sleeps, deadline=0.02)
    provider(registry, "last", {"body": "here"})
    done = ask(registry)
    codes = {one.provider_id: one.failure.code for one in done.evaluated if one.failure}
    assert codes == {
        "raises": "error",
        "wrong": "HARN-RMD-006",
        "key": "HARN-RMD-001",
        "reach": "HARN-RMD-005",
        "late": "late",
    }
    assert done.evaluated[-1].reminders == ({"body": "here"},)
    assert done.evaluated[2].record() == Record(
        "transcript.reminder.provider_evaluated",
        {
            "provider_id": "raises",
            "event": "session_start",
            "fired": False,
            "error": "ValueError: no",
            "code": "error",
        },
    )


def test_called_directly_a_failing_provider_raises() -> None:
    registry = Registry()
    provider(registry, "wrong", 7)
    with pytest.raises(DiagnosticError, match="HARN-RMD-006"):
        ask(registry, strict=True)


def test_a_custom_provider_may_watch_workers_but_not_remind_there() -> None:
    registry = Registry()
    provider(registry, "watch", None, "worker_resumed")
    provider(registry, "remind", {"body": "b"}, "worker_resumed")
    done = ask(registry, "worker_resumed")
    assert [(one.provider_id, one.fired) for one in done.evaluated] == [
        ("resume_continuity", True),
        ("watch", False),
        ("remind", False),
    ]
    assert done.evaluated[2].failure is not None
    assert done.evaluated[2].failure.code == "HARN-RMD-008"


def test_what_does_not_fit_the_budget_is_skipped_and_smaller_ones_still_fit() -> None:
    registry = Registry()
    provider(
        registry, "p", [{"body": "é" * 100}, {"body": "x" * 57, "dedupe_key": "k"}, {"body": "y" * 56}]
    )
    provider(registry, "q", {"body": "z"})
    done = ask(registry, reminders={"providers": ["-workspace_anchor"], "body_budget": 256})
    first, second = done.evaluated[-2:]
    assert [len(str(spec["body"])) for spec in first.reminders] == [100, 56]
    assert (first.skipped, second.skipped) == ((Skipped("k", 57, 56),), (Skipped(None, 1, 0),))
    assert first.record().payload["skipped"] == [{"dedupe_key": "k", "size": 57, "left": 56}]
    assert (first.fired, second.fired) == (True, False)


def test_the_budget_is_sixteen_kib_per_pass() -> None:
    registry = Registry()
    provider(registry, "p", [{"body": "x" * 16_384}, {"body": "y"}])
    made = ask(registry, reminders={"providers": ["-workspace_anchor"]}).evaluated[-1]
    assert (len(made.reminders), made.skipped) == (1, (Skipped(None, 1, 0),))


def test_a_pressure_reminder_that_did_not_fit_is_not_taken_for_told() -> None:
    async def full() -> Pass:
        return await evaluate(
            "on_budget_threshold",
            session={},
            payload={"tokens_used": 1e200, "context_window": 1e200},
            options={"reminders": {"body_budget": 256}},
            registry=Registry(),
        )

    done = asyncio.run(full())
    assert (done.evaluated[0].fired, len(done.evaluated[0].skipped), done.pressure) == (False, 1, "")


@pytest.mark.parametrize(
    ("reminders", "asked"),
    [
        (None, ["project_facts", "workspace_anchor", "mine"]),
        (True, ["project_facts", "workspace_anchor", "mine"]),
        ({}, ["project_facts", "workspace_anchor", "mine"]),
        (False, []),
        ({"enabled": False}, []),
        ({"enabled": False, "providers": ["mine"]}, []),
        ({"providers": ["-mine"]}, ["project_facts", "workspace_anchor"]),
        ({"providers": ["-mine", "mine"]}, ["project_facts", "workspace_anchor", "mine"]),
        ({"providers": ["mine", "-mine"]}, ["project_facts", "workspace_anchor"]),
        ({"providers": ["mine"]}, ["project_facts", "workspace_anchor", "mine"]),
        ({"providers": ["-project_facts", "- workspace_anchor"]}, ["mine"]),
    ],
)
def test_providers_are_enabled_from_left_to_right(reminders: object, asked: list[str]) -> None:
    registry = Registry()
    provider(registry, "mine", None)
    assert [one.provider_id for one in ask(registry, reminders=reminders).evaluated] == asked


def test_config_stands_under_config_or_under_the_id() -> None:
    registry, seen = Registry(), []
    provider(registry, "p", lambda ctx: seen.append(dict(ctx.config)))
    ask(registry, reminders={"config": {"p": {"a": 1}}, "p": {"a": 2}})
    ask(registry, reminders={"p": {"a": 2}})
    ask(registry)
    assert seen == [{"a": 1}, {"a": 2}, {}]


def test_more_than_eight_custom_providers_are_harn_rmd_007() -> None:
    registry = Registry()
    for number in range(9):
        provider(registry, f"p{number}", None)
    with pytest.raises(DiagnosticError) as caught:
        check_providers({}, registry)
    assert caught.value.code == "HARN-RMD-007"
    assert "p0, p1, p2, p3, p4, p5, p6, p7, p8" in str(caught.value)
    kept = check_providers({"reminders": {"providers": ["-p4"]}}, registry)
    assert kept == (*TABLE, *(f"p{number}" for number in range(9) if number != 4))
    assert check_providers({"reminders": False}, registry) == ()


@pytest.mark.parametrize(
    ("reminders", "says"),
    [
        ("yes", "`reminders` must be false or a mapping"),
        ({"enabled": "no"}, "`reminders.enabled` must be true or false"),
        ({"providers": "-idle_nudge"}, "must be a list of ids"),
        ({"providers": ["-idle_nugde"]}, "did you mean idle_nudge"),
        ({"enabled": False, "providers": ["gone"]}, "'gone', which is no provider"),
        ({"config": 7}, "`reminders.config` must be a mapping of provider ids"),
        ({"config": {"idle": {}}}, "unknown `reminders.config.idle`; did you mean idle_nudge"),
        ({"idle": {}}, "unknown `reminders.idle`; did you mean idle_nudge"),
        ({"idle_nudge": 60}, "the config of 'idle_nudge' must be a mapping"),
        ({"idle_nudge": {"idle_second": 1}}, "unknown `idle_nudge.idle_second`; did you mean idle_seconds"),
        ({"idle_nudge": {"idle_seconds": 0}}, "must be a number from 1 up; got 0"),
        ({"idle_nudge": {"idle_seconds": True}}, "must be a number from 1 up; got True"),
        ({"token_pressure": {"context_window": 1.5}}, "must be a whole number from 1 up"),
        ({"workspace_anchor": {"a": 1}}, "it takes no config"),
        ({"project_facts": {"max_facts": 26}}, "must be a whole number from 0 to 25"),
        ({"project_facts": {"min_confidence": 1.1}}, "must be a number from 0 to 1"),
        ({"project_facts": {"scope": "team"}}, "out of project, workspace, user"),
        ({"project_facts": {"kind_filter": ["decisions"]}}, "out of observation, claim"),
        ({"project_facts": {"namespace": " "}}, "must be a non-blank string"),
        ({"grounded_review": {"max_findings": 21}}, "must be a whole number from 1 to 20"),
        ({"grounded_review": {"text_scan": "no"}}, "must be true or false"),
        ({"body_budget": 255}, "256 or more; got 255"),
    ],
)
def test_a_wrong_option_is_an_error_when_the_loop_starts(reminders: object, says: str) -> None:
    with pytest.raises(ReminderOptionsError, match=says):
        check_providers({"reminders": reminders}, Registry())


def test_an_unknown_event_is_refused() -> None:
    with pytest.raises(UnknownEventError):
        ask(Registry(), "session_begin")


PLAIN_STEP = {"step": "tools", "iteration": 1, "tools": ["look"], "succeeded": [True], "error": None}


@pytest.mark.parametrize("event", ["post_step", "post_agent_turn"])
def test_a_payload_without_evidence_is_passed_over_with_the_records_of_a_whole_pass(event: str) -> None:
    async def asked() -> Pass:
        options: dict[str, object] = {}
        return await evaluate(event, session={}, payload=PLAIN_STEP, options=options, registry=Registry())

    expected = [one.record() for one in asyncio.run(asked()).evaluated]
    glance = glances(Lineup({}, Registry()))[event]
    assert (glance.suffices(PLAIN_STEP), list(glance.records)) == (True, expected)
    assert expected != []


def test_nobody_is_passed_over_who_may_have_something_to_say() -> None:
    registry = Registry()
    provider(registry, "own", None, "post_step")
    plain = Lineup({}, Registry())
    assert "post_step" not in glances(Lineup({}, registry))
    assert not glances(plain)["post_step"].suffices({**PLAIN_STEP, "error": "it broke"})
    assert "session_start" not in glances(plain)
    assert glances(Lineup({"reminders": False}, registry)) == {}


FIELDS = st.sampled_from(
    (
        "ok", "success", "is_error", "isError", "status", "error", "truncated", "compacted", "tool_name",
        "tool", "command", "text", "diagnostics", "verifier_outcome", "exit_code", "turn", "timed_out",
    )
)  # fmt: skip
VALUES = st.sampled_from((True, False, None, "failed", "pytest -q", "pytest", "look", "1 failed", 1, []))
PLACES = st.dictionaries(FIELDS, VALUES, max_size=4)
INSIDE = st.sampled_from(("result", "arguments", "args", "tool_results", "steps"))
TOLD = st.builds(
    lambda here, inside, nested: {**here, **inside, **{key: [item] for key, item in nested.items()}},
    PLACES,
    st.dictionaries(INSIDE, PLACES, max_size=2),
    st.dictionaries(INSIDE, PLACES, max_size=1),
)


@settings(max_examples=500)
@given(payload=TOLD, provider_id=st.sampled_from(sorted(NOTHING)))
def test_a_provider_that_sees_nothing_at_a_glance_has_nothing_to_say(
    payload: dict[str, object], provider_id: str
) -> None:
    if NOTHING[provider_id](payload):
        assert PLAIN[provider_id](Situation(event="post_tool_use", payload=payload)) is None
