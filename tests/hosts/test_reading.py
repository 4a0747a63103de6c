"""A host's payload is read by its table; what is odd about it is said, and never raises."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.hosts.events import WORKSPACE, payload
from tidings.core.seams import DRAINS
from tidings.hosts import claude_code, codex
from tidings.hosts.happening import HOSTS, NEUTRAL, Delivery, Event, Happening, Host, Odd
from tidings.hosts.table import TONGUES, host_named

EVENTS = [(host, name) for host in HOSTS for name in TONGUES[host].events]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner, max_size=4),
    max_leaves=12,
)


def test_a_claude_code_batch_is_read_whole() -> None:
    told = payload("claude-code", "PostToolBatch")
    assert claude_code.read(told) == Happening(
        host="claude-code",
        name="PostToolBatch",
        session_id="s1",
        event=Event(seam="post_tool_dispatch", carries=True, answered=True, asks=True),
        workspace=WORKSPACE,
        calls=("call_1",),
        batch="call_1",
        transcript="/nowhere/s1.jsonl",
    )


def test_a_compaction_is_told_by_the_source_of_a_session_start() -> None:
    for host in ("claude-code", "codex"):
        read = TONGUES[host].read(payload(host, "SessionStart", source="compact"))  # type: ignore[index]
        assert isinstance(read, Happening)
        assert read.event == Event(seam="iteration_start", phase="compacted", carries=True, asks=True)


def test_a_child_session_of_opencode_means_less() -> None:
    read = TONGUES["opencode"].read(payload("opencode", "chat.message", agent_id="child"))
    assert isinstance(read, Happening)
    assert (read.agent_id, read.event) == ("child", Event(phase="child_starts", carries=True))
    inner = TONGUES["opencode"].read(payload("opencode", "tool.execute.after", agent_id="child"))
    assert isinstance(inner, Happening)
    assert inner.event == Event()


@pytest.mark.parametrize(("host", "name"), EVENTS)
def test_every_event_of_the_tables_is_known(host: Host, name: str) -> None:
    read = TONGUES[host].read(payload(host, name))
    assert isinstance(read, Happening)
    assert (read.host, read.name, read.event, read.odd) == (host, name, TONGUES[host].events[name], ())


@pytest.mark.parametrize(("host", "name"), EVENTS)
def test_no_event_answers_an_approval_or_anything_else_with_nothing_to_say(host: Host, name: str) -> None:
    read = TONGUES[host].read(payload(host, name))
    assert isinstance(read, Happening)
    assert TONGUES[host].answer(read, Delivery()) == NEUTRAL


@pytest.mark.parametrize(("host", "name"), EVENTS)
def test_only_an_event_at_a_seam_carries_declines_or_goes_on(host: Host, name: str) -> None:
    event = TONGUES[host].events[name]
    if event.declines or event.goes_on or (event.carries and event.phase != "child_starts"):
        assert event.seam is not None
        assert DRAINS[event.seam]


@pytest.mark.parametrize("host", HOSTS)
def test_an_unknown_event_keeps_its_session_and_is_odd(host: Host) -> None:
    read = TONGUES[host].read(payload(host, "BeforeLunch"))
    assert isinstance(read, Happening)
    assert read.event == Event()
    assert read.odd == ("the event 'BeforeLunch' is not known; it is answered with nothing",)


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("wrong", [None, 7, "", " ", "x" * 161, ["s1"], "a\nb"])
def test_a_payload_without_a_session_is_odd(host: Host, wrong: object) -> None:
    read = TONGUES[host].read({**payload(host, "SessionStart"), "session_id": wrong})
    assert isinstance(read, Odd)
    assert "session_id" in read.message


def test_wrong_shapes_beside_it_are_left_out_and_named() -> None:
    told = payload(
        "claude-code", "PostToolBatch", cwd="here", tool_calls="two", stop_hook_active="yes", agent_id=3
    )
    read = claude_code.read(told)
    assert isinstance(read, Happening)
    assert (read.workspace, read.calls, read.continued, read.agent_id) == (None, (), False, None)
    named = ["`tool_calls`", "`agent_id`", "`cwd`", "`stop_hook_active`"]
    assert [odd.split(" ")[0] for odd in read.odd] == named


@given(st.sampled_from(HOSTS), st.dictionaries(st.text(max_size=12), JSON, max_size=6))
def test_no_payload_raises(host: Host, told: Mapping[str, object]) -> None:
    assert isinstance(TONGUES[host].read(told), Odd)
    named = TONGUES[host].read({**told, "hook_event_name": "Stop", "session_id": "s1"})
    assert isinstance(named, Happening)
    TONGUES[host].answer(named, Delivery("text", "because", True))
    TONGUES[host].complete({"hookSpecificOutput": told}, told)


@given(
    st.sampled_from(EVENTS),
    st.sampled_from(
        ("session_id", "cwd", "tool_calls", "tool_use_id", "agent_id", "source", "transcript_path")
    ),
    JSON,
)
def test_a_field_that_changes_its_shape_never_raises(
    case: tuple[Host, str], field: str, value: object
) -> None:
    host, name = case
    read = TONGUES[host].read({**payload(host, name), field: value})
    assert isinstance(read, (Happening, Odd))


def test_hosts_are_found_by_their_names_only() -> None:
    assert [host_named(name) for name in (*HOSTS, "claude", "")] == [*HOSTS, None, None]


def rollout(*items: tuple[str, str]) -> bytes:
    """The end of a rollout file, with the kind and the call of each item."""
    line = '{{"type":"response_item","payload":{{"type":"{}","call_id":"{}"}}}}\n'
    return "".join(line.format(*item) for item in items).encode()


def test_a_codex_rollout_shows_that_a_request_followed_a_declined_call() -> None:
    batch = (("function_call", "a"), ("function_call", "b"), ("function_call_output", "a"))
    assert not codex.moved_on(rollout(*batch[:2]), ["a"], ["b"])
    assert not codex.moved_on(rollout(*batch), ["a"], ["b"])
    assert not codex.moved_on(rollout(*batch), ["a"], ["c"])
    later = (*batch, ("function_call_output", "b"), ("custom_tool_call", "c"))
    assert codex.moved_on(rollout(*later), ["a", "b"], ["c"])
    assert not codex.moved_on(rollout(*later), ["c"], ["c"])


@pytest.mark.parametrize(
    ("tool", "command", "patches"),
    [
        ("Bash", "apply_patch <<'EOF'\n*** Begin Patch\n", True),
        ("Bash", "cd src && apply_patch <<'EOF'\n*** Begin Patch\n", True),
        ("Bash", "applypatch <<'EOF'\n*** Begin Patch\n", True),
        ("Bash", "echo apply_patch <<'EOF'", False),
        ("Bash", "cat apply_patch.txt", False),
        ("Bash", ["apply_patch", "x"], False),
        ("apply_patch", "*** Begin Patch\n", False),
    ],
)
def test_before_a_patch_by_its_shell_codex_has_nothing_more_to_tell(
    tool: str, command: object, patches: bool
) -> None:
    read = codex.read(payload("codex", "PreToolUse", tool_name=tool, tool_input={"command": command}))
    assert isinstance(read, Happening)
    assert read.event == (codex.PATCHES if patches else codex.EVENTS["PreToolUse"])
