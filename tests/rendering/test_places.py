"""Where reminders stand: every place that is told is one in the body, and the words stand there."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import pytest
from hypothesis import given

import tidings as td
from tests.rendering.test_properties import quickly, situations
from tidings.core.reminder import Payload
from tidings.rendering.places import places
from tidings.rendering.route import route
from tidings.shell.transforms import admit_reminder

_STEP = re.compile(r"\.?([A-Za-z]+)|\[(\d+)\]")


def at(body: object, path: str) -> Any:
    """What stands at a path of a body."""
    for name, place in _STEP.findall(path):
        assert isinstance(body, list if place else dict)
        body = body[int(place) if place else name]  # type: ignore[index]
    return body


def text_at(body: Payload, path: str) -> str:
    found = at(body, path)
    return found if isinstance(found, str) else str(found["text"])


@quickly
@given(situations())
def test_on_every_route_each_reminder_that_a_request_shows_stands_where_it_is_said_to(
    situation: tuple[td.Route, td.Transcript, dict[str, Any]],
) -> None:
    used, transcript, given_ = situation
    request = td.render(used, messages=transcript.messages, reminders=transcript.pending, **given_)
    found = places(used, request)
    assert Counter((one.reminder_id, one.role) for one in found) == Counter(
        (shown.reminder_id, shown.rendered_role) for shown in request.fired
    )
    texts = Counter((one.path, one.fragment) for one in found)
    for (path, fragment), count in texts.items():
        assert text_at(request.body, path).count(fragment) >= count


SAID: Payload = {"role": "user", "content": "hello"}
BLOCKS: Payload = {"role": "user", "content": [{"type": "text", "text": "hello"}]}
PARTS: Payload = {"role": "user", "parts": [{"text": "hello"}]}


def told(name: str, messages: list[Payload], placement: Any = None) -> list[tuple[str, str, str]]:
    transcript = td.Transcript()
    for number, hint in enumerate(("system", "developer", "user_block")):
        options = {"body": f"news {number}", "role_hint": hint}
        transcript = td.inject_reminder(transcript, options).transcript
    request = td.render(
        name, system="Be kind.", messages=messages, reminders=transcript.pending, placement=placement
    )
    found = places(route(name), request)
    assert [one.reminder_id for one in found] == [one.id for one in transcript.pending]
    return [(one.role, one.path, one.fragment) for one in found]


TAGGED = [f"<system-reminder>\nnews {number}\n</system-reminder>" for number in range(3)]
PREFIXED = [f"System reminder:\nnews {number}" for number in range(3)]

EXPECTED: list[tuple[str, list[Payload], Any, list[tuple[str, str]], list[str]]] = [
    ("anthropic/claude-opus-4-1", [SAID], None,
     [("system", "system"), ("system", "system"), ("user", "messages[0].content[0]")], TAGGED),
    ("anthropic/claude-opus-5-5", [SAID], None, [("system", "messages[1].content")] * 3, TAGGED),
    ("anthropic/claude-opus-4-1", [SAID], "append_only",
     [("user", f"messages[1].content[{number}]") for number in range(3)], TAGGED),
    ("openai/gpt-5", [{"role": "system", "content": "Own."}, SAID], None,
     [("developer", f"messages[{number}].content") for number in (1, 2, 3)], PREFIXED),
    ("openai/gpt-4.1", [SAID], None, [("system", "messages[0].content")] * 3, PREFIXED),
    ("openai/gpt-4.1", [BLOCKS], "append_only", [("system", "messages[2].content")] * 3, PREFIXED),
    ("openai-responses/gpt-5", [SAID], None,
     [("developer", f"input[{number}].content[0]") for number in range(3)], PREFIXED),
    ("openai-responses/gpt-4.1", [SAID], None, [("system", "instructions")] * 3, PREFIXED),
    ("openai-responses/gpt-5", [SAID], "append_only",
     [("developer", f"input[1].content[{number}]") for number in range(3)], PREFIXED),
    ("gemini/gemini-2.5-pro", [PARTS], None, [("system", "systemInstruction.parts[0]")] * 3, PREFIXED),
    ("gemini/gemini-2.5-pro", [PARTS], "append_only", [("user", "contents[0].parts[1]")] * 3, TAGGED),
    ("plain/text", [SAID], None, [("system", "prompt")] * 3, PREFIXED),
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "messages", "placement", "where", "words"),
    EXPECTED,
    ids=[f"{one[0]}-{one[2] or 'seed'}" for one in EXPECTED],
)
def test_the_paths_are_those_of_the_vendors_body(
    name: str, messages: list[Payload], placement: Any, where: list[tuple[str, str]], words: list[str]
) -> None:
    assert told(name, messages, placement) == [
        (role, path, text) for (role, path), text in zip(where, words, strict=True)
    ]


def test_quoted_text_stands_in_the_first_user_message_also_where_that_is_a_string() -> None:
    transcript = td.Transcript()
    for number in range(2):
        outside = {"body": f"news {number}"}
        transcript = admit_reminder(transcript, outside, producer="mcp", origin="make").transcript
    request = td.render("openai/gpt-5", messages=[SAID], reminders=transcript.pending)
    first, second = places(route("openai/gpt-5"), request)
    assert (first.role, first.path, second.path) == ("user", "messages[0].content", "messages[0].content")
    assert text_at(request.body, first.path) == f"{first.fragment}\n\n{second.fragment}\n\nhello"
