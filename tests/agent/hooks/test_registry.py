"""Registering hooks and providers: forms, order, and how mistakes are named."""

from __future__ import annotations

import pytest

from tidings.agent import registry as module
from tidings.agent.events import EVENTS, UnknownEventError
from tidings.agent.registration import RegistrationError
from tidings.agent.registry import Registry


def note(ctx: object) -> None:
    """A hook that does nothing."""


def other(ctx: object) -> None:
    """Another."""


def heard(registry: Registry, event: str, **payload: object) -> list[str]:
    return [hook.name for hook in registry.matching(EVENTS[event], payload)]


def test_a_tool_hook_hears_its_tools_before_and_after() -> None:
    registry = Registry()
    registry.register_tool_hook(pattern="read_*", pre=note, post=other)
    assert heard(registry, "pre_tool_use", tool_name="read_file") == ["note"]
    assert heard(registry, "post_tool_use", tool_name="read_file") == ["other"]
    assert heard(registry, "post_tool_use", tool={"name": "read_file"}) == ["other"]
    assert heard(registry, "pre_tool_use", tool_name="write_file") == []
    assert heard(registry, "pre_tool_use") == []


@pytest.mark.parametrize(
    ("pattern", "tool", "hears"),
    [
        (None, "any", True),
        ("*", "any", True),
        ("git_[ac]*", "git_commit", True),
        ("git_[ac]*", "git_push", False),
        (["read_*", "grep"], "grep", True),
        ("Read", "read", False),
    ],
)
def test_patterns_are_shell_patterns(pattern: object, tool: str, hears: bool) -> None:
    registry = Registry()
    registry.register_tool_hook({"pattern": pattern, "post": note})
    assert heard(registry, "post_tool_use", tool_name=tool) == (["note"] if hears else [])


def test_the_seeds_mapping_form_and_keywords_register_the_same() -> None:
    one, two = Registry(), Registry()
    one.register_tool_hook({"pattern": "read_file", "post": note, "deadline": 2})
    two.register_tool_hook(pattern="read_file", post=note, deadline=2)
    shapes = [[(h.name, h.events, h.patterns, h.deadline) for h in r.hooks] for r in (one, two)]
    assert shapes[0] == shapes[1] == [("note", ("post_tool_use",), ("read_file",), 2.0)]


def test_each_registrar_is_a_decorator_too() -> None:
    registry = Registry()

    @registry.register_session_hook("file_edited")
    @registry.register_session_hook(["SessionStart", "on_budget_threshold"])
    @registry.register_step_hook("post_step", pattern="plan*")
    @registry.register_persona_hook("PreAgentTurn", pattern="reviewer")
    @registry.register_worker_hook("worker_failed")
    @registry.register_checkpoint_hook("iteration_start")
    @registry.register_tool_hook(when="post", pattern="grep")
    @registry.register_reminder_provider(id="mine", subscribes_to=["session_idle"])
    def hook(ctx: object) -> str:
        return "called"

    assert hook(None) == "called"
    assert [(h.events, h.patterns) for h in registry.hooks] == [
        (("post_tool_use",), ("grep",)),
        (("loop_checkpoint",), ("iteration_start",)),
        (("worker_failed",), ()),
        (("pre_agent_turn",), ("reviewer",)),
        (("post_step",), ("plan*",)),
        (("session_start", "on_budget_threshold"), ()),
        (("file_edited",), ()),
    ]
    assert [(p.id, p.subscribes_to) for p in registry.providers] == [("mine", ("session_idle",))]


def test_subjects_are_steps_personas_and_seams() -> None:
    registry = Registry()
    registry.register_step_hook("pre_step", note, pattern="plan*")
    registry.register_persona_hook("post_agent_turn", note, pattern="rev*")
    registry.register_checkpoint_hook(["IterationStart", "loop_exit"], note)
    assert heard(registry, "pre_step", step="planning") == ["note"]
    assert heard(registry, "pre_step", step="doing") == []
    assert heard(registry, "post_agent_turn", persona={"name": "reviewer"}) == ["note"]
    assert heard(registry, "loop_checkpoint", kind="iteration_start") == ["note"]
    assert heard(registry, "loop_checkpoint", kind="iteration_end") == []


@pytest.mark.parametrize("kinds", [None, "*"])
def test_a_checkpoint_hook_may_hear_every_seam(kinds: object) -> None:
    registry = Registry()
    registry.register_checkpoint_hook(kinds, note)
    assert heard(registry, "loop_checkpoint", kind="daemon_idle_pre") == ["note"]


