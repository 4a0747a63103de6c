"""What a hook or provider returned, shape by shape."""

from __future__ import annotations

import hypothesis.strategies as st
import pytest
from hypothesis import given

from tidings.agent.effects import ACTION_KEYS, MAX_DEPTH, EffectError, Effects, parse
from tidings.agent.events import EVENTS
from tidings.core.producers import build
from tidings.errors import DiagnosticError

A = {"body": "a"}
B = {"body": "b", "tags": ["t"], "dedupe_key": "k", "ttl_turns": 1, "propagate": "none"}
RULED = {"decision": "deny", "reason": "r"}
DEFAULT = "refused by a hook without giving a reason"


@pytest.mark.parametrize(
    ("returned", "expected"),
    [
        (None, Effects()),
        (True, Effects()),
        ([], Effects()),
        (A, Effects((A,))),
        ({"reminder": B}, Effects((B,))),
        ({"reminder": A, "then": {"reminder": B}}, Effects((A, B))),
        ({"reminder": A, "then": None}, Effects((A,))),
        ({"reminder": A, "then": [B, {"reminder": A}]}, Effects((A, B, A))),
        ({"effects": [A, {"reminder": B}]}, Effects((A, B))),
        ({"effects": A}, Effects((A,))),
        ({"effects": []}, Effects()),
        ({"type": "reminder", "spec": A}, Effects((A,))),
        ({"kind": "reminder", "spec": A}, Effects((A,))),
        ({"type": "reminder", "reminder": A}, Effects((A,))),
        ([A, None, {"reminder": B}], Effects((A, B))),
        ((A, B), Effects((A, B))),
    ],
)
def test_reminders_come_in_these_shapes(returned: object, expected: Effects) -> None:
    assert parse(EVENTS["post_turn"], returned) == expected
    if returned is not True:
        assert parse(EVENTS["session_idle"], returned, author="provider", name="p") == expected


@pytest.mark.parametrize(
    ("event", "returned", "expected"),
    [
        ("pre_tool_use", False, Effects((), {}, DEFAULT)),
        ("pre_tool_use", {"deny": "no writes"}, Effects((), {}, "no writes")),
        ("pre_tool_use", {"deny": True, "reason": "r"}, Effects((), {}, "r")),
        ("pre_tool_use", {"deny": " "}, Effects((), {}, DEFAULT)),
        ("pre_tool_use", {"deny": False}, Effects()),
        ("pre_tool_use", {"block": True, "reason": "r"}, Effects((), {}, "r")),
        ("pre_tool_use", {"args": {"path": "a"}}, Effects((), {"args": {"path": "a"}})),
        ("pre_tool_use", {"modify": {"path": "a"}}, Effects((), {"args": {"path": "a"}})),
        ("post_tool_use", {"result": "x"}, Effects((), {"result": "x"})),
        ("post_tool_use", {"output": None}, Effects((), {"result": None})),
        ("post_tool_use", {"modify": [1]}, Effects((), {"result": [1]})),
        ("user_prompt_submit", {"block": True, "reason": "off topic"}, Effects((), {}, "off topic")),
        ("pre_compact", {"block": True}, Effects((), {}, DEFAULT)),
        ("pre_compact", {"block": False, "reason": "r"}, Effects()),
        ("pre_finish", [A, False], Effects((A,), {}, DEFAULT)),
        ("permission_asked", RULED, Effects((), RULED)),
        ("permission_asked", {"decision": "allow"}, Effects((), {"decision": "allow", "reason": None})),
        ("permission_asked", True, Effects()),
        ("pre_tool_use", {"reminder": A, "deny": "no"}, Effects((A,), {}, "no")),
        ("pre_tool_use", {"reminder": A, "then": {"args": {}}}, Effects((A,), {"args": {}})),
        ("pre_tool_use", {"effects": [A], "args": {}}, Effects((A,), {"args": {}})),
        ("pre_tool_use", [{"deny": "first"}, {"deny": "second"}], Effects((), {}, "first")),
    ],
)  # fmt: skip
def test_a_hook_decides_with_these_shapes(event: str, returned: object, expected: Effects) -> None:
    assert parse(EVENTS[event], returned) == expected


