"""Settings files keep every byte that is not ours, whatever they look like."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidings.core.reminder import Payload
from tidings.hosts.happening import Host
from tidings.hosts.settings.edit import added, checked, events_of, handlers, removed, undone
from tidings.hosts.settings.tree import SettingsError, parse
from tidings.hosts.settings.wiring import EVENTS, groups, is_ours

COMMAND = "/usr/bin/python3 -I -S /site/tidings/cli/hook/call.py claude-code"
OURS = groups("claude-code", COMMAND)
OTHER: Payload = {"hooks": [{"type": "command", "command": "notify-send done"}]}

PLAIN = st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=8)
VALUES = st.recursive(
    PLAIN,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)
USERS_HOOKS = st.dictionaries(
    st.sampled_from(("Stop", "PreToolUse", "PostToolBatch", "Notification")),
    st.lists(st.just(OTHER) | st.just({"matcher": "Bash", **OTHER}), max_size=2),
    max_size=3,
)
FILES = st.dictionaries(st.text(max_size=6).filter(lambda name: name != "hooks"), VALUES, max_size=4)


@st.composite
def messy_files(draw: st.DrawFn) -> str:
    """Settings as people leave them: any indent, line ends, comments, trailing commas, order."""
    settings: Payload = dict(draw(FILES))
    if draw(st.booleans()):
        settings["hooks"] = draw(USERS_HOOKS)
    names = draw(st.permutations(list(settings)))
    indent = draw(st.sampled_from((None, 1, 2, 4, "\t")))
    text = json.dumps(
        {name: settings[name] for name in names}, indent=indent, ensure_ascii=draw(st.booleans())
    )
    if draw(st.booleans()):
        text = text.replace("\n", '\n// a remark, with [brackets] and "marks"\n', 1)
    if draw(st.booleans()):
        text = "/* head */ " + text
    if draw(st.booleans()) and text.endswith("\n}") and not text.endswith("{\n}"):
        text = text[:-2] + ",\n}"
    text = draw(st.sampled_from(("", "\n", "\ufeff"))) + text + draw(st.sampled_from(("", "\n", "\n\n  ")))
    return text.replace("\n", "\r\n") if draw(st.booleans()) else text


@given(messy_files())
def test_what_was_put_in_can_be_taken_out_byte_for_byte(text: str) -> None:
    edited = added(text, OURS)
    assert undone(edited.text, edited.inserted) == text


@given(messy_files())
def test_only_our_hooks_are_added(text: str) -> None:
    before, after = parse(text).plain(), parse(added(text, OURS).text).plain()
    assert isinstance(before, dict)
    assert isinstance(after, dict)
    theirs = before.get("hooks", {})
    assert isinstance(theirs, dict)
    assert {name: value for name, value in after.items() if name != "hooks"} == {
        name: value for name, value in before.items() if name != "hooks"
    }
    assert after["hooks"] == {
        **theirs,
        **{event: [*theirs.get(event, []), group] for event, group in OURS.items()},
    }


@given(messy_files())
def test_our_hooks_are_found_again_in_a_file_that_was_changed_since(text: str) -> None:
    changed = added(text, OURS).text + "\n// changed since\n"
    left = removed(changed, is_ours, events_of(text))
    assert parse(left).plain() == parse(text).plain()


@given(messy_files())
def test_nothing_is_removed_from_a_file_without_our_hooks(text: str) -> None:
    assert removed(text, is_ours, events_of(text)) == text


NEIGHBOURS = """\
{
    "model": "opus",
    "hooks": {
        "Stop": [
            {"hooks": []}
        ]
    }
}
"""
WITH_OURS = """\
{
    "model": "opus",
    "hooks": {
        "Stop": [
            {"hooks": []},
            {
                "hooks": [
                    {
                        "type": "command",
                        "command": "tidings hook codex"
                    }
                ]
            }
        ]
    }
}
"""
NEW = """\
{
  "hooks": {
    "Stop": [
      {
        "hooks": []
      }
    ]
  }
}
"""


def test_an_inserted_group_looks_like_its_neighbours() -> None:
    stop = {"Stop": {"hooks": [{"type": "command", "command": "tidings hook codex"}]}}
    assert added(NEIGHBOURS, stop).text == WITH_OURS


def test_a_file_that_was_not_there_is_written_as_people_write_it() -> None:
    edited = added("", {"Stop": {"hooks": []}})
    assert edited.text == NEW
    assert undone(edited.text, edited.inserted) == ""


def test_comments_of_the_user_survive_a_removal() -> None:
    text = '{"hooks": {"Stop": [ // mine, not yours\n  {"hooks": [{"command": "x"}]} // keep\n]}}'
    changed = added(text, {"Stop": OURS["Stop"]}).text
    left = removed(changed, is_ours)
    assert "// mine, not yours" in left
    assert "// keep" in left
    assert parse(left).plain() == parse(text).plain()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{", "line 1, column 2: a name in quotation marks, or } was expected, not the end"),
        ('{"a": }', "line 1, column 7: a value was expected, not '}'"),
        ('{"a" 1}', "line 1, column 6: a colon was expected, not '1}'"),
        ('{\n  "a": 1\n  "b": 2\n}', "line 3, column 3: a comma or } was expected, not '\"b\": 2\\n}'"),
        ("[1 2]", "line 1, column 4: a comma or ] was expected, not '2]'"),
        ("{} {}", "line 1, column 4: the end of the file was expected, not '{}'"),
        ("'a'", "line 1, column 1: a value was expected, not \"'a'\""),
        ("01", "line 1, column 1: a value was expected, not '01'"),
        ("/* open", "line 1, column 1: a value was expected, not '/* open'"),
        ("[" * 100, "line 1, column 66: no more than 64 values inside one another was expected"),
    ],
)
def test_broken_json_is_refused_with_its_place(text: str, told: str) -> None:
    with pytest.raises(SettingsError) as refused:
        parse(text)
    assert str(refused.value).startswith(told)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[]", "the file holds []; it must hold one object"),
        ('{"hooks": []}', "`hooks` is []; it must be an object of lists"),
        ('{"hooks": {"Stop": {"a": 1}}}', "`hooks.Stop` is {'a': 1}; it must be a list"),
    ],
)
def test_hooks_of_another_shape_are_refused(text: str, told: str) -> None:
    with pytest.raises(SettingsError) as refused:
        checked(parse(text), OURS)
    assert str(refused.value) == told


@given(st.text(alphabet='{}[]",:01 \\/*tru\n', max_size=30))
def test_any_text_is_read_as_json_is_or_refused(text: str) -> None:
    try:
        expected = json.loads(text, parse_constant=lambda _: pytest.fail("never"))
    except ValueError:
        return
    assert parse(text).plain() == expected


@pytest.mark.parametrize("host", list(EVENTS))
def test_every_handler_that_we_write_is_known_as_ours(host: Host) -> None:
    for command in (
        f"tidings hook {host}",
        f"/usr/bin/python3 -I -S '/my site/tidings/cli/hook/call.py' {host} --home /x",
    ):
        text = added("", groups(host, command)).text
        found = handlers(parse(text))
        assert [event for event, _ in found] == list(EVENTS[host])
        assert all(is_ours(handler) for _, handler in found)
    assert not is_ours({"command": "notify tidings"})
    assert not is_ours({"type": "prompt"})