def test_a_handle_takes_back_what_its_call_registered_and_nothing_else() -> None:
    registry = Registry()
    handle = registry.register_tool_hook(pre=note, post=note)
    registry.register_session_hook("session_start", note)
    provider = registry.register_reminder_provider(id="p", subscribes_to=["session_idle"], evaluate=note)
    handle.unregister()
    handle.unregister()
    provider.unregister()
    assert ([h.events for h in registry.hooks], registry.providers) == ([("session_start",)], ())


def test_registering_a_provider_again_moves_it_to_the_end() -> None:
    registry = Registry()
    for name in ("a", "b", " a "):
        registry.register_reminder_provider({"id": name, "subscribes_to": ["PostTurn"], "evaluate": note})
    assert [provider.id for provider in registry.providers] == ["b", "a"]
    registry.clear_reminder_providers()
    assert registry.providers == ()


def test_hooks_can_be_cleared_and_providers_stay() -> None:
    registry = Registry()
    registry.register_session_hook("post_turn", note)
    registry.register_reminder_provider(id="a", subscribes_to=["post_turn"], evaluate=note)
    registry.clear_hooks()
    assert (registry.hooks, len(registry.providers)) == ((), 1)


@pytest.mark.parametrize(
    ("registrar", "event", "says"),
    [
        ("register_session_hook", "file_edit", "did you mean file_edited"),
        ("register_session_hook", "pre_tool_use", "use register_tool_hook"),
        ("register_session_hook", [], "at least one event"),
        ("register_session_hook", None, "unknown hook event None"),
        ("register_step_hook", "worker_failed", "use register_worker_hook"),
        ("register_worker_hook", "post_step", "use register_step_hook"),
        ("register_persona_hook", "session_start", "use register_session_hook"),
    ],
)
def test_a_wrong_event_says_what_to_use_instead(registrar: str, event: object, says: str) -> None:
    with pytest.raises(UnknownEventError, match=says):
        getattr(Registry(), registrar)(event, note)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({}, "give `pre`, `post` or both"),
        ({"pre": 7}, "`pre` must be a function"),
        ({"post": note, "patern": "x"}, "unknown patern; known are pattern"),
        ({"post": note, "pattern": 7}, "a pattern must be"),
        ({"post": note, "pattern": []}, "a pattern must be"),
        ({"post": note, "deadline": 0}, "`deadline` must be a positive number"),
        ({"post": note, "deadline": float("inf")}, "`deadline` must be a positive number"),
        ({"post": note, "deadline": True}, "`deadline` must be a positive number"),
        ("read_file", "takes keywords or one mapping"),
    ],
)
def test_a_wrong_tool_hook_is_refused(options: object, says: str) -> None:
    with pytest.raises(RegistrationError, match=says):
        Registry().register_tool_hook(options)


@pytest.mark.parametrize(
    ("change", "error", "says"),
    [
        ({"id": ""}, RegistrationError, "non-blank"),
        ({"id": "-a"}, RegistrationError, "does not begin with '-'"),
        ({"id": "token_pressure"}, RegistrationError, "canonical provider"),
        ({"subscribes_to": []}, RegistrationError, "non-empty list"),
        ({"subscribes_to": "post_turn"}, RegistrationError, "non-empty list"),
        ({"subscribes_to": ["post_turns"]}, UnknownEventError, "did you mean post_turn"),
        ({"subscribes_to": ["pre_tool_use"]}, UnknownEventError, "for hooks only"),
        ({"evaluate": None}, RegistrationError, "give `evaluate`"),
        ({"evaluate": 7}, RegistrationError, "`evaluate` must be a function"),
        ({"extra": 1}, RegistrationError, "unknown extra"),
    ],
)
def test_a_wrong_provider_is_refused(change: dict[str, object], error: type[Exception], says: str) -> None:
    registry = Registry()
    with pytest.raises(error, match=says):
        registry.register_reminder_provider(
            {"id": "p", "subscribes_to": ["post_turn"], "evaluate": note, **change}
        )
    assert registry.providers == ()


def test_a_wrong_seam_is_refused_with_near_matches() -> None:
    with pytest.raises(RegistrationError, match="did you mean iteration_start"):
        Registry().register_checkpoint_hook("iteration_begin_start", note)


def test_a_decorated_thing_that_cannot_be_called_is_refused() -> None:
    with pytest.raises(RegistrationError, match="must be a function"):
        Registry().register_session_hook("post_turn")(7)


def test_the_functions_of_the_module_act_on_the_default_registry() -> None:
    handle = module.register_session_hook("post_turn", note)
    assert [hook.name for hook in module.default_registry.hooks] == ["note"]
    handle.unregister()
    module.register_reminder_provider(id="p", subscribes_to=["post_turn"], evaluate=note)
    module.clear_reminder_providers()
    assert (module.default_registry.hooks, module.default_registry.providers) == ((), ())