@pytest.mark.parametrize(
    ("event", "returned", "says"),
    [
        ("post_turn", 42, "must return nothing, a reminder spec"),
        ("post_turn", "remember", "must return nothing, a reminder spec"),
        ("post_turn", False, "post_turn cannot be refused"),
        ("post_turn", {"block": True}, "may decide nothing"),
        ("post_turn", {}, "has only a reason"),
        ("post_turn", {"bodi": "x"}, "has bodi"),
        ("post_turn", {"body": "x", "control": 1}, "has body, control"),
        ("pre_compact", {"deny": "x"}, "may decide with block, reason"),
        ("pre_compact", {"block": "yes"}, "`block` must be true or false"),
        ("pre_compact", {"block": True, "reason": 7}, "`reason` must be a string"),
        ("pre_tool_use", {"deny": 7}, "`deny` must be true, false or the reason"),
        ("pre_tool_use", {"args": 7}, "`args` must be the tool's arguments"),
        ("pre_tool_use", {"reason": "x"}, "has only a reason"),
        ("pre_tool_use", [{"args": {}}, {"args": {"a": 1}}], "given twice"),
        ("pre_tool_use", {"args": {}, "modify": {"a": 1}}, "`args` is given twice"),
        ("post_tool_use", {"result": "a", "output": "b"}, "`result` is given twice"),
        ("permission_asked", {"decision": "perhaps"}, "one of allow, deny, ask"),
        ("permission_asked", {"decision": "deny"}, 'of "deny" needs a `reason`'),
        ("user_prompt_submit", {"decision": "allow"}, "has decision"),
        ("post_turn", [A] * 65, "at most 64 reminders"),
    ],
)
def test_any_other_shape_is_refused_by_name(event: str, returned: object, says: str) -> None:
    with pytest.raises(EffectError, match=says):
        parse(EVENTS[event], returned, name="my_hook")


def test_then_nests_up_to_the_limit_and_no_deeper() -> None:
    chain: object = A
    for _ in range(MAX_DEPTH):
        chain = {"reminder": A, "then": chain}
    assert len(parse(EVENTS["post_turn"], chain).reminders) == MAX_DEPTH + 1
    with pytest.raises(EffectError, match="at most 32 deep"):
        parse(EVENTS["post_turn"], {"reminder": A, "then": chain})


@pytest.mark.parametrize("name", [name for name in EVENTS if name.startswith("worker")])
@pytest.mark.parametrize("author", ["hook", "provider"])
def test_a_reminder_from_a_worker_event_is_harn_rmd_008(name: str, author: str) -> None:
    with pytest.raises(DiagnosticError) as caught:
        parse(EVENTS[name], {"reminder": {"body": ""}}, author=author)
    assert caught.value.code == "HARN-RMD-008"
    assert parse(EVENTS[name], None, author=author) == Effects()


@pytest.mark.parametrize("key", sorted(ACTION_KEYS))
def test_a_body_beside_an_action_key_is_no_bare_spec(key: str) -> None:
    with pytest.raises(EffectError):
        parse(EVENTS["post_turn"], {"body": "x", key: True})


@pytest.mark.parametrize(
    ("spec", "hook", "provider"),
    [
        ({"body": "x", "propogate": "all"}, "HARN-RMD-001", "HARN-RMD-001"),
        ({"body": "x", "propagate": "some"}, "HARN-RMD-005", "HARN-RMD-005"),
        ({"body": " "}, "HARN-RMD-001", "HARN-RMD-006"),
        ({"body": "x", "ttl_turns": 0}, "HARN-RMD-001", "HARN-RMD-006"),
        ("text", "HARN-RMD-001", "HARN-RMD-006"),
        (None, "HARN-RMD-001", "HARN-RMD-006"),
    ],
)
def test_a_wrong_spec_gets_its_producers_code(spec: object, hook: str, provider: str) -> None:
    for author, code in (("hook", hook), ("provider", provider)):
        with pytest.raises(DiagnosticError) as caught:
            parse(EVENTS["session_idle"], {"reminder": spec}, author=author, name="mine")
        assert caught.value.code == code
        assert str(caught.value).startswith(f"{author} 'mine' at session_idle: ")


@pytest.mark.parametrize("returned", [True, False, 7, "x", {}, {"deny": "x"}, {"block": True}, [7]])
def test_a_provider_may_return_nothing_but_reminders(returned: object) -> None:
    with pytest.raises(DiagnosticError) as caught:
        parse(EVENTS["session_idle"], returned, author="provider")
    assert caught.value.code == "HARN-RMD-006"


def test_the_result_does_not_share_the_hooks_own_dict() -> None:
    spec = {"body": "a"}
    made = parse(EVENTS["post_turn"], spec)
    spec["body"] = "changed"
    assert made == Effects((A,))


words = st.sampled_from(
    [
        *ACTION_KEYS,
        "body",
        "reminder",
        "then",
        "effects",
        "type",
        "kind",
        "spec",
        "reason",
        "tags",
        "ttl_turns",
    ]
)
leaves = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.just("reminder")
values = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(words | st.text(), inner),
    max_leaves=12,
)


@given(st.sampled_from(list(EVENTS.values())), values, st.sampled_from(["hook", "provider"]))
def test_anything_gives_admissible_effects_or_a_documented_error(event, returned, author) -> None:
    documented = (DiagnosticError,) if author == "provider" else (DiagnosticError, EffectError)
    try:
        effects = parse(event, returned, author=author)
    except documented:
        return
    for spec in effects.reminders:
        build(author, spec, id="new")
    assert event.reminders or not effects.reminders
    assert event.can_veto or effects.veto is None
